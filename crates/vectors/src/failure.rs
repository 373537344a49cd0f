use thiserror::Error;

/// Why a file's vectors do not hold.
#[derive(Debug, Error)]
pub enum Failure {
    #[error("{file}: {source}; record the vectors anew")]
    Unreadable {
        file: &'static str,
        source: serde_json::Error,
    },
    #[error("{file}: {what} makes no sense")]
    Senseless { file: &'static str, what: String },
    #[error("{file}, `{vector}`, step {step}: {call}\n expected {expected}\n answered {answered}")]
    Answer {
        file: &'static str,
        vector: String,
        /// Counted from 1.
        step: usize,
        call: String,
        expected: String,
        answered: String,
    },
    #[error("{file}, `{vector}`: byte {offset} of the state differs from the native one")]
    State {
        file: &'static str,
        vector: String,
        offset: usize,
    },
    #[error("running algo/ in the kernel: {0}")]
    Kernel(#[from] libbpf_rs::Error),
}
