//! Flows that take turns in a class: equal shares, those that send little first, and nothing lost
//! whatever the plan does.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use takt_algo::{
    sys::{
        self, TAKT_PER_FLOW_CLOCKS, TAKT_PER_FLOW_NOTHING, TAKT_PER_FLOW_QUEUE, takt_arrival,
        takt_choice, takt_class_params, takt_link, takt_newcomer, takt_plan,
    },
    zeroed_box,
};

const MBIT: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;
const FRAME: u32 = 1500;

struct Turns {
    link: Box<takt_link>,
    plan: Box<takt_plan>,
    now_ns: u64,
    fast: Option<u64>,
    /// By packet slot: the flow and the number of the packet.
    store: BTreeMap<u32, (u64, u32)>,
    numbers: BTreeMap<u64, u32>,
    /// The number of a flow's host; without it, no flow has one.
    host_of: Option<fn(u64) -> u64>,
}

impl Turns {
    /// A link of 10 Mbit/s whose class 1 lets flows take turns, without CoDel.
    fn new() -> Self {
        let mut link = zeroed_box::<takt_link>();
        // SAFETY: a valid struct, all zeroes.
        unsafe { sys::takt_link_lay_out(&mut *link) };
        let mut plan = zeroed_box::<takt_plan>();
        plan.generation = 1;
        plan.link.rate_bps = 10 * MBIT;
        plan.link.lag_max_ns = 10_000_000;
        for class in 1..3 {
            plan.class_params[class] = takt_class_params {
                weight_bps: MBIT,
                queue_packets: 1000,
                per_flow: TAKT_PER_FLOW_QUEUE as u8,
                ..takt_class_params::default()
            };
        }
        Self {
            link,
            plan,
            now_ns: NS_PER_S,
            fast: None,
            store: BTreeMap::new(),
            numbers: BTreeMap::new(),
            host_of: None,
        }
    }

    fn entity(&mut self, flow: u64, class: u32) -> u32 {
        if self.plan.class_params[class as usize].per_flow == 0 {
            return class;
        }
        let newcomer = takt_newcomer {
            identity: flow,
            generation: self.link.generation,
            host: self.host_of.map_or(0, |host_of| host_of(flow)),
            ..takt_newcomer::default()
        };
        // SAFETY: valid structs; every index in algo/ is masked.
        unsafe {
            let id = sys::takt_flow_find(&mut self.link.flows, flow);
            if id != 0 {
                sys::takt_link_follow(&mut *self.link, &*self.plan, id, class, self.now_ns);
                (*sys::takt_flow(&mut self.link.flows, id)).host = newcomer.host;
                return id;
            }
            sys::takt_flow_add(
                &mut self.link.flows,
                &mut self.link.order,
                &newcomer,
                class,
                self.now_ns,
            )
        }
    }

    /// Returns whether the packet was accepted.
    fn send(&mut self, flow: u64, class: u32, bytes: u32) -> bool {
        let arrival = takt_arrival {
            id: self.entity(flow, class),
            bytes,
            frames: 1,
            idle: u32::from(self.link.queued_packets == 0 && self.fast.is_none()),
            now_ns: self.now_ns,
            ..takt_arrival::default()
        };
        // SAFETY: as above.
        let slot = unsafe { sys::takt_link_push(&mut *self.link, &*self.plan, &arrival) };
        let number = self.numbers.entry(flow).or_default();
        match slot {
            0 => return false,
            sys::TAKT_FAST_PATH => self.fast = Some(flow),
            _ => assert!(self.store.insert(slot, (flow, *number)).is_none()),
        }
        *number += 1;
        true
    }

    /// The next packet's flow and number, and whether it was dropped.
    fn next(&mut self) -> Option<(u64, bool)> {
        if let Some(flow) = self.fast.take() {
            return Some((flow, false));
        }
        // After a change of plan it asks again until all entities are where that puts them.
        for _ in 0..10_000 {
            let mut choice = takt_choice::default();
            // SAFETY: as above.
            unsafe { sys::takt_link_pop(&mut *self.link, &*self.plan, self.now_ns, &mut choice) };
            if choice.packet != 0 {
                let (flow, _) = self.store.remove(&choice.packet).unwrap();
                return Some((flow, choice.drops != 0));
            }
            if choice.wake_ns == u64::MAX {
                return None;
            }
            self.now_ns = self.now_ns.max(choice.wake_ns);
        }
        panic!("no answer has a packet");
    }
}

