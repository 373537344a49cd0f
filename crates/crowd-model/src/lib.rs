//! A model of TCP over a WLAN: terminals that upload to and download from servers behind one
//! access point, under CUBIC, BBR or takt's bounds. `docs/crowd-law.md` draws its figures from
//! here.
//!
//! The air is [`takt_medium`]'s, the law is `algo/window.h`'s, and what a terminal reports and
//! hears goes through [`takt_wlan::crowd`]: the code that taktd and the kernel run. TCP is
//! [`takt_tcp_model`]'s. Modelled here are the wire and the queues. Nothing reads a clock: a setup and a seed give the
//! same figures on every machine.

mod access_point;
mod cell;
mod figures;
mod flow;
mod member;
mod setup;
mod trace;
mod wire;

pub use access_point::{AccessPoint, AccessQueue};
pub use cell::Cell;
pub use figures::{Figures, measure};
pub use setup::{Direction, FlowTerms, Setup, Terminal};
pub use takt_report::Interval;
pub use takt_tcp_model as tcp;
pub use tcp::Control;
pub use trace::{Second, correlation, trace};

/// A full segment on the wire, as an Ethernet frame.
pub(crate) const DATA_BYTES: u32 = 1514;
/// An acknowledgement without data, likewise.
pub(crate) const ACK_BYTES: u32 = 66;
/// Payload of a segment.
pub const SEGMENT_BYTES: u32 = 1448;
