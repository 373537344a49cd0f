//! The kernel's network configuration: devices and their root qdiscs.

mod changes;
mod classifier;
mod codel_times;
pub(crate) mod conntrack;
mod counters;
mod device;
pub(crate) mod fuzz;
mod generic;
mod htb;
pub(crate) mod ifb;
mod listing;
mod port;
mod qdisc;
mod redirect;
mod socket;
mod unlisted;
pub(crate) mod veth;
pub(crate) mod wireless;

pub(crate) use changes::{Change, Changes};
pub(crate) use classifier::Classifier;
pub(crate) use counters::TcCounters;
pub(crate) use device::header_bytes;
pub use device::{Device, Traffic};
pub(crate) use htb::{FQ, HTB, HtbClass, MQ, attribute, htb_options, numbers, set_leaf};
pub(crate) use listing::Listing;
pub(crate) use port::{Port, TAKT};
pub use qdisc::{Handle, Qdisc};
pub(crate) use redirect::Redirect;
pub use socket::{Netlink, NetlinkError, Refusal, Request};
