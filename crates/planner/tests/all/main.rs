//! Plans: rules, rates, time-slot tables, and what backends keep.

mod beats;
mod plan;
mod promises;
mod rules;
