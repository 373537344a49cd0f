//! Datagrams between Takt's daemons, and the decisions that follow from them.
//!
//! `sealed` makes datagrams that only members of a group can make; `radio` decides on stations'
//! weights; `source` reads the strengths of their connections. The first two use neither clock
//! nor socket.

pub mod crowd;
mod key;
pub mod listener;
mod number;
pub mod radio;
mod rate;
pub mod sealed;
pub mod source;

pub use key::{Examined, KeyError, examine_key, make_key, read_key};
pub use number::address_of;
pub use rate::{Bucket, Rate};
pub use takt_algo::Address;
