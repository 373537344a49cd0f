//! Stations with weights that change: shares follow them to within one frame, no eligible
//! station waits while the link is free, and no change gives a station more or less than its
//! weights say.

use proptest::prelude::*;
use takt_algo::{
    Address, Dequeued, Link,
    sys::{self, takt_plan},
};

use super::plan;

pub const NS_PER_S: u64 = 1_000_000_000;
pub const LINK_BPS: u64 = 20 * plan::MBIT;
pub const WHOLE: u32 = sys::TAKT_SCALE_WHOLE;
pub const FRAME_MAX: u32 = 1500;
const PRIORITY: u8 = 6;

pub fn station(n: usize) -> Address {
    Address::Mac([2, 0, 0, 0, (n >> 8) as u8, n as u8])
}

/// A link whose classes have these weights, with stations.
pub fn air(weights_bps: &[u64]) -> Box<takt_plan> {
    let classes: Vec<_> = weights_bps
        .iter()
        .map(|weight_bps| plan::best_effort(*weight_bps, PRIORITY))
        .collect();
    let mut plan = plan::of(LINK_BPS, &classes);
    plan.stations = sys::TAKT_STATIONS_MAC;
    plan
}

/// One entity of the link: a station in a class.
pub struct Sender {
    pub station: usize,
    pub class: u32,
    pub id: u32,
    pub sent_bytes: f64,
    /// Its weights, each for its duration in virtual time; those while it was throttled are
    /// apart.
    worth_bytes: f64,
    held_worth_bytes: f64,
}

pub struct Air {
    pub link: Link,
    pub plan: Box<takt_plan>,
    pub now_ns: u64,
    pub senders: Vec<Sender>,
    sizes: Vec<u32>,
    next: usize,
}

impl Air {
    /// Every station is always backlogged in every class, with frames of these lengths in turn.
    pub fn busy(plan: Box<takt_plan>, classes: u32, weights_ppm: &[u32], sizes: Vec<u32>) -> Self {
        let mut air = Self {
            link: Link::new(),
            plan,
            now_ns: NS_PER_S,
            senders: Vec::new(),
            sizes,
            next: 0,
        };
        air.weigh(weights_ppm);
        // It takes the fast path, which is no share.
        air.arrive(999, 1);
        air.link.dequeue(&air.plan, air.now_ns);
        for station in 0..weights_ppm.len() {
            for class in 1..=classes {
                let id = air.arrive(station, class);
                air.arrive(station, class);
                air.senders.push(Sender {
                    station,
                    class,
                    id,
                    sent_bytes: 0.0,
                    worth_bytes: 0.0,
                    held_worth_bytes: 0.0,
                });
            }
        }
        // Entities learn their weights as the link is asked.
        for _ in 0..air.senders.len() {
            air.link.dequeue(&air.plan, air.now_ns);
        }
        air
    }

    fn weigh(&mut self, weights_ppm: &[u32]) {
        for (n, weight_ppm) in weights_ppm.iter().enumerate() {
            self.set(n, *weight_ppm);
        }
        self.beat();
    }

    pub fn set(&mut self, n: usize, weight_ppm: u32) {
        let set = self.link.stations().set(station(n), weight_ppm, false);
        assert_eq!(set, Ok(()));
    }

    fn beat(&mut self) {
        let now_ns = self.now_ns;
        self.link.stations().beat(now_ns);
    }

    pub fn arrive(&mut self, n: usize, class: u32) -> u32 {
        let bytes = self.sizes[self.next % self.sizes.len()];
        self.next += 1;
        let id = self
            .link
            .station_entity(&self.plan, class, station(n), self.now_ns);
        let kept = self.link.enqueue(&self.plan, id, bytes, 1, self.now_ns);
        assert!(kept.is_some(), "room for station {n}");
        id
    }

    fn virtual_ns(&self) -> u64 {
        self.link.state().order.node[0].virtual_ns[usize::from(PRIORITY)]
    }

    /// Asks until a frame leaves; returns its sender, or `None` if none is eligible. The sender
    /// stays backlogged.
    pub fn step(&mut self) -> Option<usize> {
        loop {
            let before_ns = self.virtual_ns();
            let answer = self.link.dequeue(&self.plan, self.now_ns);
            let passed_ns = (self.virtual_ns() - before_ns) as f64;
            for sender in &mut self.senders {
                let entity = self.link.entity(sender.id);
                let class_bps = self.plan.class_params[sender.class as usize].weight_bps;
                let scale_ppm = match entity.scale_ppm {
                    0 => WHOLE,
                    scale_ppm => scale_ppm,
                };
                let bps = class_bps as f64 * f64::from(scale_ppm) / f64::from(WHOLE);
                let worth = passed_ns * bps / 8e9;
                match entity.throttled {
                    0 => sender.worth_bytes += worth,
                    _ => sender.held_worth_bytes += worth,
                }
            }
            match answer {
                Dequeued::Packet { class, bytes, .. } => {
                    let index = self.senders.iter().position(|sender| sender.id == class);
                    let index = index.expect("a sender's");
                    self.senders[index].sent_bytes += f64::from(bytes);
                    let (station, class) = (self.senders[index].station, self.senders[index].class);
                    self.arrive(station, class);
                    return Some(index);
                }
                Dequeued::Wait { until_ns } => {
                    let free_ns = self.link.free_ns();
                    if until_ns > free_ns && self.now_ns >= free_ns && until_ns > self.now_ns {
                        return None;
                    }
                    self.now_ns = self.now_ns.max(until_ns);
                    self.beat();
                }
                Dequeued::Empty => panic!("all have packets"),
            }
        }
    }

