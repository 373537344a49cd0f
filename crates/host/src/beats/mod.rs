//! Threads on the beat: the scheduler that runs them, and its tables.
//!
//! [`roster`] lists the tasks, [`standing`] has slots found for them, the policy's first, and
//! [`displaced`] tells which had to make room; [`phase`] tells where their clock's zero lies,
//! [`ids`] gives them numbers, [`image`] is what the kernel reads, [`scheduler`] writes it to the
//! kernel with the caches that [`llc`] tells apart and [`calibrate`] measures for it, [`record`]
//! remembers it. [`found`] reads the present state, [`ended`] whether the scheduler still runs, [`change`] goes
//! from there to the state that is wanted, and [`part`] does so for a policy. [`softirq`] and
//! [`kernel_threads`] are settings of the host that go with the scheduler, and [`cgroup_limits`]
//! are those that do not.

mod calibrate;
mod cgroup_limits;
mod change;
mod displaced;
mod ended;
mod error;
mod found;
mod ids;
mod image;
pub(crate) mod kernel_threads;
mod llc;
mod part;
pub(crate) mod phase;
mod record;
mod refusal;
mod roster;
mod scheduler;
pub(crate) mod softirq;
mod standing;
mod status;

pub use cgroup_limits::CgroupLimit;
pub(crate) use cgroup_limits::{ignored as ignored_cgroup_limits, refuse_cgroup_limits};
pub use change::BeatsAction;
pub(crate) use change::Change;
pub use displaced::{Displaced, Displacement, SentAway};
pub use ended::Ended;
pub use error::BeatsError;
pub(crate) use found::{Found, refuse_other_scheduler, running};
pub(crate) use ids::Numbers;
pub(crate) use part::Tasks;
pub(crate) use record::BeatsRecord;
pub(crate) use refusal::Refusal;
pub(crate) use roster::{Roster, ad_hoc_key, shown_name};
pub(crate) use scheduler::Scheduler;
pub use status::{
    BeatsStatus, Bucket, CpuStatus, Lateness, MemberStatus, PieceStatus, TaskCounters, TaskStatus,
};
