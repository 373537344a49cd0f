//! A host's part: it obeys signed revisions, on trial, and tells of itself.

mod agent;
mod applier;
mod journal;
mod store;

pub use self::{
    agent::{Agent, CALL_SPREAD, Config, Engine, Heard},
    applier::{Applier, Policy, Takt},
    journal::{Attempt, Failure, InForce, Journal, Step},
    store::{Directory, Memory, Store, replace},
};
