//! An emulated wireless LAN: one access point, stations, and the air between
//! them, slot by slot.
//!
//! [`Medium`] does no input or output and reads no clock. Frames go in with [`Medium::handle`],
//! outcomes come out of [`Medium::poll`], and [`Medium::wake_ns`] says when to call again. All
//! times are nanoseconds of the caller's clock. The same profile, seed and inputs give the same
//! outputs, bit by bit, on every machine.
//!
//! ```
//! use takt_medium::{Action, Frame, Input, Medium, Outcome, Profile, Receiver, SnrPath};
//!
//! let mut medium = Medium::new(Profile::dot11g(), 1);
//! let station = medium.add_station(SnrPath::constant(3000));
//! let frame = Frame { token: 7, bytes: 1514, to: Receiver::Node(station) };
//! medium.handle(0, Input::Transmit { from: Medium::ACCESS_POINT, frame }).unwrap();
//!
//! let mut done = None;
//! while let Some(now_ns) = medium.wake_ns() {
//!     while let Some(action) = medium.poll(now_ns) {
//!         if let Action::Done { token, outcome, .. } = action {
//!             done = Some((token, outcome));
//!         }
//!     }
//! }
//! assert_eq!(done, Some((7, Outcome::Acknowledged)));
//! ```
//!
//! `docs/medium.md` says what is modelled, after which sources, and how it was validated.

mod channel;
mod ending;
mod error_rate;
mod exchange;
mod frames;
mod link;
mod medium;
mod node;
mod path;
mod phy;
pub mod profile;
pub mod rate_control;
pub mod sim;
pub mod theory;
mod wire;

pub use channel::Fading;
pub use error_rate::{CodeRate, Constellation, ErrorModel};
pub use frames::Aggregation;
pub use link::{Direction, Link};
pub use medium::{Action, Air, Frame, Input, Medium, NodeId, Outcome, Receiver, Refused};
pub use path::{PathError, SnrPath};
pub use phy::{Phy, Rate};
pub use profile::{Profile, Rules};
pub use rate_control::RateChoice;
pub use wire::Wire;
