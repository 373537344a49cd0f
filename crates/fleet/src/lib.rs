//! Fleets: one policy for many hosts, in waves, taken back by itself.
//!
//! Pure: [`revision`], [`selector`], [`health`], [`place`], [`rollout`] and the journal of
//! [`host`] decide. [`engine`] speaks to NATS, [`host`] runs beside takt, [`operator`] signs.

pub mod beside;
pub mod check;
pub mod digest;
pub mod engine;
pub mod envelope;
pub mod health;
pub mod host;
pub mod http;
pub mod keys;
pub mod labels;
pub mod log;
pub mod operator;
pub mod place;
pub mod policy;
mod random;
pub mod report;
pub mod revision;
pub mod rollout;
pub mod selector;
pub mod signals;
pub mod stand_in;
pub mod terms;
