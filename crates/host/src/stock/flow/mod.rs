//! Rates of sockets (`bpf/flow`): what carries out links on them, and what keeps segments short on links
//! of every backend ([`crate::segments`]).
//!
//! [`program`] loads what sets rates, for one device and policy. [`hold`] has the kernel keep it, gives
//! sockets their rates and gives them back. [`count`] reads what connections sent.

mod count;
mod hold;
mod program;

pub(super) use count::Counts;
pub(crate) use hold::Hold;
pub(crate) use program::{load, rules_of};
