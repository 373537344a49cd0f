//! What was measured: collected packet by packet, then summed up by source and by class.

mod collector;
mod curve;
mod pace;
mod slope;
mod summary;
mod tally;

pub(crate) use collector::{Collector, Passage};
pub(crate) use summary::Taken;
pub use summary::{Delay, Figures, Held, Lost, Outcome, Spacing, StationFigures, Transfer};
