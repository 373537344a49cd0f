//! What devices receive: [`[link.DEV.download]`](takt_policy::Link::download_of). A filter on the
//! device's ingress sends all that comes in through a device of kind ifb, from which it comes in again.
//! To all other parts that one is a device like any other, with a link of its own.
//!
//! It is made before a policy is decided, since links need their devices, and nothing goes through it
//! before its link is in force. One that no record names is removed by the next [`sweep`](part).

mod device;
mod inside;
mod merged;
mod part;
mod record;
mod redirect;
mod status;

pub(crate) use device::{assume, make};
pub(crate) use part::Downloads;
pub(crate) use record::{RECORDS_DIR, salvage};
pub(crate) use status::{cut_off, tell};
