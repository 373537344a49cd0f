//! The law in charge of a line.

use takt_autorate::{Both, Bounds, Law, Rates};

use crate::{
    capacity::Capacity,
    line::{Host, Line, Way},
};

pub const BOUNDS: Bounds = Bounds {
    min_bps: 2_000_000,
    base_bps: 20_000_000,
    max_bps: 60_000_000,
};
/// Four hosts with clocks of their own.
pub const HOSTS: [Host; 4] = [
    Host::Stamps(0),
    Host::Stamps(123),
    Host::Stamps(-40_000),
    Host::Echo,
];
/// A line that is not in the way.
pub const WIDE_MBIT: f64 = 1_000.0;

pub struct Run {
    pub line: Line,
    pub law: Law,
    pub rates: Rates,
    due_ns: u64,
    served: Both<f64>,
    came: Both<f64>,
    /// The law is told nothing until then: the host sleeps.
    pub sleeps_until_ms: u64,
}

impl Run {
    pub fn new(line: Line, bounds: Both<Option<Bounds>>, hosts: usize) -> Self {
        let law = Law::new(bounds, hosts, line.now_ns());
        Self {
            due_ns: line.now_ns(),
            rates: law.rates(),
            line,
            law,
            served: Both::default(),
            came: Both::default(),
            sleeps_until_ms: 0,
        }
    }

    /// Greedy senders upwards.
    pub fn up(capacity: Capacity, hosts: &[Host], seed: u64) -> Self {
        let seconds = capacity.seconds();
        let up = Way::new(capacity, 1e9, 0);
        let down = Way::new(Capacity::constant(WIDE_MBIT, seconds), 1e5, 0);
        let bounds = Both {
            up: Some(BOUNDS),
            down: None,
        };
        Self::new(Line::new(up, down, hosts, seed), bounds, hosts.len())
    }

    /// Greedy senders downwards, a round trip away.
    pub fn down(capacity: Capacity, hosts: &[Host], seed: u64) -> Self {
        let seconds = capacity.seconds();
        let up = Way::new(Capacity::constant(WIDE_MBIT, seconds), 1e5, 0);
        let down = Way::new(capacity, 1e9, 40);
        let bounds = Both {
            up: None,
            down: Some(BOUNDS),
        };
        Self::new(Line::new(up, down, hosts, seed), bounds, hosts.len())
    }

    /// Little is sent at first: what the path takes is known when load comes.
    pub fn quiet(&mut self) {
        let demands = [self.line.up.demand_bps, self.line.down.demand_bps];
        (self.line.up.demand_bps, self.line.down.demand_bps) = (1e5, 1e5);
        self.pass(4);
        [self.line.up.demand_bps, self.line.down.demand_bps] = demands;
    }

    pub fn rate_bps(&self) -> u64 {
        let verdict = self.rates.up.or(self.rates.down);
        verdict.map_or(0, |verdict| verdict.rate_bps)
    }

    pub fn pass_ms(&mut self, ms: u64) {
        for _ in 0..ms {
            let now_ns = self.line.now_ns();
            if now_ns >= self.due_ns && self.line.ms >= self.sleeps_until_ms {
                self.step(now_ns);
            }
            let bps = |verdict: Option<takt_autorate::Verdict>| {
                verdict.map_or(1e10, |verdict| verdict.rate_bps as f64)
            };
            self.line.pass(bps(self.rates.up), bps(self.rates.down));
        }
    }

    fn step(&mut self, now_ns: u64) {
        for answer in self.line.heard() {
            self.law.hear(answer);
        }
        let came = self.line.up.came_bytes();
        let served = self.line.down.served_bytes();
        let bytes = Both {
            up: (came - self.came.up) as u64,
            down: (served - self.served.down) as u64,
        };
        (self.came.up, self.served.down) = (came, served);
        self.rates = self.law.step(now_ns, bytes);
        if let Some(host) = self.law.ask(now_ns) {
            self.line.ask(host);
        }
        self.due_ns = self.law.due_ns();
    }

    pub fn pass(&mut self, seconds: u64) {
        self.pass_ms(1_000 * seconds);
    }
}
