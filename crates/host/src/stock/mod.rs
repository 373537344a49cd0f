//! Links on qdiscs that every kernel has: trees of HTB classes, and departure times or rates of
//! sockets with fq.
//!
//! [`part`] puts a policy in force: [`decide`] compares what is wanted with what stands, and
//! [`change`] turns the one into the other ([`tree`], [`departure`], [`flow`]). [`program`] loads the
//! BPF program that sees packets or connections, one for each link and policy. It comes last in each
//! change, and [`record`] has its number: a program that is called says which policy is in force.
//! [`backend`] chooses among backends by what [`features`] the kernel has.
//! [`status`] reads counters.

mod backend;
mod change;
mod decide;
mod departure;
mod features;
pub(crate) mod flow;
mod hook;
mod part;
pub(crate) mod program;
mod record;
mod sender;
mod shape;
mod sizes;
mod standing;
mod status;
mod tree;

pub(crate) use backend::{Assigned, assign, can_set_rates, has};
pub use backend::{Running, kernel};
pub(crate) use part::{
    Stock, carriers, carries, limited, slots, verify_departure, verify_flow, verify_tree,
};
pub(crate) use record::{Place, RECORDS_DIR, StockRecord, salvage_all, watched};
pub(crate) use sender::Asking;
