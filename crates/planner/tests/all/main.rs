//! Plans: rules, rates and time-slot tables.

mod beats;
mod plan;
mod rules;
