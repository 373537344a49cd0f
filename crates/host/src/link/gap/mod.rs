//! Gap frames from user space: BPF cannot make frames, so a feeder keeps a stock of them in
//! each link of this network namespace that has `pacing = "gap"`.
//!
//! [`stock`] decides which lengths and how many of each, [`link`] holds a link's, and
//! [`feeder`] keeps them all full, as part of the namespace's [`crate::helper`]. [`refusal`]
//! names devices that cannot send gap frames. [`swallowed`] is for the doctor: on which devices
//! PAUSE frames are filtered.

mod feeder;
mod link;
mod refusal;
mod stock;
mod swallowed;

pub(crate) use feeder::Feeder;
pub use refusal::NoGap;
pub(crate) use refusal::check;
pub(crate) use swallowed::verdicts;
pub use swallowed::{FlowControl, PauseFrames, Verdict};