    fn weight(&self, sender: &Sender) -> f64 {
        let class_bps = self.plan.class_params[sender.class as usize].weight_bps;
        let scale_ppm = self.link.entity(sender.id).scale_ppm;
        class_bps as f64 * f64::from(scale_ppm)
    }

    /// What an entity may be ahead by: a frame, and where stations have bursts, one at its weight.
    fn ahead_max(&self, sender: &Sender) -> f64 {
        let scale_ppm = self.link.entity(sender.id).scale_ppm.min(WHOLE);
        let part = f64::from(scale_ppm) / f64::from(WHOLE);
        f64::from(FRAME_MAX) + f64::from(self.plan.station_burst_bytes) * part
    }

    /// Every entity has had what a fluid would have given it, to within one frame, or burst: at one
    /// virtual time; and in all that was sent, no more than one frame ahead, nor behind by more
    /// than one for each share like its own.
    pub fn assert_fluid(&self) {
        let frame = f64::from(FRAME_MAX);
        let weights: Vec<f64> = self.senders.iter().map(|s| self.weight(s)).collect();
        let all_weights: f64 = weights.iter().sum();
        let all_bytes: f64 = self.senders.iter().map(|s| s.sent_bytes).sum();
        let (mut latest, mut earliest) = (f64::MAX, f64::MIN);
        for (sender, weight) in self.senders.iter().zip(&weights) {
            // Virtual times at which a fluid would have given it a frame more, or less.
            latest = latest.min((sender.sent_bytes + frame) / weight);
            let ahead_max = self.ahead_max(sender);
            earliest = earliest.max((sender.sent_bytes - ahead_max) / weight);
            let part = weight / all_weights;
            let ahead = sender.sent_bytes - all_bytes * part;
            let all_ahead: f64 = self.senders.iter().map(|s| self.ahead_max(s)).sum();
            let behind_max = frame.max(part * all_ahead);
            assert!(ahead <= ahead_max + 1.0, "{ahead} bytes ahead");
            assert!(-ahead <= behind_max + 1.0, "{ahead} bytes, {behind_max}");
        }
        assert!(earliest <= latest * (1.0 + 1e-9), "{earliest} {latest}");
    }

    /// No entity has had more than its weights were worth and one frame, or burst, or less than that
    /// without it, however often they changed.
    pub fn assert_worth(&self, changes: usize) {
        // A change rounds the debt down to a whole nanosecond.
        let slack = f64::from(FRAME_MAX) + 1.0 + changes as f64 * 0.01;
        let burst = f64::from(self.plan.station_burst_bytes);
        for sender in &self.senders {
            let more = sender.sent_bytes - sender.worth_bytes;
            assert!(more >= -slack, "short of its weights by {} bytes", -more);
            let most = sender.held_worth_bytes + slack + burst;
            assert!(more <= most, "{more} bytes above its weights, {most}");
        }
    }
}

/// Every station has the entities that name it.
fn assert_rings(link: &Link) {
    let flows = &link.state().flows;
    let used = &flows.flow[..flows.fresh as usize];
    for (number, station) in (1u16..).zip(&flows.stations.at) {
        let members = used.iter().filter(|flow| flow.station == number);
        assert_eq!(station.entities as usize, members.count());
        let mut id = station.first;
        for _ in 0..station.entities {
            let flow = &flows.flow[(u32::from(id) - sys::TAKT_FLOW_FIRST) as usize];
            assert_eq!(flow.station, number);
            id = flow.next_of;
        }
        assert_eq!(id, station.first);
    }
}

pub fn weights(stations: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(
        prop_oneof![2 => 1_000..=WHOLE, 1 => Just(WHOLE), 1 => 1_000..20_000u32],
        stations,
    )
}

