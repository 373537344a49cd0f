//! Terminals that share the air and report their throughput to each other: the group's members,
//! the reports and their times, and the input of the law (`algo/window.h`). After section 6 of
//! the paper on a cooperative middleware (docs/papers.md).
//!
//! A [`Terminal`] hears the others itself, or through an [`Aggregator`].

mod activity;
mod aggregator;
mod air;
mod airtime;
mod beat;
mod best_rates;
mod capacities;
mod contention;
mod downloads;
mod learning;
mod members;
mod meter;
mod report;
mod standoff;
mod stranger_counter;
mod sum;
mod terminal;

pub use activity::Activity;
pub use aggregator::Aggregator;
pub use air::{Radio, RadioMeter};
use airtime::Form;
pub use capacities::{Capacities, Capacity, Network};
pub use contention::{Contention, STATIONS_NS};
pub use downloads::Downloads;
use members::MEMBERS_MAX;
pub use members::Member;
pub use meter::{Counts, Measured, Meter};
pub use report::REPORT_BYTES;
pub use stranger_counter::StrangerCounter;
pub use sum::Strangers;
pub use terminal::{Aggregates, Terminal, Terms};

use crate::{Rate, sealed::Key};

/// The shortest report interval that a policy may set.
const INTERVAL_MIN_NS: u64 = 100_000_000;

/// A member's identity.
pub struct Own {
    /// The group's key, with its name.
    pub key: Key,
    /// A number that no other member has.
    pub number: u64,
    /// The sender's epoch, see [`crate::sealed::Sender::new`].
    pub epoch: u64,
    /// The policy's report interval.
    pub interval_ns: u64,
}

/// The rate at which one sender is accepted: somewhat above any member's rate, with `burst` at
/// once.
const fn heard_rate(burst: u64) -> Rate {
    Rate::new(INTERVAL_MIN_NS / 2, burst)
}

#[cfg(test)]
mod tests;
