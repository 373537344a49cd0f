//! The two ends of a connection: what Linux does as far as it affects rates. Without input, output
//! and clock.
//!
//! Modelled: selective acknowledgements, losses by time (RACK, RFC 8985), delayed
//! acknowledgements, retransmission timeouts with backoff, growth only while the window limits
//! the sender, pacing where the congestion control asks for it, an advertised window, and congestion
//! marks.
//! Probes for lost tails (RFC 8985, section 7) are a choice of the sender's owner. Simplified:
//! segments are not reordered, and a window that falls does so at once (no PRR).

mod bbr;
mod control;
mod cubic;
mod dctcp;
mod receiver;
mod reno;
mod sender;

pub use control::Control;
pub use receiver::{Ack, Receiver};
pub use sender::{Send, Sender};
