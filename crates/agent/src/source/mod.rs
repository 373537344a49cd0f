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

#[derive(Debug, Error)]
pub enum SourceError {
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    /// Nothing of the file was taken.
    #[error("{path}, line {line}: {problem}")]
    Line {
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        problem: String,
    },
    #[error("{path}: {problem}")]
    TooLarge { path: PathBuf, problem: String },
    #[error("reports on UDP port {port}: {source}")]
    Socket { port: u16, source: io::Error },
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
