//! Everything at once: plans of all sorts that replace each other under load, tenants that come
//! and go, classes that move, flows that change their class. No packet is lost, none overtakes
//! another of its flow, no entity is forgotten, and the wire is never idle while an entity is
//! eligible.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use takt_algo::{
    Dequeued, Link,
    sys::{self, takt_arrival, takt_class_params, takt_plan},
};

use super::plan;

/// Classes 1 to 10, tenants 11 to 14 and, once more, 15 to 18 with their nodes.
const CLASSES: u32 = 10;
const TENANTS: u32 = 8;
const FLOWS: usize = 12;

#[derive(Debug, Clone)]
struct Policy {
    rate_bps: u64,
    classes: Vec<Option<(takt_class_params, u8)>>,
    tenants: Vec<Option<takt_class_params>>,
    /// The class of each flow.
    flows: Vec<u32>,
}

impl Policy {
    fn plan(&self, generation: u64) -> Box<takt_plan> {
        let mut plan = plan::link(self.rate_bps);
        plan.generation = generation;
        for id in 1..=CLASSES + TENANTS {
            plan.class_params[id as usize] = plan::leaving();
        }
        for (n, params) in (0..).zip(&self.tenants) {
            // Two tenants take turns at a node.
            let node = 1 + (n % 4) as u8;
            if let Some(params) = params
                && plan.tenant[usize::from(node)] == 0
            {
                plan::tenant(&mut plan, CLASSES + 1 + n, node, *params, &[]);
            }
        }
        for (id, class) in (1usize..).zip(&self.classes) {
            if let Some((params, node)) = class {
                let node = if plan.tenant[usize::from(*node)] == 0 {
                    0
                } else {
                    *node
                };
                plan.class_params[id] = takt_class_params { node, ..*params };
            }
        }
        plan
    }
}

fn rate_bps() -> impl Strategy<Value = u64> {
    prop_oneof![100_000..1_000_000u64, 1_000_000..100_000_000u64]
}

fn params() -> impl Strategy<Value = takt_class_params> {
    let weight_bps = prop_oneof![1_000..100_000u64, 1_000_000..400_000_000_000u64];
    let kind = prop_oneof![
        3 => rate_bps().prop_map(|rate| (rate, rate)),
        3 => (rate_bps(), 1..10u64).prop_map(|(rate, times)| (rate, rate * times)),
        2 => rate_bps().prop_map(|rate| (rate, 0)),
        2 => rate_bps().prop_map(|ceil| (0, ceil)),
        3 => Just((0, 0)),
    ];
    let floor_bps = prop_oneof![3 => Just(0), 1 => rate_bps()];
    (
        kind,
        weight_bps,
        floor_bps,
        0..8u8,
        prop_oneof![1 => 1..5u16, 4 => Just(50u16)],
        prop_oneof![3 => Just(0u8), 1 => Just(1u8)],
    )
        .prop_map(
            |((rate_bps, ceil_bps), weight_bps, floor_bps, priority, queue_packets, gated)| {
                takt_class_params {
                    rate_bps,
                    ceil_bps,
                    weight_bps,
                    floor_bps,
                    priority,
                    queue_packets,
                    gated,
                    ..takt_class_params::default()
                }
            },
        )
}

fn policy() -> impl Strategy<Value = Policy> {
    (
        prop_oneof![1_000_000..1_000_000_000u64],
        prop::collection::vec(
            prop::option::weighted(0.8, (params(), 0..5u8)),
            CLASSES as usize,
        ),
        prop::collection::vec(prop::option::weighted(0.5, params()), TENANTS as usize),
        prop::collection::vec(1..=CLASSES, FLOWS),
    )
        .prop_map(|(rate_bps, classes, tenants, flows)| Policy {
            rate_bps,
            classes,
            tenants,
            flows,
        })
}

#[derive(Debug, Clone)]
enum Step {
    Enqueue {
        flow: usize,
        bytes: u32,
        task_prio: u32,
    },
    Dequeue {
        times: u32,
    },
    /// This many times until the next event, this late.
    Wake {
        times: u32,
        late_ns: u64,
    },
    Pass {
        ns: u64,
    },
    /// The CPU switches to a task of this priority.
    Run {
        task_prio: u32,
    },
    Replace(Policy),
    Flush,
}

