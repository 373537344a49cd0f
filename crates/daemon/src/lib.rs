//! `taktd` does for programs without privileges what takes privileges: it registers background
//! traffic, gives threads reservations on the beat, and keeps the policy in force.

mod activated;
mod address;
mod admission;
mod autorate;
mod beats;
mod client;
mod clients;
mod crowd;
mod devices;
mod endpoint;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod groups;
mod limit;
pub mod log;
mod metrics;
mod own;
mod peer;
mod privileges;
mod protocol;
mod radio;
mod registry;
mod reply;
mod request;
mod server;
mod service;
mod systemd;
mod table;
mod trials;
mod varlink;
mod watch;

pub use address::destination;
pub use client::{AskError, ask};
pub use error::Error;
pub use protocol::{
    Add, Added, BeatReservation, Code, Done, GroupMember, JoinBeat, Joined, JoinedBeat,
    LearnedLead, LeaveBeat, LeftBeat, Listed, ListedBeats, ListedCrowd, ListedRadio, Neighbour,
    Neighbourhood, NoTerms, Refusal, Registered, Remove, Removed, Request, Share, Strangers,
};
pub use server::{Options, serve};

/// Where taktd listens.
pub const SOCKET: &str = "/run/taktd/socket";
/// Where it listens to programs that speak varlink.
pub const VARLINK_SOCKET: &str = "/run/taktd/varlink";
/// Where it listens to root alone.
pub const ROOT_SOCKET: &str = "/run/taktd/root";
