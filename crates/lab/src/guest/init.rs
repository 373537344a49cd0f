//! Another first process than takt: a service manager to be tested with takt.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;

use nix::unistd::{ForkResult, execve, fork};

use super::command::PATH;
use super::{Doing, Result};

/// Returns in a child, which goes on with the job and in the end turns the machine off. This
/// process becomes `program`.
pub fn hand_over(program: &OsStr) -> Result<()> {
    let doing = || format!("start {} as the first process", program.to_string_lossy());
    let path = CString::new(program.as_bytes())
        .map_err(std::io::Error::from)
        .doing(doing)?;
    let environment = CString::new(format!("PATH={PATH}"))
        .map_err(std::io::Error::from)
        .doing(doing)?;
    // SAFETY: there is one thread, so the child has all that there is.
    match unsafe { fork() }.doing(doing)? {
        ForkResult::Child => Ok(()),
        // The kernel panics when this fails, and the host sees that.
        ForkResult::Parent { .. } => execve(&path, &[&path], &[environment])
            .map(drop)
            .doing(doing),
    }
}
