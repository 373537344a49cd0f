//! The rate of a line that changes: LTE, 5G, a satellite, cable in the evening. By what the line
//! carries and by how long packets take to hosts beyond it, the rate of each direction is raised,
//! lowered or kept. `docs/autorate.md` has the rules and their reasons.
//!
//! No clock, socket or file is in here: [`Law`] is told the time, what was carried and which answers
//! came, and says which reflector to ask next and which rates hold.

mod carried;
mod delay;
mod direction;
mod law;

pub use delay::{Answer, OneWay};
pub use direction::{Bounds, Why};
pub use law::{Law, Rates, Verdict};

/// One for each direction of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Both<T> {
    /// What leaves.
    pub up: T,
    /// What comes in.
    pub down: T,
}

const MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000 * MS;
