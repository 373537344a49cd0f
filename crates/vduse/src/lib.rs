//! Network devices whose hardware is this process, by way of the kernel's VDUSE
//! ("vDPA device in user space").
//!
//! The kernel's own virtio-net drives them, so that they behave as a network
//! card does and a TAP device does not: a frame stays where it is for as long as
//! the hardware has not taken it, the driver's queue is then full, and what comes
//! after waits in the qdisc.
//!
//! [`Control`] makes and removes devices, [`NetDevice`] is one; `abi` is what
//! linux/vduse.h says, `message` what the kernel asks of a device, `memory`
//! where the driver's queues and frames lie, and `ring` one such queue. Takes the modules vduse, virtio_vdpa
//! and virtio_net, and CAP_SYS_ADMIN with CAP_NET_ADMIN.
//!
//! A device that exists still has to be put on the vDPA bus, which is `vdpa dev
//! add name NAME mgmtdev vduse`, in the first network namespace. The driver then
//! asks questions that the command waits for: it has to run while somebody
//! [answers](NetDevice::answer).

mod abi;
mod control;
mod error;
mod memory;
mod message;
mod net;
mod ring;

pub use control::{Control, NetConfig};
pub use error::{Error, Result};
pub use net::{NetDevice, Taken};
