//! Network devices whose hardware is this process, through the kernel's VDUSE ("vDPA device in
//! user space").
//!
//! The kernel's own virtio-net drives them, so they behave like a network card and unlike a TAP
//! device: a frame stays in the driver's queue until the hardware has taken it, the queue is
//! then full, and later packets wait in the qdisc.
//!
//! [`Control`] makes and removes devices, [`NetDevice`] is one; `abi` is linux/vduse.h,
//! `message` the kernel's requests, `memory` the memory of the driver's queues and frames, and
//! `ring` one such queue. [`Wire`] says how long frames take, for a device whose hardware has a
//! speed. It needs the modules vduse, virtio_vdpa and virtio_net, and
//! CAP_SYS_ADMIN with CAP_NET_ADMIN.
//!
//! A new device still has to be put on the vDPA bus, with `vdpa dev add name NAME mgmtdev
//! vduse`, in the first network namespace. The driver then sends requests for which the command
//! waits, so they must be [answered](NetDevice::answer) while the command runs.

mod abi;
mod control;
mod error;
mod memory;
mod message;
mod net;
mod ring;
mod wire;

pub use control::{Control, NetConfig};
pub use error::{Error, Result};
pub use net::{NetDevice, SHORTEST_RING, Taken};
pub use wire::{Speed, Wire};
