//! Hierarchical token buckets: `net/sched/sch_htb.c`, with the classes that Takt's backend `tree`
//! makes of a policy ([`takt_planner::tree`]).
//!
//! Left out: packets without a class (`direct`), hysteresis (off by default), GSO, and the limit of
//! events handled at once. Functions have the kernel's names in their comments.

mod class;
mod leaf;
mod turns;

use std::collections::BTreeSet;

use takt_planner::tree::{Tree, minor_of};
use takt_policy::Framing;

use self::{
    class::{Class, Mode},
    turns::Turns,
};
use super::{Answer, Qdisc};
use crate::packet::{Flow, Loss, Packet};

/// `TC_HTB_MAXDEPTH`: leaves are level 0, their parents 6 and 7.
const LEVELS: usize = 8;
/// `TC_HTB_NUMPRIO`
const PRIORITIES: usize = 8;
/// A lookup is given up after so many steps.
const STEPS_MAX: u32 = 65_535;

/// Classes of one level that may send by themselves (`struct htb_level`).
#[derive(Default)]
struct Level {
    rows: [Turns; PRIORITIES],
    /// Priorities with a class.
    mask: u8,
    /// Classes that wait for tokens, by time.
    waiting: BTreeSet<(u64, usize)>,
}

/// A list of turns: a level's row, or what a class feeds.
#[derive(Debug, Clone, Copy)]
enum List {
    Row(usize),
    Feed(usize),
}

/// A tree of classes.
pub struct Htb {
    /// In the order of their minor numbers, as the kernel sorts them.
    classes: Vec<Class>,
    levels: [Level; LEVELS],
    default: usize,
}

impl Htb {
    /// A tree that was just attached.
    pub fn new(tree: &Tree) -> Self {
        let mut nodes: Vec<_> = tree.nodes.iter().collect();
        nodes.sort_unstable_by_key(|node| node.minor);
        // The kernel takes what a frame costs from the root's table, or adds HTB's overhead.
        let plain = Framing {
            overhead_bytes: tree.overhead_bytes.into(),
            ..Framing::default()
        };
        let framing = tree.line.as_ref().map_or(plain, |line| line.framing);
        let index = |minor: u16| nodes.iter().position(|node| node.minor == minor);
        let mut classes: Vec<Class> = nodes
            .iter()
            .map(|node| Class::new(node, index(node.parent), framing))
            .collect();
        for class in &mut classes {
            if class.leaf.is_none() {
                let depth = if class.parent.is_none() { 1 } else { 2 };
                class.level = LEVELS - depth;
            }
        }
        Self {
            default: index(tree.default_minor).unwrap_or_default(),
            classes,
            levels: Default::default(),
        }
    }

    /// `htb_classify`: by the class that the policy's rules found.
    fn leaf_of(&self, flow: &Flow) -> usize {
        let minor = minor_of(flow.class);
        let found = self
            .classes
            .binary_search_by_key(&minor, |class| class.minor);
        found.unwrap_or(self.default)
    }

    fn turns(&mut self, list: List, priority: usize) -> &mut Turns {
        match list {
            List::Row(level) => &mut self.levels[level].rows[priority],
            List::Feed(class) => &mut self.classes[class].feeds[priority],
        }
    }

    /// `htb_activate_prios`: the class, which may send or borrow, takes turns where it belongs.
    fn activate(&mut self, at: usize) {
        let mut at = at;
        let mut mask = self.classes[at].active;
        while self.classes[at].mode == Mode::MayBorrow
            && mask != 0
            && let Some(parent) = self.classes[at].parent
        {
            for priority in priorities(mask) {
                let feed = self.turns(List::Feed(parent), priority);
                if !feed.is_empty() {
                    // The parent takes turns for it already.
                    mask &= !(1 << priority);
                }
                feed.insert(at);
            }
            self.classes[parent].active |= mask;
            at = parent;
        }
        if self.classes[at].mode == Mode::CanSend && mask != 0 {
            let level = self.classes[at].level;
            self.levels[level].mask |= mask;
            for priority in priorities(mask) {
                self.turns(List::Row(level), priority).insert(at);
            }
        }
    }

    /// `htb_deactivate_prios`
    fn deactivate(&mut self, at: usize) {
        let mut at = at;
        let mut mask = self.classes[at].active;
        while self.classes[at].mode == Mode::MayBorrow
            && mask != 0
            && let Some(parent) = self.classes[at].parent
        {
            let from = std::mem::take(&mut mask);
            for priority in priorities(from) {
                let feed = self.turns(List::Feed(parent), priority);
                feed.forget(at);
                if feed.is_empty() {
                    mask |= 1 << priority;
                }
            }
            self.classes[parent].active &= !mask;
            at = parent;
        }
        if self.classes[at].mode == Mode::CanSend && mask != 0 {
            let level = self.classes[at].level;
            for priority in priorities(mask) {
                let row = self.turns(List::Row(level), priority);
                row.remove(at);
                if row.is_empty() {
                    self.levels[level].mask &= !(1 << priority);
                }
            }
        }
    }

