//! `taktd`: programs tell it, without privileges, what of their traffic is
//! background, and take places on the beat. What it decides is in `registry` and `beats`;
//! what it says in `protocol`.

mod address;
mod beats;
mod client;
mod crowd;
mod error;
mod limit;
mod own;
mod part;
mod peer;
mod protocol;
mod radio;
mod registry;
mod reply;
mod server;
mod table;

pub use address::destination;
pub use client::{AskError, ask};
pub use error::Error;
pub use protocol::{
    Add, Added, BeatPlace, Code, Done, GroupMember, JoinBeat, Joined, JoinedBeat, LeaveBeat,
    LeftBeat, Listed, ListedBeats, ListedCrowd, ListedRadio, Neighbour, Neighbourhood, NoTerms,
    Refusal, Registered, Remove, Removed, Request, Share,
};
pub use server::serve;

/// Where taktd listens.
pub const SOCKET: &str = "/run/taktd/socket";
