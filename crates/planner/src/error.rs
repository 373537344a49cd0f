//! Policies that the kernel's tables cannot hold.

use takt_algo::sys::{TAKT_RULES, TAKT_TUPLES};
use thiserror::Error;

/// A policy that is right but larger than the kernel's tables.
#[derive(Debug, Error, PartialEq, Eq)]
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
    /// Entries that hash to the same places.
    #[error("the matches cannot be laid out in the hash table; use fewer of them")]
    Crowded,
}

impl PlanError {
    /// Stop early: a cross product of port ranges can grow without end.
    pub(crate) fn check_rules(rules: usize) -> Result<(), Self> {
        if rules > TAKT_RULES as usize {
            return Err(Self::TooManyRules);
        }
        Ok(())
    }
}
