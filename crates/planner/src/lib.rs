//! From a policy to the tables that the kernel's programs read: [`link`] plans a link's classes and
//! rules, [`backend`] chooses what carries it out, [`tree`] makes HTB classes of it,
//! [`departure`] clocks, [`flow`] rates of sockets, [`segments`] says how long packets may be, [`radio`] says how stations are weighed, [`beats`] finds time slots for tasks.
//! Pure: the host is not looked at.

pub mod backend;
pub mod beats;
pub mod departure;
pub mod flow;
mod framing;
mod link;
pub mod radio;
pub mod segments;
pub mod tree;

use takt_algo::sys::{TAKT_EXACT_DEN_MAX, TAKT_EXACT_MAX_NS, TAKT_LINKS, TAKT_MEMBERS_MAX};
use takt_policy::{DENOMINATOR_MAX, LINKS_MAX, MEMBERS_MAX, PERIOD_MAX_NS};

pub use framing::{framing, line_bytes};
pub use link::{
    ByPort, ClassIds, Plan, PlanError, Questions, by_port, open_receive, plan, unplannable,
};
pub use takt_policy::Question;

// A policy is checked for what the tables hold.
const _: () = assert!(LINKS_MAX == TAKT_LINKS as usize);
const _: () = assert!(MEMBERS_MAX == TAKT_MEMBERS_MAX as usize);
const _: () = assert!(DENOMINATOR_MAX == TAKT_EXACT_DEN_MAX);
const _: () = assert!(PERIOD_MAX_NS == TAKT_EXACT_MAX_NS as u64);
