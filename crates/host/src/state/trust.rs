//! Whether a file or a directory is takt's own: owned by root, or by the user that takt runs
//! as, and not writable by other users. Commands from other users' files would run with root's
//! rights.

use std::{
    fs::{FileType, Metadata},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

use nix::unistd::Uid;

use crate::{error::Error, state::StateError};

/// The kind that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Directory,
    File,
}

/// Write permission of the group and of others.
const OTHERS_WRITE: u32 = 0o022;
const PERMISSIONS: u32 = 0o7777;

/// The error names what was found, its owner and its mode.
pub(crate) fn check(path: &Path, found: &Metadata, kind: Kind) -> Result<(), Error> {
    let is_kind = match kind {
        Kind::Directory => found.is_dir(),
        Kind::File => found.is_file(),
    };
    let own = Uid::effective().as_raw();
    if is_kind && is_own(found.uid(), found.mode(), own) {
        Ok(())
    } else {
        Err(refuse(path, found))
    }
}

/// What was found is not takt's.
pub(crate) fn refuse(path: &Path, found: &Metadata) -> Error {
    StateError::Untrusted {
        path: path.to_owned(),
        found: name_of(found.file_type()),
        uid: found.uid(),
        mode: permissions(found),
        remove: if found.is_dir() { "rmdir" } else { "rm" },
    }
    .into()
}

pub(crate) fn permissions(found: &Metadata) -> u32 {
    found.mode() & PERMISSIONS
}

/// `own` is the user that this process acts for.
fn is_own(uid: u32, mode: u32, own: u32) -> bool {
    (uid == 0 || uid == own) && mode & OTHERS_WRITE == 0
}

fn name_of(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_file() {
        "a file"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_fifo() {
        "a pipe"
    } else {
        "a device"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_the_user_that_takt_runs_as_are_trusted() {
        for (uid, mode, own, trusted) in [
            (0, 0o100600, 0, true),
            (0, 0o100644, 0, true),
            (0, 0o100600, 1000, true),
            (1000, 0o100600, 1000, true),
            (1000, 0o100600, 0, false),
            (1001, 0o100600, 1000, false),
            (0, 0o100620, 0, false),
            (0, 0o100602, 0, false),
            (0, 0o041777, 0, false),
        ] {
            assert_eq!(is_own(uid, mode, own), trusted, "{uid} {mode:o} {own}");
        }
    }
}
