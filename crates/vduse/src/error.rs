//! What can go wrong between a device and its driver.

use std::io;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum Error {
    #[error("cannot {action} of the VDUSE device {device}: {source}")]
    Device {
        action: &'static str,
        device: String,
        source: io::Error,
    },
    #[error(
        "/dev/vduse/control cannot be opened ({0}); it takes the kernel module vduse, and root"
    )]
    Control(#[source] io::Error),
    #[error("the VDUSE device {device} cannot be {action}: {source}")]
    Lifetime {
        action: &'static str,
        device: String,
        source: io::Error,
    },
    #[error("the name of a VDUSE device has 1 to {max} bytes without `/` and NUL, and `{name}` does not", max = crate::abi::NAME_BYTES_MAX)]
    Name { name: String },
    #[error("the driver of {device} did something that virtio does not allow: {what}")]
    Driver { device: String, what: String },
}

pub type Result<T> = std::result::Result<T, Error>;
