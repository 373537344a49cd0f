//! The kernel's network configuration: devices and their root qdiscs.

mod device;
mod qdisc;
mod socket;

pub use device::Device;
pub use qdisc::{Handle, Qdisc};
pub use socket::{Netlink, NetlinkError, Refusal, Request};
