//! A class: its tokens, and what it may do with them. Tokens are times at the class's rate.

use takt_planner::tree::Node;
use takt_policy::Framing;

use super::{PRIORITIES, leaf::Leaf, turns::Turns};
use crate::qdisc::cost::{Cost, burst_ns};

/// The longest time that tokens are kept for, or owed (`mbuffer`).
const TOKENS_MAX_NS: i64 = 60_000_000_000;

/// `enum htb_cmode`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    CannotSend,
    MayBorrow,
    CanSend,
}

pub(super) struct Class {
    pub minor: u16,
    pub parent: Option<usize>,
    /// 0: a leaf.
    pub level: usize,
    pub priority: usize,
    pub mode: Mode,
    /// Priorities that it takes turns for (`prio_activity`).
    pub active: u8,
    pub feeds: [Turns; PRIORITIES],
    pub leaf: Option<Leaf>,
    /// Its place among those that wait (`pq_key`).
    pub waits_until_ns: u64,
    /// Its ceiling let it send since then.
    pub since_ns: u64,
    rate: Cost,
    ceil: Cost,
    buffer_ns: i64,
    ceil_buffer_ns: i64,
    tokens_ns: i64,
    ceil_tokens_ns: i64,
    checked_ns: u64,
}

impl Class {
    /// With full buckets. The level of a class that is no leaf is the caller's.
    pub fn new(node: &Node, parent: Option<usize>, framing: Framing) -> Self {
        let buffer_ns = burst_ns(node.burst_bytes, node.rate_bps);
        let ceil_buffer_ns = burst_ns(node.burst_bytes, node.ceil_bps);
        Self {
            minor: node.minor,
            parent,
            level: 0,
            priority: usize::from(node.priority).min(PRIORITIES - 1),
            mode: Mode::CanSend,
            active: 0,
            feeds: Default::default(),
            leaf: node
                .leaf
                .as_ref()
                .map(|leaf| Leaf::new(leaf, node.quantum_bytes)),
            waits_until_ns: 0,
            since_ns: 0,
            rate: Cost::new(node.rate_bps, framing),
            ceil: Cost::new(node.ceil_bps, framing),
            buffer_ns,
            ceil_buffer_ns,
            tokens_ns: buffer_ns,
            ceil_tokens_ns: ceil_buffer_ns,
            checked_ns: 0,
        }
    }

    /// Whether it has no packets; a class with children has none of its own.
    pub fn is_empty(&self) -> bool {
        self.leaf.as_ref().is_none_or(Leaf::is_empty)
    }

    pub fn enter(&mut self, mode: Mode, now_ns: u64) {
        if self.mode == Mode::CannotSend {
            self.since_ns = now_ns;
        }
        self.mode = mode;
    }

    /// Since its tokens were counted.
    pub fn passed_ns(&self, now_ns: u64) -> i64 {
        ((now_ns - self.checked_ns) as i64).min(TOKENS_MAX_NS)
    }

    /// `htb_class_mode`: what it may do after so much time, and when that changes by itself.
    pub fn mode_after(&self, passed_ns: i64) -> (Mode, i64) {
        let ceil_tokens_ns = self.ceil_tokens_ns + passed_ns;
        if ceil_tokens_ns < 0 {
            return (Mode::CannotSend, -ceil_tokens_ns);
        }
        let tokens_ns = self.tokens_ns + passed_ns;
        if tokens_ns >= 0 {
            (Mode::CanSend, passed_ns)
        } else {
            (Mode::MayBorrow, -tokens_ns)
        }
    }

    /// A packet leaves a leaf at or below it, which a class of that level let go: of its tokens if
    /// it is that class or above, of its ceiling's always.
    pub fn charge(&mut self, level: usize, bytes: u32, now_ns: u64) {
        let passed_ns = self.passed_ns(now_ns);
        if self.level >= level {
            let cost_ns = self.rate.ns(bytes);
            self.tokens_ns = spent(self.tokens_ns, self.buffer_ns, passed_ns, cost_ns);
        } else {
            self.tokens_ns += passed_ns;
        }
        let cost_ns = self.ceil.ns(bytes);
        self.ceil_tokens_ns = spent(self.ceil_tokens_ns, self.ceil_buffer_ns, passed_ns, cost_ns);
        self.checked_ns = now_ns;
    }
}

/// `htb_accnt_tokens`
fn spent(tokens_ns: i64, buffer_ns: i64, passed_ns: i64, cost_ns: i64) -> i64 {
    let left_ns = (tokens_ns + passed_ns).min(buffer_ns) - cost_ns;
    left_ns.max(1 - TOKENS_MAX_NS)
}