fn task_prio() -> impl Strategy<Value = u32> {
    prop_oneof![
        Just(sys::TAKT_TASK_UNKNOWN),
        Just(sys::TAKT_CPU_IDLE),
        120..125u32
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        24 => (0..FLOWS, prop_oneof![4 => 60..1600u32, 1 => 1600..65_000u32], task_prio())
            .prop_map(|(flow, bytes, task_prio)| Step::Enqueue { flow, bytes, task_prio }),
        6 => (1..4u32).prop_map(|times| Step::Dequeue { times }),
        6 => (1..20u32, prop_oneof![2 => Just(0u64), 1 => 0..20_000_000u64])
            .prop_map(|(times, late_ns)| Step::Wake { times, late_ns }),
        3 => prop_oneof![0..1_000_000u64, 0..3_000_000_000u64].prop_map(|ns| Step::Pass { ns }),
        4 => task_prio().prop_map(|task_prio| Step::Run { task_prio }),
        3 => policy().prop_map(Step::Replace),
        1 => prop_oneof![9 => Just(Step::Dequeue { times: 1 }), 1 => Just(Step::Flush)],
    ]
}

struct Run {
    link: Link,
    plan: Box<takt_plan>,
    policy: Policy,
    old_policy: Policy,
    now_ns: u64,
    /// By slot: the packet's flow, number, and entity.
    slots: BTreeMap<u32, (usize, u64, u32)>,
    /// By flow: the numbers of its packets in order of arrival.
    flows: Vec<VecDeque<u64>>,
    number: u64,
    flushed: u64,
    offered: Vec<u64>,
}

impl Run {
    fn new(policy: Policy) -> Self {
        Self {
            link: Link::new(),
            plan: policy.plan(1),
            old_policy: policy.clone(),
            policy,
            now_ns: 1 << 40,
            slots: BTreeMap::new(),
            flows: vec![VecDeque::new(); FLOWS],
            number: 0,
            flushed: 0,
            offered: vec![0; (1 + CLASSES) as usize],
        }
    }

    /// As the qdisc does: packets of the previous plan are waited for.
    fn enqueue(&mut self, flow: usize, bytes: u32, task_prio: u32) {
        let id = self.policy.flows[flow];
        let before = if self.old_are_queued() {
            self.old_policy.flows[flow]
        } else {
            0
        };
        self.offered[id as usize] += 1;
        let arrival = takt_arrival {
            id,
            before,
            bytes,
            frames: 1,
            task_prio,
            now_ns: self.now_ns,
            ..takt_arrival::default()
        };
        let slot = self.link.enqueue_of(&self.plan, arrival);
        if let Some(slot) = slot {
            self.number += 1;
            let packet = (flow, self.number, id);
            assert!(
                self.slots.insert(slot, packet).is_none(),
                "slot {slot} is taken"
            );
            self.flows[flow].push_back(self.number);
        }
    }

    fn old_are_queued(&self) -> bool {
        let link = self.link.state();
        link.queued_packets > 0
            && (link.old_packets > 0 || link.plan_generation != self.plan.generation as u32)
    }

    /// Replaces the plan, unless packets of the one before the last still wait.
    fn replace(&mut self, policy: Policy) {
        if self.old_are_queued() {
            return;
        }
        self.plan = policy.plan(self.plan.generation + 1);
        self.old_policy = std::mem::replace(&mut self.policy, policy);
    }

    fn dequeue(&mut self) -> Dequeued {
        let mut looks = 0;
        let answer = loop {
            match self.link.dequeue(&self.plan, self.now_ns) {
                Dequeued::Wait { until_ns } if until_ns <= self.now_ns => {
                    looks += 1;
                    assert!(looks < 1000, "asked for ever at {}", self.now_ns);
                }
                answer => break answer,
            }
        };
        match answer {
            Dequeued::Packet { slot, class, .. } => {
                let (flow, number, id) = self.slots.remove(&slot).expect("a packet there");
                assert_eq!(id, class);
                assert_eq!(self.flows[flow].pop_front(), Some(number), "flow {flow}");
            }
            Dequeued::Wait { until_ns } => {
                assert!(!self.slots.is_empty());
                if self.link.free_ns() <= self.now_ns
                    && let Some(id) = self.eligible()
                {
                    panic!("{answer:?} at {}, and {}", self.now_ns, self.show(id));
                }
                // A frame of 65 kB at 100 kbit/s, and of others before it.
                assert!(until_ns - self.now_ns < 60_000_000_000, "{answer:?}");
            }
            Dequeued::Empty => assert!(self.slots.is_empty(), "{} forgotten", self.slots.len()),
        }
        answer
    }

