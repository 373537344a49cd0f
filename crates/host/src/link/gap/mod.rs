//! Links that are paced by gap frames, which the helper sends ([`crate::helper`]).
//!
//! [`refusal`] names devices that cannot send gap frames. [`filtered`] is for the doctor: on
//! which devices PAUSE frames are filtered.

mod filtered;
mod refusal;

pub(crate) use filtered::verdicts;
pub use filtered::{FlowControl, PauseFrames, Verdict};
#[cfg(test)]
pub(crate) use refusal::LONGEST_MAX;
pub use refusal::NoGap;
pub(crate) use refusal::{check, longest_frame};
