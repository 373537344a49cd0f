//! The flow table: flows are found again, forgotten when they may be, and a flood
//! of new ones does not disturb those that have packets.

use std::collections::BTreeMap;

use takt_algo::{
    sys::{
        self, TAKT_ENTITIES, takt_arrival, takt_choice, takt_class_params, takt_class_stats,
        takt_link, takt_newcomer, takt_plan,
    },
    zeroed_box,
};

const NS_PER_S: u64 = 1_000_000_000;

struct Flows {
    link: Box<takt_link>,
    plan: Box<takt_plan>,
    now_ns: u64,
    fast: u32,
}

impl Flows {
    /// A link of 10 Gbit/s whose class 1 paces every flow; class 2 does, too.
    fn new(rate_bps: u64) -> Self {
        let mut link = zeroed_box::<takt_link>();
        // SAFETY: a valid struct, all zeroes.
        unsafe { sys::takt_link_lay_out(&mut *link) };
        let mut plan = zeroed_box::<takt_plan>();
        plan.generation = 1;
        plan.link.rate_bps = 10 * NS_PER_S;
        plan.link.lag_max_ns = 10_000_000;
        for class in 1..3 {
            plan.class_params[class] = takt_class_params {
                rate_bps,
                ceil_bps: rate_bps,
                weight_bps: rate_bps,
                queue_packets: 10,
                per_flow: 1,
                ..takt_class_params::default()
            };
        }
        Self {
            link,
            plan,
            now_ns: NS_PER_S,
            fast: 0,
        }
    }

    fn find(&mut self, identity: u64) -> u32 {
        // SAFETY: a valid struct; every index in algo/ is masked.
        unsafe { sys::takt_flow_find(&mut self.link.flows, identity) }
    }

    /// As the qdisc does: finds it, or makes room and adds it.
    fn entity(&mut self, identity: u64, class: u32) -> u32 {
        let id = self.find(identity);
        if id != 0 {
            return id;
        }
        let newcomer = takt_newcomer {
            identity,
            generation: self.link.generation,
            ..takt_newcomer::default()
        };
        let (flows, order) = (&mut self.link.flows, &mut self.link.order);
        // SAFETY: as above.
        let id = unsafe {
            for _ in 0..sys::takt_flow_checks(flows) {
                sys::takt_flow_reclaim(flows, order, 0, self.now_ns);
            }
            sys::takt_flow_add(flows, order, &newcomer, class, self.now_ns)
        };
        if id == 0 { class } else { id }
    }

    fn send(&mut self, identity: u64, class: u32) -> u32 {
        let id = self.entity(identity, class);
        let arrival = takt_arrival {
            id,
            bytes: 1500,
            frames: 1,
            idle: u32::from(self.link.queued_packets + self.fast == 0),
            now_ns: self.now_ns,
            ..takt_arrival::default()
        };
        // SAFETY: as above.
        let slot = unsafe { sys::takt_link_push(&mut *self.link, &*self.plan, &arrival) };
        self.fast += u32::from(slot == sys::TAKT_FAST_PATH);
        id
    }

    /// Sends what may leave until then; returns the times of each entity's packets.
    fn run(&mut self, until_ns: u64) -> BTreeMap<u32, Vec<u64>> {
        let mut sent = BTreeMap::<u32, Vec<u64>>::new();
        if std::mem::take(&mut self.fast) > 0 {
            sent.entry(self.link.fast_id).or_default().push(self.now_ns);
        }
        while self.now_ns < until_ns {
            let mut choice = takt_choice::default();
            // SAFETY: as above.
            unsafe { sys::takt_link_pop(&mut *self.link, &*self.plan, self.now_ns, &mut choice) };
            if choice.packet != 0 {
                sent.entry(choice.id).or_default().push(self.now_ns);
            } else {
                self.now_ns = until_ns.min(choice.wake_ns.max(self.now_ns));
            }
        }
        sent
    }

    /// All that is counted of an entity.
    fn stats(&self, id: u32) -> takt_class_stats {
        let mut entity = self.link.order.entity[id as usize];
        // SAFETY: a valid struct.
        unsafe { sys::takt_entity_sum(&mut entity) };
        entity.stats
    }

    /// The counters of all flows and classes together.
    fn counted(&self) -> (u64, u64, u64) {
        let stats = || (0..TAKT_ENTITIES).map(|id| self.stats(id));
        (
            stats().map(|stats| stats.enqueued_packets).sum(),
            stats().map(|stats| stats.sent_packets).sum(),
            stats().map(|stats| stats.dropped_packets).sum(),
        )
    }
}

