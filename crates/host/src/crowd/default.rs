//! The congestion control that new flows of this network namespace get.

use std::fs;

use crate::{error::Error, os::OsError};

const PATH: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The name of takt's in the kernel.
pub(super) const TAKT: &str = "takt";

/// CUBIC: what it is without terms, and what it is built on.
pub(super) const CUBIC: &str = "cubic";

pub(crate) fn read() -> Result<String, Error> {
    let text = fs::read_to_string(PATH).map_err(OsError::file(PATH))?;
    Ok(text.trim().to_owned())
}

pub(super) fn write(congestion: &str) -> Result<(), Error> {
    fs::write(PATH, congestion).map_err(OsError::file(PATH))
}
