//! Datagrams between Takt's daemons, and the decisions that follow from them.
//!
//! `sealed` makes datagrams that only members of a group can make; `radio` decides on stations'
//! weights; `source` reads the strengths of their connections. The first two use neither clock
//! nor socket.

pub mod crowd;
pub mod listener;
mod number;
pub mod radio;
pub mod sealed;
pub mod source;

pub use number::address_of;
pub use takt_algo::Address;
pub use takt_keys::{Bucket, Examined, KeyError, Rate, examine_key, make_key};

/// Reads a key, if only its owner and root have access to the file.
pub fn read_key(path: &std::path::Path) -> Result<sealed::Key, KeyError> {
    takt_keys::read_secret(path).map(|secret| sealed::Key::new(&secret))
}