#[test]
fn a_flow_is_found_again_and_paced_by_itself() {
    let mut flows = Flows::new(12_000_000);
    for identity in 1..=50 {
        for _ in 0..5 {
            flows.send(identity, 1);
        }
    }
    assert_eq!((flows.link.flows.live, flows.link.flows.created), (50, 50));
    let sent = flows.run(2 * NS_PER_S);
    assert_eq!(sent.len(), 50);
    for times in sent.values() {
        for pair in times.windows(2) {
            // A millisecond for 1500 bytes, plus the other flows' frames.
            assert!(
                (pair[1] - pair[0]).abs_diff(1_000_000) < 100_000,
                "{times:?}"
            );
        }
    }
}

/// A hundred thousand strangers with a packet each beside fifty paced flows.
#[test]
fn a_flood_neither_exhausts_nor_disturbs() {
    let mut flows = Flows::new(12_000_000);
    let mut established = BTreeMap::<u64, u32>::new();
    let mut times = BTreeMap::<u32, Vec<u64>>::new();
    let (mut offered, mut stranger) = (0u64, 1_000_000u64);
    for _ in 0..1000 {
        for identity in 1..=50 {
            while flows.entity(identity, 1) != 1
                && flows.link.order.entity[flows.find(identity) as usize]
                    .queue
                    .packets
                    < 3
            {
                let id = flows.send(identity, 1);
                offered += 1;
                assert_eq!(*established.entry(identity).or_insert(id), id);
            }
        }
        for _ in 0..100 {
            stranger += 0x9e37_79b9;
            flows.send(stranger, 1);
            offered += 1;
        }
        let until_ns = flows.now_ns + 1_000_000;
        for (id, more) in flows.run(until_ns) {
            times.entry(id).or_default().extend(more);
        }
    }
    let table = &flows.link.flows;
    assert!(table.live <= sys::TAKT_FLOWS_MAX);
    assert_eq!(table.no_room, 0);
    assert_eq!(u64::from(table.live), table.created - table.forgotten);
    for id in established.values() {
        let times = &times[id];
        let rate =
            (times.len() - 1) as f64 * 12_000.0 * 1e9 / (times[times.len() - 1] - times[0]) as f64;
        assert!((rate / 12e6 - 1.0).abs() < 0.005, "{rate}");
    }
    let (enqueued, sent, dropped) = flows.counted();
    assert_eq!(offered, enqueued + dropped);
    assert_eq!(
        enqueued,
        sent + u64::from(flows.link.queued_packets + flows.fast)
    );
}

/// All flows are backlogged: new ones share the class's own queue.
#[test]
fn when_all_are_busy_newcomers_share() {
    let mut flows = Flows::new(1000);
    for identity in 1..=u64::from(sys::TAKT_FLOWS_MAX) + 100 {
        flows.send(identity * 0x1234_5677, 1);
        flows.send(identity * 0x1234_5677, 1);
    }
    assert!(flows.link.flows.live > sys::TAKT_FLOWS_MAX - 100);
    assert!(flows.link.order.entity[1].queue.packets > 0);
    assert_eq!(flows.link.flows.forgotten, 0);
}

/// Idle flows are replaced by new ones, and leave their counters to the class.
#[test]
fn the_idle_are_forgotten_and_their_counters_stay() {
    let mut flows = Flows::new(12_000_000);
    for identity in 1..=1000 {
        flows.send(identity, 1);
        let until_ns = flows.now_ns + 10_000;
        flows.run(until_ns);
    }
    flows.now_ns += u64::from(u32::MAX) + 2 * sys::TAKT_FLOW_IDLE_NS;
    for identity in 2001..=2600 {
        flows.send(identity, 1);
        let until_ns = flows.now_ns + 10_000;
        flows.run(until_ns);
    }
    assert!(
        flows.link.flows.forgotten >= 990,
        "{}",
        flows.link.flows.forgotten
    );
    assert!(flows.stats(1).sent_packets >= 990);
    assert_eq!(flows.counted(), (1600, 1600, 0));
    for identity in 2001..=2600 {
        assert_ne!(flows.find(identity), 0);
    }
}

/// A new plan puts flows into another class; packets and later counts go along.
#[test]
fn flows_follow_their_class() {
    let mut flows = Flows::new(12_000_000);
    for identity in 1..=10 {
        for _ in 0..6 {
            flows.send(identity, 1);
        }
    }
    flows.run(NS_PER_S + 2_500_000);
    flows.plan.generation = 2;
    for identity in 1..=10 {
        let id = flows.find(identity);
        let (table, order) = (&mut flows.link.flows, &mut flows.link.order);
        // SAFETY: valid structs; every index in algo/ is masked.
        unsafe { sys::takt_flow_follow(table, order, id, 2, 2) };
    }
    assert_eq!(flows.counted().0, 60);
    flows.run(2 * NS_PER_S);
    assert_eq!(flows.counted(), (60, 60, 0));
    let mut later = 0;
    for identity in 1..=10 {
        let id = flows.find(identity);
        later += flows.stats(id).sent_packets;
    }
    assert_eq!(flows.stats(1).sent_packets + later, 60);
    assert_eq!(flows.link.order.entity[1].queue.packets, 0);
}
