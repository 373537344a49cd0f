//! Why the helper does not help.

use std::io;

use thiserror::Error;

use crate::{error::Error, os::OsError};

/// The helper process.
#[derive(Debug, Error)]
pub enum HelperError {
    /// The helper did not start, did not answer, or failed.
    #[error(
        "{doing}: {source}; until that is fixed, links with pacing = \"gap\" pace by the timer, and \
         packets that the background's gate blocks wait for the processor that blocked them"
    )]
    Helper {
        /// What was tried.
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// Everything was undone, but the helper still runs.
    #[error("everything was restored, but the helper does not exit: {source}")]
    HelperStays {
        /// Which process it is, and what it does.
        source: io::Error,
    },
}

impl HelperError {
    pub(crate) fn of(doing: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| {
            let short = OsError::too_many_files(doing, &source);
            short.unwrap_or_else(|| Self::Helper { doing, source }.into())
        }
    }
}