#[test]
fn backlogged_flows_share_equally_by_bytes() {
    let mut turns = Turns::new();
    for _ in 0..200 {
        turns.send(1, 1, FRAME);
        for _ in 0..3 {
            turns.send(2, 1, 500);
        }
    }
    let mut bytes = BTreeMap::<u64, u32>::new();
    for _ in 0..300 {
        let (flow, _) = turns.next().unwrap();
        *bytes.entry(flow).or_default() += if flow == 1 { FRAME } else { 500 };
    }
    assert!(bytes[&1].abs_diff(bytes[&2]) <= 2 * FRAME, "{bytes:?}");
}

#[test]
fn a_flow_that_sends_little_goes_first() {
    let mut turns = Turns::new();
    for _ in 0..100 {
        for flow in 1..9 {
            turns.send(flow, 1, FRAME);
        }
    }
    for _ in 0..20 {
        turns.next();
    }
    for _ in 0..5 {
        turns.send(99, 1, 100);
        assert_eq!(turns.next(), Some((99, false)));
        for _ in 0..20 {
            assert_ne!(turns.next().unwrap().0, 99);
        }
    }
}

#[test]
fn a_sender_of_single_packets_is_no_newcomer_each_time() {
    let mut turns = Turns::new();
    for _ in 0..200 {
        turns.send(1, 1, FRAME);
    }
    let mut sent = [0; 2];
    for _ in 0..200 {
        // As soon as its packet has left, it sends the next.
        if turns.store.values().all(|(flow, _)| *flow != 2) {
            turns.send(2, 1, FRAME);
        }
        let (flow, _) = turns.next().unwrap();
        sent[flow as usize - 1] += 1;
        if sent[0] == 100 {
            break;
        }
    }
    assert!(sent[1] <= 102, "{sent:?}");
}

/// Acknowledgements come one by one. While they are less than a quantum a round, none waits for data.
#[test]
fn one_that_sends_little_for_long_goes_first_each_time() {
    let mut turns = Turns::new();
    for _ in 0..150 {
        for flow in 1..5 {
            turns.send(flow, 1, FRAME);
        }
    }
    // All are new at first.
    for _ in 0..20 {
        turns.next();
    }
    for number in 0..500 {
        turns.send(99, 1, 66);
        assert_eq!(turns.next(), Some((99, false)), "packet {number}");
        turns.next();
    }
}

/// It has a quantum a round, when it asks for it, and no more.
#[test]
fn what_goes_first_is_a_quantum_a_round() {
    let mut turns = Turns::new();
    for _ in 0..300 {
        for flow in 1..5 {
            turns.send(flow, 1, FRAME);
        }
    }
    let mut bytes = [0_u32; 2];
    for _ in 0..1200 {
        // As soon as its packet has left, it sends the next.
        if turns.store.values().all(|(flow, _)| *flow != 99) {
            turns.send(99, 1, 500);
        }
        match turns.next().unwrap().0 {
            99 => bytes[1] += 500,
            1 => bytes[0] += FRAME,
            _ => {}
        }
    }
    assert!(bytes[0].abs_diff(bytes[1]) <= 4 * FRAME, "{bytes:?}");
}

/// Stations whose queue holds one acknowledgement at a time, since others were thinned, go behind
/// one that waits.
#[test]
fn one_that_waits_has_its_turn_among_many_that_empty_their_queues() {
    let mut turns = Turns::new();
    for _ in 0..200 {
        turns.send(10, 1, FRAME);
    }
    let mut sent = [0_u32; 10];
    for _ in 0..1000 {
        for flow in 1..10 {
            if turns.store.values().all(|(queued, _)| *queued != flow) {
                turns.send(flow, 1, FRAME);
            }
        }
        let (flow, _) = turns.next().unwrap();
        sent[flow as usize - 1] += 1;
    }
    assert!(sent.iter().all(|sent| sent.abs_diff(100) <= 3), "{sent:?}");
}

