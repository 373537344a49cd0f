//! Threads on the beat: the scheduler that runs them, and its tables.
//!
//! [`roster`] lists the tasks, [`standing`] has slots found for them, the policy's first, and
//! [`displaced`] tells which had to make room; [`ids`] gives them numbers, [`image`] is what
//! the kernel reads, [`scheduler`] writes it to the kernel, [`record`] remembers it. [`found`]
//! reads the present state, [`ended`] whether the scheduler still runs, and [`change`] goes
//! from there to the state that is wanted.

mod change;
mod displaced;
mod ended;
mod found;
mod ids;
mod image;
mod record;
mod roster;
mod scheduler;
pub(crate) mod softirq;
mod standing;

pub use change::BeatsAction;
pub(crate) use change::{Change, revert, withdraw};
pub use displaced::{Displaced, Displacement, SentAway};
pub use ended::Ended;
pub(crate) use found::{Found, nobody_elses, running};
pub(crate) use ids::Numbers;
pub(crate) use record::BeatsRecord;
pub(crate) use roster::{Roster, ad_hoc_key, shown_name};
pub(crate) use scheduler::Scheduler;
