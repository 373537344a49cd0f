//! Policies that do not fit the kernel's tables.

use takt_algo::sys::{TAKT_GAP_OVERHEAD_MAX, TAKT_RULES, TAKT_TUPLES};
use thiserror::Error;

/// A valid policy that does not fit the kernel's tables.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum PlanError {
    /// More entries than the table holds.
    #[error(
        "the matches need more than {TAKT_RULES} table entries; \
         use fewer classes, or port ranges that begin and end at multiples of powers of two"
    )]
    TooManyRules,
    /// More combinations of fields than are looked up.
    #[error(
        "the matches ask for {needed} different combinations of fields and prefix lengths, \
         and {TAKT_TUPLES} are possible; let classes match on the same fields"
    )]
    TooManyTuples {
        /// How many.
        needed: usize,
    },
    /// Two of the shortest gap frames would be longer than the longest fine one
    /// (TAKT_GAP_OVERHEAD_MAX in algo/gap.h).
    #[error(
        "with an overhead of {overhead_bytes} bytes gap frames cannot be exact; \
         {TAKT_GAP_OVERHEAD_MAX} is the most (Ethernet's is 24), or write pacing = \"timer\""
    )]
    GapOverhead {
        /// The overhead of each frame in the policy.
        overhead_bytes: i32,
    },
    /// The line's frames are none of Ethernet's.
    #[error(
        "gap frames are Ethernet's, and this framing is of another line; write pacing = \"timer\", or \
         framing = \"ethernet\""
    )]
    GapFraming,
    /// Too many entries with the same hash.
    #[error("the matches cannot be laid out in the hash table; use fewer of them")]
    Crowded,
}

impl PlanError {
    /// Stop early: the number of rules of port ranges on both sides is their product.
    pub(super) fn check_rules(rules: usize) -> Result<(), Self> {
        if rules > TAKT_RULES as usize {
            return Err(Self::TooManyRules);
        }
        Ok(())
    }
}
