//! Threads on the beat: the scheduler that runs them, and what it is told.
//!
//! [`decide`] compares what a policy wants with what stands and changes nothing;
//! [`ids`] gives tasks their numbers, [`image`] turns a timetable into what the kernel reads,
//! [`scheduler`] brings it there, [`record`] remembers it.

mod change;
mod ids;
mod image;
mod record;
mod scheduler;

pub(crate) use change::{Change, revert};
pub use change::BeatsAction;
pub(crate) use scheduler::Scheduler;
