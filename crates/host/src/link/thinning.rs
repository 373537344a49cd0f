//! A link in force that thins acknowledgements: what terminals upload through it, from the last
//! number of each flow (algo/uploads.h), and a pause of thinning.

use std::{sync::Arc, time::Duration};

pub use takt_algo::Upload;

use crate::{
    error::Error,
    link::{
        memory::PortMemory,
        named::{self, Found},
    },
    os::{capability, clock},
};

/// A link that thins.
pub struct ThinningLink {
    port: Arc<PortMemory>,
}

impl ThinningLink {
    /// The one on a device; `None` if there is no such device in this network namespace, or
    /// takt's qdisc is not on it.
    ///
    /// # Errors
    /// Privileges are missing, or the kernel refuses.
    pub fn open(device: &str) -> Result<Option<Self>, Error> {
        capability::require()?;
        Ok(match named::find(device)? {
            Found::Link(port) => Some(Self { port }),
            Found::NoDevice | Found::NoLink => None,
        })
    }

    /// Whether the link still exists. If not, open it anew.
    pub fn stand(&self) -> bool {
        self.port.is_attached()
    }

    /// The last acknowledgement of each flow, at most 1,024, also of flows that have ended.
    pub fn uploads(&self) -> Vec<Upload> {
        self.port.uploads()
    }

    /// Thin nothing for so long, and then again, whatever becomes of this process.
    pub fn pause_for(&self, pause: Duration) {
        let pause_ns = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
        self.port
            .pause_thinning(clock::monotonic_ns().saturating_add(pause_ns));
    }
}
