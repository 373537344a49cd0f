//! Where strengths of connection come from: clients' reports, the driver's own table of
//! stations, or a file.

mod dump;
mod file;
mod reports;

use std::{io, path::PathBuf};

use takt_kernel::Datagrams;
use thiserror::Error;

pub use dump::StationDump;
pub use file::SnrFile;
pub use reports::Reports;

use crate::radio::Sample;

/// Why a source has nothing to say now.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The file cannot be opened or read.
    #[error("{path}: {source}")]
    File {
        /// The source's.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Nothing of the file was taken.
    #[error("{path}, line {line}: {problem}")]
    Line {
        /// The source's.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it, or what to write instead.
        problem: String,
    },
    /// Nothing of the file was taken, likewise.
    #[error("{path}: {problem}")]
    TooLarge {
        /// The source's.
        path: PathBuf,
        /// How much would be read.
        problem: String,
    },
    /// The port that reports come in on cannot be opened.
    #[error("reports on UDP port {port}: {source}")]
    Socket {
        /// As the policy has it.
        port: u16,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The driver cannot be asked, or there is no such device.
    #[error(transparent)]
    Wireless(takt_kernel::Error),
}

/// Something that knows how well stations hear.
pub trait Source {
    /// How often to ask, if weights change every `interval_ns`.
    fn period_ns(&self, interval_ns: u64) -> u64 {
        interval_ns
    }

    /// What has become known since it was last asked. An error has added nothing.
    fn poll(&mut self, now_ns: u64, samples: &mut Vec<Sample>) -> Result<(), SourceError>;

    /// What came to it from others, and what became of that.
    fn datagrams(&self) -> Option<Datagrams> {
        None
    }
}
