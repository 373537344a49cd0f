//! Files that last over restarts of the host. Nothing depends on them: takt does without.

use std::path::Path;

use crate::{error::Error, state::runtime_dir};

/// Takt's directory for them. Its unit has systemd make it.
pub const DIR: &str = "/var/lib/takt";

/// The content of a file that root alone, or this user, can change; `None` if there is none.
pub fn read(path: &Path) -> Result<Option<String>, Error> {
    runtime_dir::read(path)
}

/// Replaces a file in one step, with mode 0600, in a directory of mode 0700.
pub fn replace(path: &Path, text: &str) -> Result<(), Error> {
    path.parent().map(runtime_dir::private_dir).transpose()?;
    runtime_dir::replace(path, text)
}
