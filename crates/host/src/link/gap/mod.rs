//! Links that are paced by gap frames, which the helper sends ([`crate::helper`]).
//!
//! [`refusal`] names devices that cannot send gap frames. [`swallowed`] is for the doctor: on
//! which devices PAUSE frames are filtered.

mod refusal;
mod swallowed;

#[cfg(test)]
pub(crate) use refusal::LONGEST_MAX;
pub use refusal::NoGap;
pub(crate) use refusal::{check, longest_frame};
pub(crate) use swallowed::verdicts;
pub use swallowed::{FlowControl, PauseFrames, Verdict};