    /// A backlogged class with no ceiling and no other packet to wait for.
    fn eligible(&self) -> Option<u32> {
        let link = self.link.state();
        if link.plan_hand < sys::TAKT_ENTITIES {
            return None;
        }
        let unlimited = |id: u32| {
            let params = &self.plan.class_params[id as usize];
            let entity = self.link.entity(id);
            let (running, sender) = (link.order.blocked.running, u32::from(entity.task_prio));
            let open = params.gated == 0 || running == 0 || sender == 0 || running >= sender;
            params.ceil_bps == 0 && entity.ready_ns <= self.now_ns && open
        };
        (1..=CLASSES).find(|&id| {
            let entity = self.link.entity(id);
            let node = self.plan.class_params[id as usize].node;
            let tenant = u32::from(self.plan.tenant[usize::from(node)]);
            entity.queue.packets > 0
                && unlimited(id)
                && (node == 0 || self.plan.class_params[tenant as usize].ceil_bps == 0)
        })
    }

    fn show(&self, id: u32) -> String {
        let entity = self.link.entity(id);
        let tenant = u32::from(self.plan.tenant[usize::from(entity.node)]);
        let show = |id: u32| {
            let mut entity = self.link.entity(id);
            entity.stats = Default::default();
            format!("{id}: {entity:?} {:?}", self.plan.class_params[id as usize])
        };
        format!("{} of {}", show(id), show(tenant))
    }

    fn check(&self) {
        let mut queued = 0;
        for id in 1..=CLASSES {
            let entity = self.link.entity(id);
            let (queue, stats) = (&entity.queue, &entity.stats);
            queued += queue.packets;
            assert_eq!(
                stats.enqueued_packets,
                stats.sent_packets + stats.flushed_packets + u64::from(queue.packets)
            );
            assert_eq!(
                stats.enqueued_bytes,
                stats.sent_bytes + stats.flushed_bytes + queue.bytes
            );
            assert_eq!(
                self.offered[id as usize],
                stats.enqueued_packets + stats.dropped_packets
            );
            if queue.packets > 0 {
                assert_ne!(entity.waits, 0, "class {id} has packets and waits nowhere");
            }
        }
        assert_eq!(queued, self.link.state().queued_packets);
        assert_eq!(self.slots.len(), self.link.queued_packets() as usize);

        // Tenants: everything that was sent for them.
        let link = self.link.state();
        for (node, state) in link.order.node.iter().enumerate() {
            let timed: u32 = state.timed.iter().map(|calendar| calendar.count).sum();
            let share: u32 = state.share.iter().map(|calendar| calendar.count).sum();
            let (floors, ready) = (state.floors.count, state.ready.count);
            assert!(
                timed + share + floors + ready >= state.backlogged,
                "node {node}"
            );
            assert!(floors <= state.backlogged);
        }
    }

    fn flush(&mut self) {
        self.flushed += u64::from(self.link.flush());
        self.slots.clear();
        for flow in &mut self.flows {
            flow.clear();
        }
        assert_eq!(self.link.dequeue(&self.plan, self.now_ns), Dequeued::Empty);
    }

    /// Runs to the end; a plan that stays lets every packet go.
    fn drain(&mut self) {
        self.link.run_task(sys::TAKT_CPU_IDLE);
        for _ in 0..100_000 {
            match self.dequeue() {
                Dequeued::Empty => return,
                Dequeued::Wait { until_ns } => self.now_ns = until_ns,
                Dequeued::Packet { .. } => {}
            }
            self.check();
        }
        panic!("{} packets are never sent", self.slots.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn nothing_is_lost_stuck_or_out_of_order(
        first in policy(),
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let mut run = Run::new(first);
        for step in steps {
            match step {
                Step::Enqueue { flow, bytes, task_prio } => run.enqueue(flow, bytes, task_prio),
                Step::Dequeue { times } => {
                    for _ in 0..times {
                        run.dequeue();
                    }
                }
                Step::Wake { times, late_ns } => {
                    for _ in 0..times {
                        if let Dequeued::Wait { until_ns } = run.dequeue() {
                            run.now_ns = until_ns + late_ns;
                        }
                    }
                }
                Step::Pass { ns } => run.now_ns += ns,
                Step::Run { task_prio } => run.link.run_task(task_prio),
                Step::Replace(policy) => run.replace(policy),
                Step::Flush => run.flush(),
            }
            run.check();
        }
        run.drain();
    }
}
