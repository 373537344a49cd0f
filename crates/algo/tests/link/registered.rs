//! Flows that are registered as background, and unregistered, while they send: none of their
//! packets overtakes another, and no packet waits for blocked ones.

use std::collections::{HashMap, VecDeque};

use proptest::prelude::*;
use takt_algo::{
    Dequeued, Link,
    sys::{TAKT_PULLS, takt_plan},
};

use super::plan::{self, MBIT};

const FOREGROUND: u32 = 1;
const BACKGROUND: u32 = 2;

/// A registration, as the qdisc finds it.
#[derive(Debug, Clone, Copy, Default)]
struct Registration {
    changed_ns: u64,
    on: bool,
}

struct Sender {
    link: Link,
    plan: Box<takt_plan>,
    now_ns: u64,
    flows: [Registration; 4],
    changes: u64,
    sent: u64,
    /// Each flow's packets in the link, oldest first.
    under_way: [VecDeque<u64>; 4],
    slots: HashMap<u32, (usize, u64)>,
}

impl Sender {
    fn new(plan: Box<takt_plan>) -> Self {
        Self {
            link: Link::new(),
            plan,
            now_ns: 1_000_000_000,
            flows: Default::default(),
            changes: 0,
            sent: 0,
            under_way: Default::default(),
            slots: HashMap::new(),
        }
    }

    fn switch(&mut self, flow: usize) {
        self.changes += 1;
        self.flows[flow] = Registration {
            changed_ns: self.changes,
            on: !self.flows[flow].on,
        };
    }

    /// As `bpf/link` does.
    fn send(&mut self, flow: usize) {
        let Registration { changed_ns, on } = self.flows[flow];
        let (to, other) = if on {
            (BACKGROUND, FOREGROUND)
        } else {
            (FOREGROUND, BACKGROUND | TAKT_PULLS)
        };
        let moved = self.link.meet(&self.plan, changed_ns);
        let before = if moved { other } else { 0 };
        let slot = self
            .link
            .enqueue_behind(&self.plan, to, before, 1500, 1, self.now_ns);
        if let Some(slot) = slot {
            self.sent += 1;
            self.under_way[flow].push_back(self.sent);
            self.slots.insert(slot, (flow, self.sent));
        }
    }

    /// The flow whose packet left, or when to ask again.
    fn dequeue(&mut self) -> Result<usize, Option<u64>> {
        loop {
            match self.link.dequeue(&self.plan, self.now_ns) {
                Dequeued::Wait { until_ns } if until_ns <= self.now_ns => {}
                Dequeued::Wait { until_ns } => return Err(Some(until_ns)),
                Dequeued::Empty => return Err(None),
                Dequeued::Packet { slot, .. } => {
                    let (flow, number) = self.slots.remove(&slot).unwrap();
                    assert_eq!(self.under_way[flow].pop_front(), Some(number));
                    return Ok(flow);
                }
            }
        }
    }

    /// Runs until nothing is queued; returns the time it takes.
    fn drain(&mut self) -> u64 {
        let began_ns = self.now_ns;
        loop {
            match self.dequeue() {
                Ok(_) => {}
                Err(Some(until_ns)) => self.now_ns = until_ns,
                Err(None) => break,
            }
        }
        assert!(self.under_way.iter().all(VecDeque::is_empty));
        for class in [FOREGROUND, BACKGROUND] {
            let stats = self.link.entity(class).stats;
            assert_eq!(stats.enqueued_packets, stats.sent_packets);
        }
        self.now_ns - began_ns
    }
}

/// Background is delayed by a pace of a packet in twelve seconds.
fn held() -> Box<takt_plan> {
    plan::of(
        10 * MBIT,
        &[plan::best_effort(MBIT, 6), plan::class(1000, 7)],
    )
}

fn open() -> Box<takt_plan> {
    plan::of(
        10 * MBIT,
        &[plan::class(4 * MBIT, 3), plan::best_effort(MBIT, 7)],
    )
}

#[test]
fn an_unregistered_flow_does_not_wait_for_delayed_packets() {
    let mut sender = Sender::new(held());
    sender.switch(0);
    for _ in 0..10 {
        sender.send(0);
    }
    sender.switch(0);
    for _ in 0..10 {
        sender.send(0);
        sender.send(1);
    }
    // 30 packets of 1.2 ms, and nothing of a delayed packet's twelve seconds.
    assert!(sender.drain() <= 36_000_000);
}

#[test]
fn other_flows_leave_delayed_packets_in_place() {
    let mut sender = Sender::new(held());
    sender.switch(0);
    for _ in 0..10 {
        sender.send(0);
    }
    // Another flow is registered, and unregistered, meanwhile.
    sender.switch(1);
    sender.switch(1);
    sender.send(2);
    sender.send(0);
    let left: Vec<_> = std::iter::from_fn(|| {
        sender.now_ns += 2_000_000;
        sender.dequeue().ok()
    })
    .collect();
    // The first took the fast path, and each class starts with one.
    assert_eq!(left, [0, 2]);
}

#[test]
fn a_registered_flow_keeps_its_order() {
    let mut sender = Sender::new(open());
    for _ in 0..10 {
        sender.send(0);
    }
    sender.switch(0);
    sender.send(0);
    sender.drain();
    assert_eq!(sender.link.entity(BACKGROUND).stats.sent_packets, 1);
}

#[derive(Debug, Clone)]
enum Step {
    Switch(usize),
    Send(usize),
    Dequeue,
    Pass { ns: u64 },
    Replace { is_held: bool },
    Flush,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..4usize).prop_map(Step::Switch),
        10 => (0..4usize).prop_map(Step::Send),
        6 => Just(Step::Dequeue),
        4 => (0..5_000_000u64).prop_map(|ns| Step::Pass { ns }),
        1 => any::<bool>().prop_map(|is_held| Step::Replace { is_held }),
        1 => Just(Step::Flush),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_flow_keeps_its_order(steps in prop::collection::vec(step(), 1..300)) {
        let mut sender = Sender::new(open());
        for step in steps {
            match step {
                Step::Switch(flow) => sender.switch(flow),
                Step::Send(flow) => sender.send(flow),
                Step::Dequeue => drop(sender.dequeue()),
                Step::Pass { ns } => sender.now_ns += ns,
                Step::Replace { is_held } => {
                    let generation = sender.plan.generation + 1;
                    sender.plan = if is_held { held() } else { open() };
                    sender.plan.generation = generation;
                }
                Step::Flush => {
                    sender.link.flush();
                    sender.slots.clear();
                    sender.under_way = Default::default();
                }
            }
        }
        for class in [FOREGROUND, BACKGROUND] {
            let (stats, queue) = {
                let entity = sender.link.entity(class);
                (entity.stats, entity.queue)
            };
            let out = stats.sent_packets + stats.flushed_packets + u64::from(queue.packets);
            prop_assert_eq!(stats.enqueued_packets, out);
        }
        sender.plan = open();
        sender.plan.generation = u64::from(u32::MAX);
        while sender.link.queued_packets() > 0 {
            match sender.dequeue() {
                Err(Some(until_ns)) => sender.now_ns = until_ns,
                Err(None) => prop_assert!(false, "stuck"),
                Ok(_) => {}
            }
        }
    }
}
