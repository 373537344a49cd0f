//! What can stop an experiment.

use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum ExperimentError {
    #[error("there is no experiment `{name}`; there are: {known}")]
    UnknownExperiment { name: String, known: String },

    #[error("there is no scheduler `{name}`; there are: {known}")]
    UnknownScheduler { name: String, known: String },

    #[error("network namespace `{name}` cannot be entered ({source}); the lab creates it as root")]
    Namespace {
        name: &'static str,
        source: std::io::Error,
    },

    #[error("`{program}` cannot be started: {source}")]
    Start {
        program: String,
        source: std::io::Error,
    },

    #[error("`{command}` failed: {stderr}")]
    Command { command: String, stderr: String },

    /// The kernel was built without this peer; the experiment goes on without it.
    #[error("the kernel has no {scheduler}: {reason}")]
    Unsupported {
        scheduler: &'static str,
        reason: String,
    },

    #[error("cannot {action}: {source}")]
    System {
        action: &'static str,
        source: std::io::Error,
    },

    #[error("cannot read {path}: {reason}")]
    Unreadable { path: PathBuf, reason: String },

    #[error("`{command}` printed something else than expected: {reason}")]
    Output { command: String, reason: String },

    #[error(
        "{scheduler} let fewer than two packets through in {case} (sent {sent}, received {received})"
    )]
    NoTraffic {
        scheduler: &'static str,
        case: String,
        sent: u64,
        received: u64,
    },

    #[error("no cell of the experiment came to its end; what stopped each is said above")]
    NoCell,

    #[error("{scheduler} held packets back that should have gone at once")]
    HeldBack { scheduler: &'static str },

    #[error("{scheduler} let {arrived} of {sent} packets through at once")]
    Lost {
        scheduler: &'static str,
        sent: u64,
        arrived: u64,
    },

    #[error(transparent)]
    RadioDevice(#[from] takt_vduse::Error),

    #[error("the medium has no profile `{name}`; there are: {known}")]
    UnknownProfile { name: String, known: String },

    #[error(transparent)]
    Medium(#[from] takt_medium::Refused),

    #[error("{queued_bytes} bytes were still queued {waited_s} s after the last packet was sent")]
    Stuck { queued_bytes: u64, waited_s: u64 },
}

pub type Result<T> = std::result::Result<T, ExperimentError>;

/// Names what was being done when the system said no.
pub(super) trait WhileDoing<T> {
    fn doing(self, action: &'static str) -> Result<T>;
}

impl<T, E: Into<std::io::Error>> WhileDoing<T> for std::result::Result<T, E> {
    fn doing(self, action: &'static str) -> Result<T> {
        self.map_err(|error| ExperimentError::System {
            action,
            source: error.into(),
        })
    }
}
