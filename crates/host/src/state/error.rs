//! What is wrong with takt's own files and with its lock.

use std::path::PathBuf;

use thiserror::Error;

use crate::{error::Error, os::flock::Holder};

/// Takt's records or its lock are in the way.
#[derive(Debug, Error)]
pub enum StateError {
    /// A file in the place of takt's own belongs to another user, or other users can change it.
    #[error(
        "{path} is {found} that belongs to user {uid} and has mode {mode:04o}; takt trusts only \
         what root alone can change. Find out who created it, and remove it: {remove} {path}"
    )]
    Untrusted {
        /// Its path.
        path: PathBuf,
        /// Its kind, such as `a directory`.
        found: &'static str,
        /// Its owner.
        uid: u32,
        /// Its permissions.
        mode: u32,
        /// The command that removes it.
        remove: &'static str,
    },
    /// Another takt is changing the host, and did not end in time.
    #[error(
        "{holder} has been changing this host for more than {waited_s} s. Only one takt may change \
         a host at a time. Nothing was changed. Wait until it ends, or end it"
    )]
    Busy {
        /// The process that has the lock.
        holder: Holder,
        /// How long it was waited for.
        waited_s: u64,
    },
    /// A record of takt's cannot be read or written.
    #[error(
        "{path} is not a record that this takt can use: {reason}; `takt revert` removes what it describes"
    )]
    BadRecord {
        /// The file below /run/takt.
        path: PathBuf,
        /// Where it goes wrong, or which version wrote it.
        reason: String,
    },
}

impl StateError {
    /// The record that cannot be used, if that is the error.
    pub(crate) fn bad_record(error: &Error) -> Option<&PathBuf> {
        match error.of()? {
            Self::BadRecord { path, .. } => Some(path),
            _ => None,
        }
    }
}
