//! What takt remembers below /run/takt and /var/lib/takt: records that root alone can write.

mod error;
pub(crate) mod lock;
pub mod persistent;
pub(crate) mod records;
pub mod runtime_dir;
pub(crate) mod source;
pub(crate) mod store;
pub(crate) mod trust;

pub use error::StateError;
