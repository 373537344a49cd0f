//! What the operating system refused.

use std::{fmt::Display, io, path::PathBuf};

use thiserror::Error;

use super::{
    files::Shortage,
    lacking::{Lacking, Step},
    netlink::NetlinkError,
    privilege::Barred,
};
use crate::error::Error;

/// The operating system refused, or lacks something.
#[derive(Debug, Error)]
pub enum OsError {
    /// This process lacks a capability.
    #[error("{missing} is missing; run takt as root, or give it that capability")]
    Capability {
        /// By its name in `capabilities(7)`.
        missing: &'static str,
    },
    /// The capabilities suffice, but something else denies BPF.
    #[error("{0}")]
    Barred(#[from] Barred),
    /// A file, a socket, a map or a program could not be opened, because too many are open.
    #[error("{doing}: too many open files; {shortage}")]
    TooManyFiles {
        /// What was tried.
        doing: String,
        /// Whose limit it is.
        shortage: Shortage,
    },
    /// The host's state, its settings or its memory do not allow it.
    #[error("{doing}: {lacking}")]
    Lacking {
        /// What was tried.
        doing: String,
        /// Why it failed, and what to do.
        lacking: Lacking,
    },
    /// There is no cgroup2 file system, which background groups and the recognition of sockets'
    /// owners need.
    #[error("no cgroup2 file system is mounted; mount it: mount -t cgroup2 none /sys/fs/cgroup")]
    NoCgroup2,
    /// There is no proc file system, by which takt knows its own privileges and namespaces.
    #[error("no proc file system is mounted; mount it: mount -t proc proc /proc")]
    NoProc,
    /// What the kernel has is tried in a network namespace, and none could be made or used.
    #[error("it could not be tried: {reason}")]
    NotTried {
        /// Why.
        reason: String,
    },
    /// A file could not be read, written, made or removed.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A request about devices, qdiscs or the namespace failed.
    #[error("{doing}: {source}")]
    Netlink {
        /// What was tried.
        doing: String,
        /// Why it failed.
        source: NetlinkError,
    },
}

impl OsError {
    pub(crate) fn netlink(doing: impl Into<String>) -> impl FnOnce(NetlinkError) -> Error {
        let doing = doing.into();
        |source| {
            if let Some(shortage) = Shortage::from_errno(source.errno()) {
                return Self::short_of_files(doing, shortage);
            }
            let error = match Lacking::for_step(Step::Netlink, source.errno()) {
                Some(lacking) => Self::Lacking { doing, lacking },
                None => Self::Netlink { doing, source },
            };
            error.into()
        }
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        |source| {
            let short = Self::too_many_files(path.display(), &source);
            let lacking = || {
                let lacking = Lacking::for_step(Step::File(&path), source.raw_os_error())?;
                let doing = path.display().to_string();
                Some(Self::Lacking { doing, lacking }.into())
            };
            if let Some(error) = short.or_else(lacking) {
                return error;
            }
            Self::File { path, source }.into()
        }
    }

    /// Whether the cause is a limit of open files.
    pub fn too_many_files(doing: impl Display, source: &io::Error) -> Option<Error> {
        let shortage = Shortage::from_errno(source.raw_os_error())?;
        Some(Self::short_of_files(doing, shortage))
    }

    pub(crate) fn short_of_files(doing: impl Display, shortage: Shortage) -> Error {
        let doing = doing.to_string();
        Self::TooManyFiles { doing, shortage }.into()
    }
}

impl Error {
    /// Whether the cause is a missing file.
    pub(crate) fn is_missing(&self) -> bool {
        let file = self.of::<OsError>();
        matches!(file, Some(OsError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound)
    }
}
