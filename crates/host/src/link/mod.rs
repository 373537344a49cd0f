//! Links: the BPF qdisc on a device, its plan, and its counters.
//!
//! [`decide`] compares a policy with what was found, [`program`] and [`memory`] are the loaded
//! programs and a link's part of them, [`record`] remembers a link, [`takeover`] attaches the
//! qdisc to a device and gives the device back.

pub mod background;
pub(crate) mod buffer;
pub(crate) mod counted;
pub(crate) mod decide;
pub(crate) mod gap;
pub(crate) mod managed;
pub(crate) mod memory;
pub(crate) mod program;
pub(crate) mod receive;
pub(crate) mod record;
pub(crate) mod registered;
pub(crate) mod sockets;
pub(crate) mod takeover;
