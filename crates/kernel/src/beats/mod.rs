//! Threads on the beat: the scheduler that runs them, and what it is told.
//!
//! [`roster`] says which tasks there are to be and has slots found for them; [`ids`] gives
//! them numbers, [`image`] is what the kernel reads, [`scheduler`] brings it there, [`record`]
//! remembers it. [`change`] goes from what stands to what is wanted.

mod change;
mod ids;
mod image;
mod record;
mod roster;
mod scheduler;

pub use change::BeatsAction;
pub(crate) use change::{Change, found, revert};
pub(crate) use record::BeatsRecord;
pub(crate) use roster::Roster;
pub(crate) use scheduler::Scheduler;
