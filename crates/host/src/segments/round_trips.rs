//! The kernel lets TCP make longer segments than the pacing rate says where round trips are short
//! (`tcp_tso_rtt_log`, `tcp_tso_autosize()` in net/ipv4/tcp_output.c): 64 KB more below half a millisecond.
//! While a class's segments are to be short, that is off in its network namespace.

use std::{fs, io::ErrorKind, path::Path};

use crate::{error::Error, os::OsError};

/// Of this thread's network namespace.
const SETTING: &str = "/proc/sys/net/ipv4/tcp_tso_rtt_log";

/// Adds nothing to round trips of 32 us and more.
const OFF: u32 = 0;

/// Turn it off. Returns what it was; `None`: it was off, or the kernel has none (before Linux 5.18).
pub(super) fn turn_off() -> Result<Option<u32>, Error> {
    let before = read()?.filter(|before| *before != OFF);
    if before.is_some() {
        write(OFF)?;
    }
    Ok(before)
}

/// Restore it, unless another program has changed it meanwhile.
pub(super) fn restore(before: u32) -> Result<(), Error> {
    match read()? {
        Some(OFF) => write(before),
        _ => Ok(()),
    }
}

/// `None`: it is off, or the kernel has none.
pub(super) fn now() -> Result<Option<u32>, Error> {
    Ok(read()?.filter(|now| *now != OFF))
}

fn read() -> Result<Option<u32>, Error> {
    match fs::read_to_string(SETTING) {
        Ok(text) => Ok(text.trim().parse().ok()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(OsError::file(Path::new(SETTING))(error)),
    }
}

fn write(value: u32) -> Result<(), Error> {
    fs::write(SETTING, value.to_string()).map_err(OsError::file(Path::new(SETTING)))
}
