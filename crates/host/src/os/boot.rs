//! Which boot of the kernel this is.

use std::{fs, sync::OnceLock};

use crate::{error::Error, os::OsError};

const ID: &str = "/proc/sys/kernel/random/boot_id";

/// The kernel's own number of it, which no other boot has.
pub(crate) fn id() -> Result<&'static str, Error> {
    static KNOWN: OnceLock<String> = OnceLock::new();
    if let Some(id) = KNOWN.get() {
        return Ok(id);
    }
    let id = fs::read_to_string(ID).map_err(OsError::file(ID))?;
    Ok(KNOWN.get_or_init(|| id.trim().to_owned()))
}
