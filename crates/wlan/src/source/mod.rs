//! Sources of strengths of connection: clients' reports, the driver's own table of stations, or
//! a file.

mod dump;
mod file;
mod reports;

use std::{io, path::PathBuf};

use takt_host::Datagrams;
use thiserror::Error;

pub use dump::StationDump;
pub use file::SnrFile;
pub use reports::Reports;

use crate::radio::Sample;

/// Why a source has no data now.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The file cannot be opened or read.
    #[error("{path}: {source}")]
    File {
        /// The file's path.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A line of the file is invalid; the others are read.
    #[error("{path}, line {line}: {problem}")]
    Line {
        /// The file's path.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it, or what to write instead.
        problem: String,
    },
    /// The file says nothing: it is too long, no file, empty, or not written any more.
    #[error("{path}: {problem}")]
    Unusable {
        /// The file's path.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The port for reports cannot be opened.
    #[error("reports on UDP port {port}: {source}")]
    Socket {
        /// The port in the policy.
        port: u16,
        /// The kernel's error.
        source: io::Error,
    },
    /// The driver cannot be asked, or there is no such device.
    #[error(transparent)]
    Wireless(takt_host::Error),
}

/// A source of stations' strengths.
pub trait Source {
    /// How often to ask, if weights change every `interval_ns`.
    fn period_ns(&self, interval_ns: u64) -> u64 {
        interval_ns
    }

    /// Whether it works if a call returns neither samples nor an error: it knows that there are
    /// no stations. Silence of other sources says nothing.
    fn knows_of_none(&self) -> bool {
        false
    }

    /// The samples since the last call. An error may come beside samples.
    fn poll(&mut self, now_ns: u64, samples: &mut Vec<Sample>) -> Result<(), SourceError>;

    /// The datagrams that it received, and their outcome.
    fn datagrams(&self) -> Option<Datagrams> {
        None
    }
}
