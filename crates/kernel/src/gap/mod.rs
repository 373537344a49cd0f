//! Gap frames from user space: BPF cannot make frames, so a feeder keeps each
//! link of this network namespace that has `pacing = "gap"` in stock of them.
//!
//! [`stock`] decides which lengths and how many of each, [`frame`] writes them,
//! [`socket`] sends them, [`feeder`] does it all for as long as it is needed,
//! [`presence`] makes it one per namespace and lets others speak to it, and
//! [`refusal`] names devices that cannot have gaps. [`swallowed`] is for the
//! doctor: on which devices gap frames get lost.

mod feeder;
mod frame;
mod presence;
mod refusal;
mod socket;
mod stock;
mod swallowed;

pub use feeder::{Stay, feed};
pub(crate) use presence::{is_running, tend};
pub use refusal::NoGap;
pub(crate) use refusal::check;
/// That packet sockets can be opened, which the feeder needs.
pub(crate) use socket::try_open;
pub(crate) use swallowed::verdicts;
pub use swallowed::{FlowControl, PauseFrames, Verdict};
