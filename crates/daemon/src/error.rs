//! Why taktd cannot start, or ends.

use std::{io, path::PathBuf};

use thiserror::Error;

/// Why taktd cannot start, or has ended by itself.
#[derive(Debug, Error)]
pub enum Error {
    /// Another one holds the lock.
    #[error(
        "another taktd is running{}; there is one for the whole host",
        pid.map(|pid| format!(" as process {pid}")).unwrap_or_default()
    )]
    Running {
        /// Its process, as it has written it into the lock's file.
        pid: Option<i32>,
    },
    /// Something that is not taktd's stands where it keeps its socket and its lock.
    #[error(
        "{} is {kind} of user {uid} with mode {mode:o}, not taktd's; see who made it, and \
         remove it",
        path.display()
    )]
    Foreign {
        /// Where.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
        /// Its owner.
        uid: u32,
        /// Its permissions.
        mode: u32,
    },
    /// The socket, or its directory, cannot be made or looked at.
    #[error("{path}: {source}")]
    File {
        /// Which one.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A system call failed that is about no file.
    #[error("{doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// It lacks a capability that it needs.
    #[error(transparent)]
    Kernel(#[from] takt_host::Error),
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| match takt_host::Error::too_many_files(path.display(), &source) {
            Some(error) => error.into(),
            None => Self::File { path, source },
        }
    }

    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| {
            let source = source.into();
            match takt_host::Error::too_many_files(doing, &source) {
                Some(error) => error.into(),
                None => Self::System { doing, source },
            }
        }
    }
}
