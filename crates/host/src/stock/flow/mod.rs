//! Links on rates of sockets (`bpf/flow`).
//!
//! [`program`] loads what sets rates, for one link and policy. [`hold`] has the kernel keep it, gives
//! sockets their rates and gives them back. [`count`] reads what connections sent.

mod count;
mod hold;
mod program;

pub(super) use count::Counts;
pub(super) use hold::{attach, attached, release};
pub(super) use program::load;
