//! Terminals that share the air and tell each other what they get of it: who is there, who says
//! what and when, and what follows for the law (`algo/window.h`). After paper 001, section 6.
//!
//! A [`Terminal`] hears the others itself, or is told of them by an [`Aggregator`].

mod activity;
mod aggregator;
mod airtime;
mod beat;
mod members;
mod meter;
mod report;
mod sum;
mod terminal;

pub use activity::Activity;
pub use aggregator::Aggregator;
use airtime::Form;
use members::MEMBERS_MAX;
pub use members::Member;
pub use meter::{Counts, Measured, Meter};
pub use terminal::{Terminal, Terms};

use crate::{Rate, sealed::Key};

/// The shortest that a policy may have between two reports.
const INTERVAL_MIN_NS: u64 = 100_000_000;

/// Who speaks here.
pub struct Own {
    /// With the name of the group in it.
    pub key: Key,
    /// One that nobody else in the group has.
    pub number: u64,
    /// As [`crate::sealed::Sender::new`] wants it.
    pub epoch: u64,
    /// What the policy wants between two reports.
    pub interval_ns: u64,
}

/// How often one sender is heard: somewhat oftener than anybody reports, `burst` at once.
const fn heard_rate(burst: u64) -> Rate {
    Rate::new(INTERVAL_MIN_NS / 2, burst)
}

#[cfg(test)]
mod tests;
