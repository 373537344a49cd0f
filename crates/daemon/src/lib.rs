//! `taktd`: programs declare to it, without privileges, which of their traffic is background,
//! and ask it for reservations. It keeps the policy in force on devices that come and go. `registry`, `admission` and `beats` decide; `protocol` is what
//! is said over the socket.

mod address;
mod admission;
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
mod own;
mod part;
mod peer;
mod privileges;
mod protocol;
mod radio;
mod registry;
mod reply;
mod request;
mod server;
mod table;

pub use address::destination;
pub use client::{AskError, ask};
pub use error::Error;
pub use protocol::{
    Add, Added, BeatReservation, Code, Done, GroupMember, JoinBeat, Joined, JoinedBeat, LeaveBeat,
    LeftBeat, Listed, ListedBeats, ListedCrowd, ListedRadio, Neighbour, Neighbourhood, NoTerms,
    Refusal, Registered, Remove, Removed, Request, Share,
};
pub use server::serve;

/// Where taktd listens.
pub const SOCKET: &str = "/run/taktd/socket";
/// Where it listens to root alone.
pub const ROOT_SOCKET: &str = "/run/taktd/root";
