//! The kernel's network configuration: devices and their root qdiscs.

mod device;
pub(crate) mod ifb;
mod qdisc;
mod socket;

pub use device::Device;
pub use qdisc::{Handle, Qdisc};
pub use socket::{Netlink, NetlinkError, Refusal, Request};
