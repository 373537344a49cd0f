//! Names of devices.

use serde_json::{Value, json};

use super::Fault;
use crate::Code;

/// Linux's ALTIFNAMSIZ without the terminating zero: a device may go by an alternative name, which
/// is longer than the 15 bytes of its own.
const DEVICE_MAX_BYTES: usize = 127;
/// The no-break space of Latin-1.
const LATIN1_BLANK: u8 = 0xa0;

/// The form of a device's name.
pub(crate) fn schema() -> Value {
    json!({"type": "string", "pattern": "^[^/:%*?\\[\\s]{1,127}$"})
}

/// How the download of a device is called, as if it were one.
const DOWNLOAD: &str = ".download";

/// The name of a device's download.
pub(crate) fn download_of(device: &str) -> String {
    format!("{device}{DOWNLOAD}")
}

/// The device that has the download of this name; `None`: it is no download's.
pub fn device_of_download(name: &str) -> Option<&str> {
    name.strip_suffix(DOWNLOAD)
}

/// What makes a name a pattern in a shell.
const PATTERN: [char; 3] = ['*', '?', '['];

/// The names that the kernel's dev_valid_name() allows, except patterns: a policy that means several
/// devices by one would only fail when it is applied. The kernel looks at bytes and takes this one,
/// in any character, for a blank. It replaces a percent sign by a number.
pub(crate) fn check(device: &str) -> Result<(), Fault> {
    let (problem, help) = if device.is_empty() {
        ("it is empty", "name the device as `ip link` shows it")
    } else if device.len() > DEVICE_MAX_BYTES {
        (
            "it is longer than 127 bytes",
            "`ip link` shows the name as the kernel has it",
        )
    } else if device == "." || device == ".." {
        (
            "the kernel reserves it",
            "name the device as `ip link` shows it",
        )
    } else if device.contains(['/', ':'])
        || device.contains(char::is_whitespace)
        || device.bytes().any(|byte| byte == LATIN1_BLANK)
    {
        (
            "it has a slash, a colon or a blank in it",
            "`ip link` shows the name as the kernel has it",
        )
    } else if device.contains(['%', '\0']) {
        (
            "it has a percent sign or a zero byte in it",
            "`ip link` shows the name as the kernel has it",
        )
    } else if device.contains(PATTERN) {
        (
            "it is a pattern, and devices are named one by one",
            "name each device by itself, as `ip link` shows it",
        )
    } else if device_of_download(device).is_some() {
        (
            "takt calls the download of a device so",
            "write a table [link.DEV.download] for what DEV receives",
        )
    } else {
        return Ok(());
    };
    Err(Fault::new(
        Code::BadDevice,
        format!("`{device}` cannot be a device's name: {problem}"),
        help,
    ))
}