#[test]
fn one_flow_does_not_take_the_whole_limit() {
    let mut turns = Turns::new();
    while turns.send(1, 1, FRAME) {}
    assert!(
        (600..700).contains(&turns.store.len()),
        "{}",
        turns.store.len()
    );
    assert!(turns.send(2, 1, FRAME));
}

#[test]
fn frames_of_many_quanta_leave_too() {
    let mut turns = Turns::new();
    for _ in 0..10 {
        turns.send(1, 1, 64_000);
        turns.send(2, 1, 64_000);
    }
    for _ in 0..20 {
        turns.next().unwrap();
    }
    assert_eq!(turns.next(), None);
}

#[test]
fn a_standing_queue_is_dropped_from_and_a_local_sender_spared() {
    for (spares_local, local) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let mut turns = Turns::new();
        let params = &mut turns.plan.class_params[1];
        (params.target_ns, params.interval_ns) = (5_000_000, 100_000_000);
        params.spares_local = spares_local;
        let id = turns.entity(1, 1);
        let mut dropped = 0;
        for _ in 0..400 {
            let arrival = takt_arrival {
                id,
                bytes: FRAME,
                frames: 1,
                local,
                now_ns: turns.now_ns,
                ..takt_arrival::default()
            };
            // SAFETY: as above.
            let slot = unsafe { sys::takt_link_push(&mut *turns.link, &*turns.plan, &arrival) };
            turns.store.insert(slot, (1, 0));
        }
        while let Some((_, was_dropped)) = turns.next() {
            dropped += u32::from(was_dropped);
        }
        let stats = &turns.link.order.entity[id as usize].stats;
        assert_eq!(stats.managed_packets, u64::from(dropped));
        assert_eq!(stats.sent_packets + stats.managed_packets, 400);
        assert_eq!(dropped == 0, spares_local == 1 && local == 1);
    }
}

/// Flows 100 to 199 are the first host's, 200 to 299 the second's.
fn by_hundreds(flow: u64) -> u64 {
    flow / 100
}

impl Turns {
    fn with_hosts() -> Self {
        Self {
            host_of: Some(by_hundreds),
            ..Self::new()
        }
    }

    /// Every flow of a list counts for its host, and no host is kept without a reason.
    fn assert_hosts_are_consistent(&self) {
        let mut flows = BTreeMap::<u16, u32>::new();
        for entity in self
            .link
            .order
            .entity
            .iter()
            .filter(|entity| entity.turn.host != 0)
        {
            assert_ne!(entity.turn.class_id, 0);
            *flows.entry(entity.turn.host).or_default() += 1;
        }
        for (at, host) in self.link.order.hosts.host.iter().enumerate() {
            let id = sys::TAKT_ENTITIES as u16 + at as u16;
            let listed = host.turn.class_id != 0;
            assert_eq!(host.identity != 0, host.flows != 0 || listed, "host {at}");
            if host.identity != 0 {
                assert_eq!(host.flows, flows.remove(&id).unwrap_or(0), "host {at}");
            }
        }
        assert!(flows.is_empty(), "{flows:?}");
    }
}

#[test]
fn hosts_share_equally_however_many_flows_each_has() {
    let mut turns = Turns::with_hosts();
    for _ in 0..20 {
        for flow in 100..132 {
            turns.send(flow, 1, FRAME);
        }
        for _ in 0..8 {
            turns.send(200, 1, FRAME);
        }
    }
    let mut packets = [0_u32; 2];
    let mut of_flow = BTreeMap::<u64, u32>::new();
    for _ in 0..300 {
        let (flow, _) = turns.next().unwrap();
        packets[flow as usize / 100 - 1] += 1;
        *of_flow.entry(flow).or_default() += 1;
    }
    assert!(packets[0].abs_diff(packets[1]) <= 33, "{packets:?}");
    let of_first = of_flow.range(..200).map(|(_, packets)| *packets);
    assert!(
        of_first.clone().max().unwrap() - of_first.min().unwrap() <= 2,
        "{of_flow:?}"
    );
    turns.assert_hosts_are_consistent();
}

