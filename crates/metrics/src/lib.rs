//! What `takt status` counts, in the formats that Prometheus reads: for `takt metrics`, and for
//! taktd's endpoint. docs/metrics.md has all names.

mod exposition;
mod families;

use takt_host::{Error, Status};

pub use exposition::Format;

/// The host as it is now.
pub fn of_host(format: Format) -> Result<String, Error> {
    Ok(of(&takt_host::status(false)?, format))
}

/// A status of the host.
pub fn of(status: &Status, format: Format) -> String {
    exposition::exposition(&families::of(status), format)
}
