//! Why taktd cannot start, or ends.

use std::{io, net::SocketAddr, path::PathBuf};

use thiserror::Error;

use crate::{ROOT_SOCKET, SOCKET, VARLINK_SOCKET};

/// Why taktd cannot start, or has ended by itself.
#[derive(Debug, Error)]
pub enum Error {
    /// Another taktd holds the lock.
    #[error(
        "another taktd is running{}; there is one for the whole host",
        pid.map(|pid| format!(" as process {pid}")).unwrap_or_default()
    )]
    Running {
        /// Its process id, as written in the lock's file.
        pid: Option<i32>,
    },
    /// A file that is not taktd's is in the place of its socket or its lock.
    #[error(
        "{} is {kind} of user {uid} with mode {mode:o}, not taktd's; find out who created \
         it, and remove it",
        path.display()
    )]
    Foreign {
        /// Its path.
        path: PathBuf,
        /// Its kind.
        kind: &'static str,
        /// Its owner.
        uid: u32,
        /// Its permissions.
        mode: u32,
    },
    /// systemd passed a socket that taktd has no use for.
    #[error(
        "systemd passed descriptor {fd}{}, which is not one of taktd's sockets; its socket units have \
         ListenStream={SOCKET}, {VARLINK_SOCKET} and {ROOT_SOCKET}",
        path.as_ref().map(|path| format!(", a socket at {},", path.display())).unwrap_or_default()
    )]
    Passed {
        /// Its number.
        fd: i32,
        /// Where it listens, if it does.
        path: Option<PathBuf>,
    },
    /// Metrics cannot be served there.
    #[error("metrics cannot be served at {at}: {source}; --metrics takes an address of this host")]
    Metrics {
        /// The address.
        at: SocketAddr,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The socket or its directory cannot be made or examined.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A system call failed that concerns no file.
    #[error("{doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// taktd lacks a capability that it needs.
    #[error(transparent)]
    Kernel(#[from] takt_host::Error),
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| match takt_host::OsError::too_many_files(path.display(), &source) {
            Some(error) => error.into(),
            None => Self::File { path, source },
        }
    }

    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| {
            let source = source.into();
            match takt_host::OsError::too_many_files(doing, &source) {
                Some(error) => error.into(),
                None => Self::System { doing, source },
            }
        }
    }
}