/// Each of its flows sends one packet and is new: that is no way around the share.
#[test]
fn many_short_flows_give_a_host_no_more() {
    let mut turns = Turns::with_hosts();
    for _ in 0..300 {
        turns.send(200, 1, FRAME);
    }
    let mut sent = [0_u32; 2];
    for next in 0..400_u64 {
        turns.send(100 + next % 90, 1, FRAME);
        let (flow, _) = turns.next().unwrap();
        sent[flow as usize / 100 - 1] += 1;
    }
    assert!(sent[0].abs_diff(sent[1]) <= 4, "{sent:?}");
}

#[test]
fn a_flow_that_sends_little_waits_for_no_flow_of_its_own_host() {
    let mut turns = Turns::with_hosts();
    for _ in 0..100 {
        for flow in 100..108 {
            turns.send(flow, 1, FRAME);
        }
        turns.send(200, 1, FRAME);
    }
    for _ in 0..60 {
        turns.next();
    }
    for _ in 0..5 {
        turns.send(199, 1, 100);
        let before = (0..4).position(|_| turns.next().unwrap().0 == 199);
        assert!(before.is_some(), "it waits for more than the other host");
        for _ in 0..20 {
            assert_ne!(turns.next().unwrap().0, 199);
        }
    }
}

/// The host's data has cost it its turn, and another host's packets wait as well.
#[test]
fn short_packets_of_a_host_that_owes_bytes_go_first() {
    let mut turns = Turns::with_hosts();
    for _ in 0..100 {
        for flow in [100, 101, 200, 201] {
            turns.send(flow, 1, FRAME);
        }
    }
    for _ in 0..30 {
        turns.next();
    }
    let mut bytes = [0_u32; 2];
    for number in 0..200 {
        turns.send(199, 1, 66);
        let (flow, _) = turns.next().unwrap();
        assert_eq!(flow, 199, "packet {number}");
        bytes[0] += 66;
        bytes[turns.next().unwrap().0 as usize / 100 - 1] += FRAME;
    }
    // They count all the same.
    assert!(bytes[0].abs_diff(bytes[1]) <= 3 * FRAME, "{bytes:?}");
}

#[test]
fn hosts_share_by_bytes_where_packets_are_of_many_quanta() {
    let mut turns = Turns::with_hosts();
    turns.plan.class_params[1].queue_packets = u16::MAX;
    for _ in 0..50 {
        turns.send(100, 1, 60_000);
    }
    for _ in 0..2000 {
        turns.send(200, 1, FRAME);
    }
    let mut bytes = [0_u32; 2];
    while bytes[0] < 2_400_000 {
        let (flow, _) = turns.next().unwrap();
        bytes[flow as usize / 100 - 1] += if flow == 100 { 60_000 } else { FRAME };
    }
    // The first leaves on the fast path, the last before it is paid for.
    assert!(bytes[0].abs_diff(bytes[1]) <= 2 * 62_000, "{bytes:?}");
}

#[test]
fn more_hosts_than_the_table_holds_share_as_flows() {
    let mut turns = Turns {
        host_of: Some(|flow| flow),
        ..Turns::new()
    };
    turns.plan.class_params[1].queue_packets = u16::MAX;
    for flow in 1..5000 {
        assert!(turns.send(flow, 1, 500));
    }
    turns.assert_hosts_are_consistent();
    let mut flows = std::collections::BTreeSet::new();
    for _ in 1..5000 {
        assert!(flows.insert(turns.next().unwrap().0));
    }
    turns.assert_hosts_are_consistent();
}

