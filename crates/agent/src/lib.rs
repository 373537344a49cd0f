//! What Takt's daemons tell each other over the air, and what follows from it.
//!
//! `sealed` makes datagrams that only members of a group can make, whatever they say;
//! `radio` decides on stations' weights; `source` is where the strengths of their
//! connections come from. The first two know neither clock nor socket.

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
