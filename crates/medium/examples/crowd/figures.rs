//! One run and its figures.

use takt_algo::WindowTerms;

use crate::{
    cell::{Cell, Control, SEGMENT_BITS, Setup, Terminal},
    takt::Takt,
};

const PERIODS: usize = 100;

pub struct Figures {
    /// Mbit/s of each terminal.
    pub rates: Vec<f64>,
    rtts_ns: Vec<u64>,
    pub unrest: f64,
}

struct NoControl;

impl Control for NoControl {
    fn decide(&mut self, _: u64, _: &mut [Terminal], _: usize) -> Option<u64> {
        None
    }
}

pub fn cubic(setup: Setup) -> Figures {
    run(setup, &mut NoControl)
}

struct Fixed(f64);

impl Control for Fixed {
    fn decide(&mut self, _: u64, terminals: &mut [Terminal], index: usize) -> Option<u64> {
        let sender = &mut terminals[index].sender;
        (sender.lower, sender.upper) = (self.0, self.0);
        None
    }
}

/// Every window has this many segments.
pub fn fixed(setup: Setup, window: f64) -> Figures {
    run(setup, &mut Fixed(window))
}

/// The first `members` terminals have Takt.
pub fn with_takt(setup: Setup, members: usize) -> Figures {
    with_standing(setup, members, WindowTerms::STANDING_SEGMENTS)
}

pub fn with_standing(setup: Setup, members: usize, standing_segments: u32) -> Figures {
    let mut control = Takt::new(members, standing_segments);
    let mut figures = run(setup, &mut control);
    figures.unrest = control.unrest(PERIODS);
    figures
}

fn run(setup: Setup, control: &mut dyn Control) -> Figures {
    let mut cell = Cell::new(setup, 1);
    cell.run(setup.warm_ns, control);
    let before: Vec<u64> = cell.terminals.iter().map(|t| t.sender.delivered).collect();
    for terminal in &mut cell.terminals {
        terminal.sender.rtts_ns.clear();
    }
    cell.run(setup.warm_ns + setup.measured_ns, control);
    let senders = cell.terminals.iter().map(|terminal| &terminal.sender);
    let rate = |(count, before): (u64, &u64)| {
        (count - before) as f64 * SEGMENT_BITS / (setup.measured_ns as f64 / 1e3)
    };
    let rates = senders.clone().map(|sender| sender.delivered).zip(&before);
    let mut rtts_ns: Vec<u64> = senders
        .flat_map(|sender| &sender.rtts_ns)
        .copied()
        .collect();
    rtts_ns.sort_unstable();
    Figures {
        rates: rates.map(rate).collect(),
        rtts_ns,
        unrest: 0.0,
    }
}

impl Figures {
    pub fn total(&self) -> f64 {
        self.rates.iter().sum()
    }

    /// R. Jain's index of fairness.
    pub fn jain(&self) -> f64 {
        let squares: f64 = self.rates.iter().map(|rate| rate * rate).sum();
        self.total().powi(2) / (self.rates.len() as f64 * squares)
    }

    pub fn rtt_ms(&self, quantile: f64) -> f64 {
        let last = self.rtts_ns.len().saturating_sub(1);
        let rtt_ns = self.rtts_ns.get((last as f64 * quantile) as usize);
        rtt_ns.map_or(f64::NAN, |rtt_ns| *rtt_ns as f64 / 1e6)
    }
}
