//! Why the strength of a signal is not known.

use thiserror::Error;

/// Signals of wireless devices.
#[derive(Debug, Error)]
pub enum RadioError {
    /// The signal strength at a device was requested, and is unknown.
    #[error("{device} reports no signal: {reason}")]
    NoSignal {
        /// The requested device.
        device: String,
        /// The device is missing or not wireless, or the kernel has no support for wireless
        /// devices.
        reason: &'static str,
    },
}
