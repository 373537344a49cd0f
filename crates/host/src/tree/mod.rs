//! Links on kernels without BPF qdiscs: trees of HTB classes.
//!
//! [`part`] puts a policy in force: it compares the wanted trees with those that stand, and
//! [`change`] has the requests that turn one into the other. [`classifier`] is the BPF program
//! that finds packets' classes, one for each link and policy; its name says which [`record`] is in
//! force, so tree and record change in the same instant. [`status`] reads the kernel's counters.

mod backend;
mod change;
mod classifier;
mod part;
mod record;
mod standing;
mod status;

pub(crate) use backend::assign;
pub use backend::kernel;
pub(crate) use part::{Trees, carriers, verify_classifier};
pub(crate) use record::{RECORDS, salvage_all};