pub fn sizes() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(prop_oneof![64..=FRAME_MAX, Just(FRAME_MAX)], 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn shares_are_a_fluids_to_within_a_frame(
        weights_ppm in weights(2..24), sizes in sizes(),
        class_weights in prop::collection::vec(1_000_000..5_000_000u64, 1..4),
    ) {
        let classes = class_weights.len() as u32;
        let mut air = Air::busy(air(&class_weights), classes, &weights_ppm, sizes);
        for sender in &mut air.senders {
            sender.sent_bytes = 0.0;
        }
        let share = |s: &Sender| air.link.entity(s.id).share.due_ns;
        let begun: Vec<_> = air.senders.iter().map(share).collect();
        prop_assume!(begun.iter().all(|tag| *tag == begun[0]));
        for _ in 0..2_000 {
            prop_assert!(air.step().is_some(), "work conserving");
            air.assert_fluid();
        }
    }

    #[test]
    fn no_change_of_weight_starves_or_bursts_a_station(
        first in weights(2..40), sizes in sizes(),
        changes in prop::collection::vec(
            (0..40usize, prop_oneof![1 => Just(0u32), 3 => 1..=WHOLE, 1 => Just(WHOLE)], 0..20usize),
            1..200,
        ),
    ) {
        let mut air = Air::busy(air(&[1_000_000, 3_000_000]), 2, &first, sizes);
        for (count, (n, weight_ppm, steps)) in changes.iter().enumerate() {
            air.set(n % first.len(), *weight_ppm);
            for _ in 0..*steps {
                let all_are_throttled = air.step().is_none();
                if all_are_throttled {
                    let throttled = |s: &Sender| air.link.entity(s.id).throttled != 0;
                    prop_assert!(air.senders.iter().all(throttled), "work conserving");
                    break;
                }
            }
            air.assert_worth(count);
        }
    }

    /// Addresses come and go, the agent dies and returns, the policy changes: all queued
    /// packets leave in the end, and the counters add up.
    #[test]
    fn nothing_is_lost_whatever_becomes_of_stations(
        steps in prop::collection::vec((0..8u32, 0..300usize, 0..=WHOLE), 1..400),
    ) {
        let mut air = Air {
            link: Link::new(),
            plan: air(&[1_000_000, 2_000_000]),
            now_ns: NS_PER_S,
            senders: Vec::new(),
            sizes: vec![FRAME_MAX, 100],
            next: 0,
        };
        let (mut arrived, mut left) = (0, 0);
        for (what, n, weight_ppm) in steps {
            match what {
                0 => drop(air.link.stations().set(station(n % 260), weight_ppm / 2 * 2, false)),
                1 => air.link.stations().forget(station(n % 260), false),
                2 => air.beat(),
                3 => air.now_ns += u64::from(weight_ppm) * 10_000,
                4 => {
                    air.plan.generation += 1;
                    air.plan.stations ^= sys::TAKT_STATIONS_MAC;
                    air.plan.station_burst_bytes = air.plan.stations * (1 + weight_ppm / 100);
                }
                5 if weight_ppm < 100_000 => left += air.link.flush() as usize,
                _ => {
                    let mut ask = 0;
                    for _ in 0..n % 10 {
                        air.arrive(n % 20, 1 + n as u32 % 2);
                        arrived += 1;
                    }
                    while ask < n % 7 {
                        match air.link.dequeue(&air.plan, air.now_ns) {
                            Dequeued::Packet { .. } => left += 1,
                            Dequeued::Wait { until_ns } => air.now_ns = until_ns.max(air.now_ns),
                            Dequeued::Empty => break,
                        }
                        ask += 1;
                    }
                }
            }
            assert_rings(&air.link);
        }
        // No agent is alive any more.
        air.now_ns += 10 * NS_PER_S;
        for _ in 0..100_000 {
            match air.link.dequeue(&air.plan, air.now_ns) {
                Dequeued::Packet { .. } => left += 1,
                Dequeued::Wait { until_ns } => air.now_ns = until_ns.max(air.now_ns),
                Dequeued::Empty => break,
            }
        }
        prop_assert_eq!(arrived, left);
    }
}

/// The station of the two that was sent to, in frames.
fn sent(air: &mut Air, frames: usize) -> [usize; 2] {
    let mut sent = [0; 2];
    for _ in 0..frames {
        if let Some(index) = air.step() {
            sent[index] += 1;
        }
    }
    sent
}

#[test]
fn weight_0_holds_and_comes_back_level() {
    let mut air = Air::busy(air(&[1_000_000]), 1, &[WHOLE, WHOLE], vec![FRAME_MAX]);
    air.set(0, 0);
    assert_eq!(sent(&mut air, 100), [0, 100]);
    let entity = air.link.entity(air.senders[0].id);
    assert_eq!((entity.queue.packets, entity.stats.dropped_packets), (2, 0));
    air.set(0, WHOLE);
    let [held, other] = sent(&mut air, 100);
    assert!(
        held.abs_diff(other) <= 2,
        "{held} and {other}: no more for having waited"
    );
}

