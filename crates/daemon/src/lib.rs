//! `taktd`: programs tell it, without privileges, what of their traffic is
//! background. What it decides is in `registry`; what it says in `protocol`.

mod address;
mod client;
mod error;
mod limit;
mod peer;
mod protocol;
mod registry;
mod server;
mod table;

pub use address::destination;
pub use client::{AskError, ask};
pub use error::Error;
pub use protocol::{
    Add, Added, Code, Done, Joined, Listed, NoTerms, Refusal, Registered, Remove, Removed, Request,
};
pub use server::serve;

/// Where taktd listens.
pub const SOCKET: &str = "/run/taktd/socket";
