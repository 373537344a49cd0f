//! Threads on the beat: the scheduler that runs them, and what it is told.
//!
//! [`roster`] says which tasks there are to be and has slots found for them; [`ids`] gives
//! them numbers, [`image`] is what the kernel reads, [`scheduler`] brings it there, [`record`]
//! remembers it. [`found`] looks what stands, [`ended`] whether it still runs, and [`change`]
//! goes from there to what is wanted.

mod change;
mod ended;
mod found;
mod ids;
mod image;
mod record;
mod roster;
mod scheduler;

pub use change::BeatsAction;
pub(crate) use change::{Change, revert, withdraw};
pub use ended::Ended;
pub(crate) use found::{Found, nobody_elses, running};
pub(crate) use record::BeatsRecord;
pub(crate) use roster::Roster;
pub(crate) use scheduler::Scheduler;