/// What a download drops has come by the line: with it the line has no more than its rate, and a host
/// that makes others' packets wait pays for its own that are dropped.
#[test]
fn what_is_dropped_of_a_download_has_used_the_line() {
    for incoming in [0, 1] {
        let mut turns = Turns::with_hosts();
        turns.plan.incoming = incoming;
        let params = &mut turns.plan.class_params[1];
        (params.target_ns, params.interval_ns) = (5_000_000, 20_000_000);
        let begin_ns = turns.now_ns;
        for _ in 0..300 {
            turns.send(100, 1, FRAME);
        }
        let (mut sent, mut dropped) = (0_u64, 0_u64);
        while let Some((_, was_dropped)) = turns.next() {
            *if was_dropped { &mut dropped } else { &mut sent } += 1;
        }
        assert!(dropped > 10, "{dropped}");
        let counted = if incoming == 1 { sent + dropped } else { sent };
        let frame_ns = u64::from(FRAME) * 8 * NS_PER_S / (10 * MBIT);
        let took = (turns.now_ns - begin_ns) / frame_ns;
        assert!(
            took.abs_diff(counted) <= 2,
            "{took} frames' time for {sent} and {dropped}"
        );
    }
}

#[derive(Debug, Clone)]
enum Step {
    Send {
        flow: u64,
        class: u32,
        bytes: u32,
    },
    Next,
    Plan {
        class: usize,
        per_flow: u32,
        target: bool,
        hosts: bool,
    },
    Flush,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (1..6u64, 1..3u32, 60..3000u32)
            .prop_map(|(flow, class, bytes)| Step::Send { flow, class, bytes }),
        6 => Just(Step::Next),
        1 => (1..3usize, TAKT_PER_FLOW_NOTHING..=TAKT_PER_FLOW_QUEUE, any::<bool>(), any::<bool>())
            .prop_map(|(class, per_flow, target, hosts)| Step::Plan { class, per_flow, target, hosts }),
        1 => Just(Step::Flush),
    ];
    proptest::collection::vec(step, 1..400)
}

proptest! {
    #[test]
    fn every_accepted_packet_leaves_once(steps in steps()) {
        let mut turns = Turns::new();
        let mut within = BTreeMap::<u64, VecDeque<()>>::new();
        for step in steps {
            match step {
                Step::Send { flow, class, bytes } => {
                    if turns.send(flow, class, bytes) {
                        within.entry(flow).or_default().push_back(());
                    }
                }
                Step::Next => {
                    if let Some((flow, _)) = turns.next() {
                        prop_assert!(within.get_mut(&flow).unwrap().pop_front().is_some());
                    }
                }
                Step::Plan { class, per_flow, target, hosts } => {
                    turns.plan.generation += 1;
                    turns.host_of = hosts.then_some(|flow| 1 + flow % 3);
                    let params = &mut turns.plan.class_params[class];
                    params.per_flow = per_flow as u8;
                    params.target_ns = if target { 1_000_000 } else { 0 };
                    params.interval_ns = 2_000_000;
                    let paced = per_flow == TAKT_PER_FLOW_CLOCKS;
                    params.rate_bps = if paced { MBIT } else { 0 };
                    params.ceil_bps = params.rate_bps;
                }
                Step::Flush => {
                    turns.fast = None;
                    while turns.link.queued_packets > 0 {
                        // SAFETY: as above.
                        let slot = unsafe { sys::takt_link_flush(&mut *turns.link) };
                        turns.store.remove(&slot);
                    }
                    prop_assert!(turns.store.is_empty());
                    within.clear();
                }
            }
            turns.assert_hosts_are_consistent();
            let queued = turns.link.queued_packets as usize + usize::from(turns.fast.is_some());
            prop_assert_eq!(queued, within.values().map(VecDeque::len).sum::<usize>());
        }
        while let Some((flow, _)) = turns.next() {
            prop_assert!(within.get_mut(&flow).unwrap().pop_front().is_some());
        }
        prop_assert!(within.values().all(VecDeque::is_empty));
        for entity in turns.link.order.entity.iter() {
            prop_assert_eq!(entity.flows.packets, 0);
            prop_assert_eq!(entity.queue.packets, 0);
        }
    }
}
