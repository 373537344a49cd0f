//! What can stop an experiment.

use std::path::PathBuf;

use thiserror::Error;

/// What can stop an experiment, or one of the programs that it starts.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// The experiment was asked for by a name that none has.
    #[error("there is no experiment `{name}`; there are: {known}")]
    UnknownExperiment {
        /// As it was asked for.
        name: String,
        /// All names, with commas between them.
        known: String,
    },

    /// Likewise a scheduler.
    #[error("there is no scheduler `{name}`; there are: {known}")]
    UnknownScheduler {
        /// As it was asked for.
        name: String,
        /// All names, with commas between them.
        known: String,
    },

    /// This is not the lab, or the namespace was never made.
    #[error("network namespace `{name}` cannot be entered ({source}); the lab creates it as root")]
    Namespace {
        /// The namespace's.
        name: &'static str,
        /// The kernel's answer.
        source: std::io::Error,
    },

    /// It is not in the machine, or cannot be executed.
    #[error("`{program}` cannot be started: {source}")]
    Start {
        /// Its name.
        program: String,
        /// The kernel's answer.
        source: std::io::Error,
    },

    /// It ran, and ended with an error.
    #[error("`{command}` failed: {stderr}")]
    Command {
        /// As it was called.
        command: String,
        /// What it complained about.
        stderr: String,
    },

    /// The kernel was built without this peer; the experiment goes on without it.
    #[error("the kernel has no {scheduler}: {reason}")]
    Unsupported {
        /// Its name, as rows of the report have it.
        scheduler: &'static str,
        /// What was tried, and what came of it.
        reason: String,
    },

    /// A system call failed.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// The kernel's answer.
        source: std::io::Error,
    },

    /// A file of the kernel's, of a program's or of the caller's is missing, or not as it should
    /// be.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// What is the matter with it.
        reason: String,
    },

    /// A program said on its output, or was told on its input, what makes no sense.
    #[error("`{command}` printed something else than expected: {reason}")]
    Output {
        /// Which one.
        command: String,
        /// What is the matter with it.
        reason: String,
    },

    /// So little arrived that there is nothing to measure.
    #[error(
        "{scheduler} let fewer than two packets through in {case} (sent {sent}, received {received})"
    )]
    NoTraffic {
        /// Its name, as rows of the report have it.
        scheduler: &'static str,
        /// Which of the experiment's cases.
        case: String,
        /// Packets.
        sent: u64,
        /// Likewise.
        received: u64,
    },

    /// Every one was left out after an error of its own.
    #[error("no cell of the experiment came to its end; what stopped each is said above")]
    NoCell,

    /// The sender's buffer filled up, where a scheduler had nothing to wait for.
    #[error("{scheduler} held packets back that should have gone at once")]
    HeldBack {
        /// Its name, as rows of the report have it.
        scheduler: &'static str,
    },

    /// Of packets that were sent one by one, some did not arrive.
    #[error("{scheduler} let {arrived} of {sent} packets through at once")]
    Lost {
        /// Its name, as rows of the report have it.
        scheduler: &'static str,
        /// Packets.
        sent: u64,
        /// Likewise.
        arrived: u64,
    },

    /// The access point's device cannot be made or served.
    #[error(transparent)]
    RadioDevice(#[from] takt_vduse::Error),

    /// A script asks for a wireless standard that is not there.
    #[error("the medium has no profile `{name}`; there are: {known}")]
    UnknownProfile {
        /// As it was asked for.
        name: String,
        /// All names, with commas between them.
        known: String,
    },

    /// A frame was handed to the medium that it cannot carry.
    #[error(transparent)]
    Medium(#[from] takt_medium::Refused),

    /// Queues did not run empty at the end.
    #[error("{queued_bytes} bytes were still queued {waited_s} s after the last packet was sent")]
    Stuck {
        /// In sockets, as their senders see it.
        queued_bytes: u64,
        /// How long was waited for it.
        waited_s: u64,
    },
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
