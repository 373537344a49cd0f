//! The two ends of a connection: what Linux does as far as it affects rates. Without input, output
//! and clock.
//!
//! Modelled: selective acknowledgements, losses by time (RACK, RFC 8985), delayed
//! acknowledgements, retransmission timeouts with backoff, growth only while the window limits
//! the sender, pacing where the congestion control asks for it, and an advertised window.
//! Simplified: segments are not reordered, a window that falls does so at once (no PRR), and
//! there is no tail loss probe.

mod bbr;
mod control;
mod cubic;
mod receiver;
mod reno;
mod sender;

pub use control::Control;
pub use receiver::{Ack, Receiver};
pub use sender::{Send, Sender};
