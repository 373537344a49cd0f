use thiserror::Error;

/// Why a file's vectors do not hold.
#[derive(Debug, Error)]
pub enum Failure {
    /// The file is no JSON of vectors.
    #[error("{file}: {source}; record the vectors anew")]
    Unreadable {
        /// The file.
        file: &'static str,
        /// The parser's message.
        source: serde_json::Error,
    },
    /// The file cannot be replayed.
    #[error("{file}: {what} makes no sense")]
    Senseless {
        /// The file.
        file: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// A call had another answer.
    #[error("{file}, `{vector}`, step {step}: {call}\n expected {expected}\n answered {answered}")]
    Answer {
        /// The file.
        file: &'static str,
        /// The vector.
        vector: String,
        /// Counted from 1.
        step: usize,
        /// The call in the file.
        call: String,
        /// The answer in the file.
        expected: String,
        /// The answer of the code.
        answered: String,
    },
    /// The state differs after the calls.
    #[error("{file}, `{vector}`: byte {offset} of the state differs from the native one")]
    State {
        /// The file.
        file: &'static str,
        /// The vector.
        vector: String,
        /// The first byte that differs.
        offset: usize,
    },
    /// A kernel that cannot replay.
    #[error("running algo/ in the kernel: {0}")]
    Kernel(#[from] libbpf_rs::Error),
}
