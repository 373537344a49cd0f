//! Classes that are always backlogged, and their departures.

use std::collections::BTreeSet;

use takt_algo::{Dequeued, Link, sys::takt_plan};

pub const NS_PER_S: u64 = 1_000_000_000;
pub const NS_PER_MS: u64 = 1_000_000;

/// Every class sends frames of this length.
pub fn frame(_: u32) -> u32 {
    1500
}

/// Whether the value is within this part of the wanted one.
pub fn near(value: f64, want: f64, part: f64) -> bool {
    (value / want - 1.0).abs() <= part
}

/// A frame that left.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    pub at_ns: u64,
    pub class: u32,
    pub bytes: u32,
}

pub struct Traffic {
    pub link: Link,
    pub now_ns: u64,
    pub sent: Vec<Sent>,
    /// The length of every class's frames.
    bytes: fn(u32) -> u32,
    busy: BTreeSet<u32>,
    late_ns: u64,
    turn: u64,
}

impl Traffic {
    pub fn new(bytes: fn(u32) -> u32) -> Self {
        Self {
            link: Link::new(),
            now_ns: NS_PER_S,
            sent: Vec::new(),
            bytes,
            busy: BTreeSet::new(),
            late_ns: 0,
            turn: 0,
        }
    }

    /// The timer is late by up to this, by turns.
    pub fn late(mut self, late_ns: u64) -> Self {
        self.late_ns = late_ns;
        self
    }

    /// From now on these classes, and only these, are always backlogged. What the others have
    /// queued is still sent: one frame each.
    pub fn busy(&mut self, plan: &takt_plan, classes: impl IntoIterator<Item = u32>) {
        self.busy = classes.into_iter().collect();
        for id in self.busy.clone() {
            while self.link.entity(id).queue.packets < 2 {
                self.send(plan, id);
            }
        }
    }

    pub fn send(&mut self, plan: &takt_plan, id: u32) {
        let bytes = (self.bytes)(id);
        let slot = self.link.enqueue(plan, id, bytes, 1, self.now_ns);
        assert!(slot.is_some(), "room for class {id}");
    }

    /// Lets this much time pass.
    pub fn run(&mut self, plan: &takt_plan, pass_ns: u64) {
        let end_ns = self.now_ns + pass_ns;
        while self.now_ns < end_ns {
            match self.link.dequeue(plan, self.now_ns) {
                Dequeued::Packet { class, bytes, .. } => {
                    self.sent.push(Sent {
                        at_ns: self.now_ns,
                        class,
                        bytes,
                    });
                    if self.busy.contains(&class) {
                        self.send(plan, class);
                    }
                }
                Dequeued::Wait { until_ns } => {
                    self.turn = (self.turn + 7) % 11;
                    let late_ns = self.late_ns * self.turn / 10;
                    self.now_ns = end_ns.min(self.now_ns.max(until_ns + late_ns));
                }
                Dequeued::Empty => {
                    assert!(self.busy.is_empty(), "busy classes, and nothing queued");
                    self.now_ns = end_ns;
                }
            }
        }
    }

    pub fn bytes(&self, class: u32, from_ns: u64, to_ns: u64) -> u64 {
        self.sent
            .iter()
            .filter(|sent| sent.class == class && (from_ns..to_ns).contains(&sent.at_ns))
            .map(|sent| u64::from(sent.bytes))
            .sum()
    }

    pub fn rate_bps(&self, class: u32, from_ns: u64, to_ns: u64) -> f64 {
        self.bytes(class, from_ns, to_ns) as f64 * 8e9 / (to_ns - from_ns) as f64
    }

    /// The most that these classes sent beyond `rate_bps` in any window from `from_ns` on, in
    /// bytes.
    pub fn excess_bytes(&self, classes: &[u32], rate_bps: u64, from_ns: u64) -> f64 {
        let (mut excess, mut most, mut last_ns) = (0f64, 0f64, from_ns);
        for sent in &self.sent {
            if sent.at_ns < from_ns || !classes.contains(&sent.class) {
                continue;
            }
            let drained = rate_bps as f64 * (sent.at_ns - last_ns) as f64 / 8e9;
            excess = (excess - drained).max(0.0) + f64::from(sent.bytes);
            most = most.max(excess);
            last_ns = sent.at_ns;
        }
        most
    }

    /// The most that a class that was always backlogged from `from_ns` to `to_ns` fell short of
    /// `rate_bps`, in bytes.
    pub fn shortage_bytes(&self, class: u32, rate_bps: u64, from_ns: u64, to_ns: u64) -> f64 {
        let (mut short, mut most, mut last_ns) = (0f64, 0f64, from_ns);
        let worth = |ns: u64| rate_bps as f64 * ns as f64 / 8e9;
        for sent in &self.sent {
            if sent.class != class || !(from_ns..to_ns).contains(&sent.at_ns) {
                continue;
            }
            short += worth(sent.at_ns - last_ns);
            most = most.max(short);
            short = (short - f64::from(sent.bytes)).max(0.0);
            last_ns = sent.at_ns;
        }
        most.max(short + worth(to_ns - last_ns))
    }
}
