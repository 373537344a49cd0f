//! Errors between a device and its driver.

use std::io;

use thiserror::Error;

/// Why a device failed.
#[derive(Debug, Error)]
pub enum Error {
    /// A call about the device failed.
    #[error("cannot {action} of the VDUSE device {device}: {source}")]
    Device {
        /// The call.
        action: &'static str,
        /// The device's name.
        device: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// The module is not loaded.
    #[error(
        "/dev/vduse/control cannot be opened ({0}); it takes the kernel module vduse, and root"
    )]
    Control(#[source] io::Error),
    /// The device could not be made or removed.
    #[error("the VDUSE device {device} cannot be {action}: {source}")]
    Lifetime {
        /// The call.
        action: &'static str,
        /// The device's name.
        device: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// The name is not valid for a device.
    #[error("the name of a VDUSE device has 1 to {max} bytes without `/` and NUL, and `{name}` does not", max = crate::abi::NAME_BYTES_MAX)]
    Name {
        /// The name.
        name: String,
    },
    /// The driver violates the specification.
    #[error("the driver of {device} did something that virtio does not allow: {what}")]
    Driver {
        /// The device's name.
        device: String,
        /// The violation.
        what: String,
    },
}

/// A result with such an error.
pub type Result<T> = std::result::Result<T, Error>;
