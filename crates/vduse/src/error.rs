//! What can go wrong between a device and its driver.

use std::io;

use thiserror::Error;

/// Why there is no device, or no more.
#[derive(Debug, Error)]
pub enum Error {
    /// A call about the device failed.
    #[error("cannot {action} of the VDUSE device {device}: {source}")]
    Device {
        /// What was being done.
        action: &'static str,
        /// The device's name.
        device: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The module is not there.
    #[error(
        "/dev/vduse/control cannot be opened ({0}); it takes the kernel module vduse, and root"
    )]
    Control(#[source] io::Error),
    /// The device could not be made or removed.
    #[error("the VDUSE device {device} cannot be {action}: {source}")]
    Lifetime {
        /// What was being done.
        action: &'static str,
        /// The device's name.
        device: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The name is none that a device may have.
    #[error("the name of a VDUSE device has 1 to {max} bytes without `/` and NUL, and `{name}` does not", max = crate::abi::NAME_BYTES_MAX)]
    Name {
        /// It.
        name: String,
    },
    /// The driver does what the specification forbids.
    #[error("the driver of {device} did something that virtio does not allow: {what}")]
    Driver {
        /// The device's name.
        device: String,
        /// What it does.
        what: String,
    },
}

/// Done, or why not.
pub type Result<T> = std::result::Result<T, Error>;
