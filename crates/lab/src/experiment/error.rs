//! Errors that stop an experiment.

use std::path::PathBuf;

use thiserror::Error;

/// An error of an experiment, or of one of the programs that it starts.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// There is no experiment with this name.
    #[error("there is no experiment `{name}`; there are: {known}")]
    UnknownExperiment {
        /// The name that was asked for.
        name: String,
        /// All names, with commas between them.
        known: String,
    },

    /// There is no scheduler with this name.
    #[error("there is no scheduler `{name}`; there are: {known}")]
    UnknownScheduler {
        /// The name that was asked for.
        name: String,
        /// All names, with commas between them.
        known: String,
    },

    /// The experiment has nothing of this name.
    #[error("there is no {what} `{name}`; there are: {known}")]
    UnknownChoice {
        /// What was chosen by name.
        what: &'static str,
        /// The name that was asked for.
        name: String,
        /// All names, with commas between them.
        known: String,
    },

    /// This is not the lab, or the namespace was not made.
    #[error("network namespace `{name}` cannot be entered ({source}); the lab creates it as root")]
    Namespace {
        /// The namespace's name.
        name: &'static str,
        /// The kernel's error.
        source: std::io::Error,
    },

    /// The program is not in the machine, or cannot be executed.
    #[error("`{program}` cannot be started: {source}")]
    Start {
        /// The program's name.
        program: String,
        /// The kernel's error.
        source: std::io::Error,
    },

    /// The program ended with an error.
    #[error("`{command}` failed: {stderr}")]
    Command {
        /// Its command line.
        command: String,
        /// Its error output.
        stderr: String,
    },

    /// The kernel was built without this peer; the experiment goes on without it.
    #[error("the kernel has no {scheduler}: {reason}")]
    Unsupported {
        /// The scheduler's name in rows.
        scheduler: &'static str,
        /// What was tried, and its result.
        reason: String,
    },

    /// A system call failed.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// The kernel's error.
        source: std::io::Error,
    },

    /// A file of the kernel, of a program or of the caller is missing or invalid.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// A program's input or output is invalid.
    #[error("`{command}` printed something else than expected: {reason}")]
    Output {
        /// The program.
        command: String,
        /// What is wrong with it.
        reason: String,
    },

    /// Too few packets arrived for a measurement.
    #[error(
        "{scheduler} let fewer than two packets through in {case} (sent {sent}, received {received})"
    )]
    NoTraffic {
        /// The scheduler's name in rows.
        scheduler: &'static str,
        /// The case.
        case: String,
        /// Packets that were sent.
        sent: u64,
        /// Packets that arrived.
        received: u64,
    },

    /// Every cell was left out after an error of its own.
    #[error("no cell of the experiment came to its end; what stopped each is said above")]
    NoCell,

    /// The sender's buffer filled up, although the scheduler should not queue.
    #[error("{scheduler} held packets back that should have gone at once")]
    HeldBack {
        /// The scheduler's name in rows.
        scheduler: &'static str,
    },

    /// Some of the packets that were sent one by one did not arrive.
    #[error("{scheduler} let {arrived} of {sent} packets through at once")]
    Lost {
        /// The scheduler's name in rows.
        scheduler: &'static str,
        /// Packets that were sent.
        sent: u64,
        /// Packets that arrived.
        arrived: u64,
    },

    /// The access point's device cannot be made or served.
    #[error(transparent)]
    RadioDevice(#[from] takt_vduse::Error),

    /// A script asks for an unknown wireless standard.
    #[error("the medium has no profile `{name}`; there are: {known}")]
    UnknownProfile {
        /// The name that was asked for.
        name: String,
        /// All names, with commas between them.
        known: String,
    },

    /// The medium refused a frame.
    #[error(transparent)]
    Medium(#[from] takt_medium::Refused),

    /// Queues were not empty at the end.
    #[error("{queued_bytes} bytes were still queued {waited_s} s after the last packet was sent")]
    Stuck {
        /// In sockets, as their senders see it.
        queued_bytes: u64,
        /// The time that was waited.
        waited_s: u64,
    },
}

pub type Result<T> = std::result::Result<T, ExperimentError>;

/// Adds to a system error what was being done.
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
