use thiserror::Error;

/// Why a file's vectors do not hold.
#[derive(Debug, Error)]
pub enum Failure {
    /// Not the JSON of vectors.
    #[error("{file}: {source}; record the vectors anew")]
    Unreadable {
        /// Which file.
        file: &'static str,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// Nothing that could be replayed.
    #[error("{file}: {what} makes no sense")]
    Senseless {
        /// Which file.
        file: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// A call was answered otherwise.
    #[error("{file}, `{vector}`, step {step}: {call}\n expected {expected}\n answered {answered}")]
    Answer {
        /// Which file.
        file: &'static str,
        /// Which of its vectors.
        vector: String,
        /// Counted from 1.
        step: usize,
        /// As the file has it.
        call: String,
        /// As the file has it.
        expected: String,
        /// By the code.
        answered: String,
    },
    /// The state differs after the calls.
    #[error("{file}, `{vector}`: byte {offset} of the state differs from the native one")]
    State {
        /// Which file.
        file: &'static str,
        /// Which of its vectors.
        vector: String,
        /// The first byte that differs.
        offset: usize,
    },
    /// A kernel that does not replay.
    #[error("running algo/ in the kernel: {0}")]
    Kernel(#[from] libbpf_rs::Error),
}
