//! How a sender chooses its rates. Each control is a state machine of its own, without the
//! medium: it is told of every transmission and says the rate of the next one.
//!
//! A control sees acknowledgements that came or did not. It cannot tell a collision from bad
//! radio, and that is what these are for.

mod amrr;
mod arf;
mod chain;
mod minstrel;

pub use amrr::Amrr;
pub use arf::Arf;
pub use chain::{Chain, Step};
pub use minstrel::Minstrel;

use rand_pcg::Pcg64Mcg;

use crate::Rate;

/// How a node's rate is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateChoice {
    /// An index into the profile's rates.
    Fixed(usize),
    /// The fastest rate at which, at the current mean SNR, at most a tenth of 1500 byte packets
    /// are lost; if there is none, the slowest.
    BySnr,
    /// Other rates for a frame's later attempts, the same for every frame.
    Chain(Chain),
    /// By the part of retries in a period.
    Amrr(Amrr),
    /// By successes and failures in a row.
    Arf(Arf),
    /// By the throughput that each rate has had.
    Minstrel(Minstrel),
}

impl RateChoice {
    /// The fastest rate that it names, if it names any.
    pub(crate) fn fastest(&self) -> Option<usize> {
        match self {
            RateChoice::Fixed(rate) => Some(*rate),
            RateChoice::Chain(chain) => Some(chain.fastest()),
            _ => None,
        }
    }
}

/// The state of a choice, for one sender and one receiver.
#[derive(Debug, Clone)]
pub(crate) enum Control {
    /// The medium knows the SNR; a control does not.
    BySnr,
    Chain(Chain),
    Amrr(amrr::Control),
    Arf(arf::Control),
    Minstrel(Box<minstrel::Control>),
}

impl Control {
    pub fn new(choice: RateChoice, rates: &[Rate], random: Pcg64Mcg) -> Self {
        match choice {
            RateChoice::Fixed(rate) => Control::Chain(Chain::single(rate)),
            RateChoice::BySnr => Control::BySnr,
            RateChoice::Chain(chain) => Control::Chain(chain),
            RateChoice::Amrr(amrr) => Control::Amrr(amrr::Control::new(amrr, rates)),
            RateChoice::Arf(arf) => Control::Arf(arf::Control::new(arf, rates)),
            RateChoice::Minstrel(minstrel) => {
                Control::Minstrel(Box::new(minstrel::Control::new(minstrel, rates, random)))
            }
        }
    }

    /// The sender has a new frame.
    pub fn begin(&mut self, now_ns: u64) {
        match self {
            Control::BySnr | Control::Chain(_) | Control::Arf(_) => {}
            Control::Amrr(amrr) => amrr.begin(now_ns),
            Control::Minstrel(minstrel) => minstrel.begin(now_ns),
        }
    }

    /// The rate of the frame's next attempt after this many failed ones; `None`: by SNR.
    pub fn attempt(&self, failures: u32) -> Option<usize> {
        match self {
            Control::BySnr => None,
            Control::Chain(chain) => Some(chain.rate(failures)),
            Control::Amrr(amrr) => Some(amrr.attempt(failures)),
            Control::Arf(arf) => Some(arf.rate()),
            Control::Minstrel(minstrel) => Some(minstrel.attempt(failures)),
        }
    }

    /// The rate that a driver would report: of first attempts that are no samples.
    pub fn rate(&self) -> Option<usize> {
        match self {
            Control::Minstrel(minstrel) => Some(minstrel.rate()),
            other => other.attempt(0),
        }
    }

    /// The attempt after `failures` failed ones, of so many frames at once, is over.
    pub fn sent(&mut self, failures: u32, frames: u32, acknowledged: u32) {
        match self {
            Control::BySnr | Control::Chain(_) => {}
            Control::Amrr(amrr) => amrr.sent(failures),
            Control::Arf(arf) => arf.sent(acknowledged > 0),
            Control::Minstrel(minstrel) => minstrel.sent(failures, frames, acknowledged),
        }
    }
}

/// The rate at which AMRR starts, in net80211 and MadWifi alike: the fastest up to 36 Mbit/s.
fn fastest_to_36m(rates: &[Rate]) -> usize {
    let is_slow_enough = |rate: &Rate| rate.bps <= 36_000_000;
    rates.iter().rposition(is_slow_enough).unwrap_or_default()
}
