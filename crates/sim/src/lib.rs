//! What a policy does to traffic, before it is applied: a discrete-event simulator whose scheduler
//! is the kernel's own (`algo/`), beside models of its peers.
//!
//! [`Setup`] is a link of a policy with the flows of a traffic file; [`run()`] lets time pass under
//! one [`Qdisc`] and returns an [`Outcome`]. Nothing reads a clock: a setup and a seed give the same
//! bytes on every run.

mod air;
mod capture;
mod device;
mod event;
mod figures;
mod headers;
mod packet;
pub mod qdisc;
mod radio;
mod random;
pub mod record;
mod run;
mod setup;
mod source;
mod tasks;
mod wire;

pub use capture::{CaptureError, packets_in};
pub use figures::{Delay, Figures, Held, Lost, Outcome, Spacing, StationFigures, Transfer};
pub use packet::{Codepoint, Flow, Loss, Packet, Why};
pub use qdisc::{Answer, Qdisc};
pub use run::{Terms, run};
pub use setup::{ClassTerms, Setup, SetupError};