    /// `htb_change_class_mode`; returns after which time the mode changes by itself.
    fn change_mode(&mut self, at: usize, passed_ns: i64, now_ns: u64) -> i64 {
        let (mode, wait_ns) = self.classes[at].mode_after(passed_ns);
        if mode == self.classes[at].mode {
            return wait_ns;
        }
        let is_active = self.classes[at].active != 0;
        if is_active && self.classes[at].mode != Mode::CannotSend {
            self.deactivate(at);
        }
        self.classes[at].enter(mode, now_ns);
        if is_active && mode != Mode::CannotSend {
            self.activate(at);
        }
        wait_ns
    }

    /// `htb_add_to_wait_tree`
    fn wait(&mut self, at: usize, wait_ns: i64, now_ns: u64) {
        let until_ns = now_ns + wait_ns.max(1).unsigned_abs();
        let class = &mut self.classes[at];
        class.waits_until_ns = until_ns;
        self.levels[class.level].waiting.insert((until_ns, at));
    }

    /// `htb_charge_class`: a packet leaves this leaf, with what a class of that level may send.
    fn charge(&mut self, leaf: usize, level: usize, bytes: u32, now_ns: u64) {
        let mut next = Some(leaf);
        while let Some(at) = next {
            let class = &mut self.classes[at];
            class.charge(level, bytes, now_ns);
            let mode_before = class.mode;
            let wait_ns = self.change_mode(at, 0, now_ns);
            let class = &self.classes[at];
            if class.mode != mode_before {
                if mode_before != Mode::CanSend {
                    let waited = (class.waits_until_ns, at);
                    self.levels[class.level].waiting.remove(&waited);
                }
                if self.classes[at].mode != Mode::CanSend {
                    self.wait(at, wait_ns, now_ns);
                }
            }
            next = self.classes[at].parent;
        }
    }

    /// `htb_do_events`: classes of a level have got tokens by now. Returns when the next will have;
    /// `u64::MAX`: none waits.
    fn handle_events(&mut self, level: usize, now_ns: u64) -> u64 {
        while let Some(&(until_ns, at)) = self.levels[level].waiting.first() {
            if until_ns > now_ns {
                return until_ns;
            }
            self.levels[level].waiting.pop_first();
            let passed_ns = self.classes[at].passed_ns(now_ns);
            let wait_ns = self.change_mode(at, passed_ns, now_ns);
            if self.classes[at].mode != Mode::CanSend {
                self.wait(at, wait_ns, now_ns);
            }
        }
        u64::MAX
    }

    /// `htb_lookup_leaf`: whose turn it is, from a row down to a leaf.
    fn lookup(&mut self, level: usize, priority: usize) -> Option<usize> {
        let mut lists = vec![List::Row(level)];
        for _ in 0..STEPS_MAX {
            let list = *lists.last()?;
            match self.turns(list, priority).current() {
                Some(class) if self.classes[class].level == 0 => return Some(class),
                Some(class) => lists.push(List::Feed(class)),
                None => {
                    self.turns(list, priority).rewind();
                    if lists.len() > 1 {
                        lists.pop();
                        let above = *lists.last()?;
                        self.turns(above, priority).advance()?;
                    } else if self.turns(list, priority).is_empty() {
                        return None;
                    }
                }
            }
        }
        None
    }

    /// `htb_dequeue_tree`: a packet of a leaf of this priority, which a class of this level lets go.
    fn take(
        &mut self,
        level: usize,
        priority: usize,
        now_ns: u64,
        losses: &mut Vec<Loss>,
    ) -> Option<(Packet, u64)> {
        loop {
            let at = self.lookup(level, priority)?;
            let class = &mut self.classes[at];
            let since_ns = class.since_ns;
            let parent = class.parent;
            let leaf = class.leaf.as_mut()?;
            let taken = leaf.take(now_ns, losses);
            if let Some(packet) = taken
                && leaf.spend(level, packet.bytes)
            {
                let list = match (level, parent) {
                    (1.., Some(parent)) => List::Feed(parent),
                    _ => List::Row(0),
                };
                self.turns(list, priority).advance();
            }
            if self.classes[at].is_empty() {
                self.deactivate(at);
                self.classes[at].active = 0;
            }
            if let Some(packet) = taken {
                self.charge(at, level, packet.bytes, now_ns);
                return Some((packet, since_ns.max(packet.arrived_ns)));
            }
            if self.levels[level].mask >> priority & 1 == 0 {
                return None;
            }
        }
    }
}

/// The priorities in a mask, the best first.
fn priorities(mask: u8) -> impl Iterator<Item = usize> {
    (0..PRIORITIES).filter(move |priority| mask >> priority & 1 == 1)
}

impl Qdisc for Htb {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, now_ns: u64, losses: &mut Vec<Loss>) {
        let at = self.leaf_of(flow);
        let class = &mut self.classes[at];
        if let Some(leaf) = &mut class.leaf {
            leaf.put(packet, flow, now_ns, losses);
        }
        if class.active == 0 && !class.is_empty() {
            class.active = 1 << class.priority;
            self.activate(at);
        }
    }

    fn dequeue(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Answer {
        let mut next_ns = u64::MAX;
        for level in 0..LEVELS {
            next_ns = next_ns.min(self.handle_events(level, now_ns));
            for priority in priorities(self.levels[level].mask) {
                if let Some((packet, eligible_ns)) = self.take(level, priority, now_ns, losses) {
                    return Answer::Packet {
                        packet,
                        eligible_ns,
                    };
                }
            }
        }
        match next_ns {
            u64::MAX => Answer::Empty,
            until_ns => Answer::Wait { until_ns },
        }
    }
}
