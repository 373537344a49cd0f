//! The medium: its guarantees, and what it says about known cases.

mod effect;
mod medium;
mod rate_control;
mod validation;