#[test]
fn a_station_alone_is_throttled_until_it_gets_a_weight() {
    let mut air = Air::busy(air(&[1_000_000]), 1, &[0], vec![FRAME_MAX]);
    let queued = |air: &Air| air.link.entity(air.senders[0].id).queue.packets;
    let before = queued(&air);
    let from_ns = air.now_ns;
    while air.now_ns < from_ns + 4 * NS_PER_S {
        let Dequeued::Wait { until_ns } = air.link.dequeue(&air.plan, air.now_ns) else {
            panic!("throttled");
        };
        let wait_ns = until_ns - air.now_ns;
        assert!((1..=5_000_000).contains(&wait_ns), "looks again: {wait_ns}");
        air.now_ns = until_ns;
    }
    assert_eq!(queued(&air), before);
    air.set(0, 1);
    assert!(matches!(
        air.link.dequeue(&air.plan, air.now_ns),
        Dequeued::Packet { .. }
    ));
}

#[test]
fn the_queue_limit_holds_while_a_station_is_held() {
    let mut plan = air(&[1_000_000]);
    plan.class_params[1].queue_packets = 5;
    let mut air = Air::busy(plan, 1, &[0, WHOLE], vec![FRAME_MAX]);
    let id = air.senders[0].id;
    for _ in 0..10 {
        air.link.enqueue(&air.plan, id, FRAME_MAX, 1, air.now_ns);
    }
    let entity = air.link.entity(id);
    assert_eq!((entity.queue.packets, entity.stats.dropped_packets), (5, 7));
}

#[test]
fn without_an_agent_for_five_seconds_all_are_equal_but_those_set_by_hand() {
    let mut air = Air::busy(air(&[1_000_000]), 1, &[100_000, WHOLE, 0], vec![FRAME_MAX]);
    air.link.stations().set(station(2), 0, true).unwrap();
    let count = |air: &mut Air, beats: bool, frames: u32| {
        let mut sent = [0u32; 3];
        let mut left = frames;
        while left > 0 {
            match air.link.dequeue(&air.plan, air.now_ns) {
                Dequeued::Packet { class, .. } => {
                    let index = air.senders.iter().position(|s| s.id == class).unwrap();
                    sent[index] += 1;
                    left -= 1;
                    let station = air.senders[index].station;
                    air.arrive(station, 1);
                }
                Dequeued::Wait { until_ns } => air.now_ns = until_ns.max(air.now_ns),
                Dequeued::Empty => panic!("all have packets"),
            }
            if beats {
                air.beat();
            }
        }
        sent
    };
    let [weak, strong, held] = count(&mut air, true, 1100);
    assert!(weak.abs_diff(100) <= 2 && strong.abs_diff(1000) <= 2 && held == 0);
    air.now_ns += 5 * NS_PER_S + 1;
    let [weak, strong, held] = count(&mut air, false, 1000);
    assert!(weak.abs_diff(strong) <= 2 && held == 0, "{weak} {strong}");
    air.beat();
    let [weak, strong, _] = count(&mut air, true, 1100);
    assert!(weak.abs_diff(100) <= 2 && strong.abs_diff(1000) <= 2);
}

#[test]
fn a_station_that_is_forgotten_or_takes_anothers_place_counts_as_itself() {
    let mut air = Air::busy(air(&[1_000_000]), 1, &[0, WHOLE], vec![FRAME_MAX]);
    assert_eq!(sent(&mut air, 10), [0, 10]);
    // Another station in its entry of the table.
    air.link.stations().forget(station(0), false);
    for n in 2..256 {
        air.set(n, 0);
    }
    air.set(600, 0);
    let [first, second] = sent(&mut air, 100);
    assert!(first.abs_diff(second) <= 4, "{first} {second}");
    air.link.stations().forget(station(1), false);
    air.set(0, 500_000);
    let [first, second] = sent(&mut air, 300);
    assert!(
        first.abs_diff(100) <= 4 && second.abs_diff(200) <= 4,
        "{first} {second}"
    );
}

#[test]
fn a_policy_without_stations_releases_throttled_entities() {
    let mut air = Air::busy(air(&[1_000_000]), 1, &[0, WHOLE], vec![FRAME_MAX]);
    assert_eq!(sent(&mut air, 10), [0, 10]);
    air.plan.stations = sys::TAKT_STATIONS_NONE;
    air.plan.generation += 1;
    let [first, second] = sent(&mut air, 100);
    assert!(first.abs_diff(second) <= 4, "{first} {second}");
    air.plan.stations = sys::TAKT_STATIONS_MAC;
    air.plan.generation += 1;
    air.beat();
    sent(&mut air, 4);
    let [first, _] = sent(&mut air, 100);
    assert_eq!(first, 0, "throttled as before");
}
