//! What terminals upload through a link in force that thins acknowledgements: the last number of
//! each flow (algo/uploads.h), from the link's own memory.

use std::sync::Arc;

pub use takt_algo::Upload;

use crate::{
    error::Error,
    link::{
        memory::PortMemory,
        named::{self, Found},
    },
    os::capability,
};

/// The uploads through a link in force.
pub struct Uploads {
    port: Arc<PortMemory>,
}

impl Uploads {
    /// Those through a device; `None` if there is no such device in this network namespace, or
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
    pub fn list(&self) -> Vec<Upload> {
        self.port.uploads()
    }
}
