//! Thinning in a link's queue: which acknowledgement leaves, where, and when.

use std::collections::BTreeMap;

use proptest::prelude::*;
use takt_algo::{
    sys::{self, takt_ack, takt_arrival, takt_choice, takt_class_params, takt_link, takt_plan},
    zeroed_box,
};

/// A link of 1 Mbit/s that thins. Class 1 has one queue for all flows.
struct Thinning {
    link: Box<takt_link>,
    plan: Box<takt_plan>,
    now_ns: u64,
    fast: Option<(u64, u32)>,
    /// By packet slot: the flow and the number of the acknowledgement.
    store: BTreeMap<u32, (u64, u32)>,
}

impl Thinning {
    fn new() -> Self {
        let mut link = zeroed_box::<takt_link>();
        // SAFETY: a valid struct, all zeroes.
        unsafe { sys::takt_link_lay_out(&mut *link) };
        let mut plan = zeroed_box::<takt_plan>();
        plan.generation = 1;
        plan.link.rate_bps = 1_000_000;
        plan.link.lag_max_ns = 10_000_000;
        plan.class_params[1] = takt_class_params {
            weight_bps: 1_000_000,
            queue_packets: 20,
            ..takt_class_params::default()
        };
        Self {
            link,
            plan,
            now_ns: 1_000_000_000,
            fast: None,
            store: BTreeMap::new(),
        }
    }

    /// Returns the number of the acknowledgement that this one replaced.
    fn send(&mut self, flow: u64, seq: u32, number: u32, bytes: u32) -> Option<u32> {
        let arrival = takt_arrival {
            id: 1,
            bytes,
            frames: 1,
            is_ack: 1,
            idle: u32::from(self.link.queued_packets == 0 && self.fast.is_none()),
            now_ns: self.now_ns,
            ack: takt_ack {
                flow,
                seq,
                ack: number,
                ..takt_ack::default()
            },
            ..takt_arrival::default()
        };
        // SAFETY: valid structs; every index in algo/ is masked.
        let slot = unsafe {
            match sys::takt_link_thin(&mut *self.link, &*self.plan, &arrival) {
                0 => sys::takt_link_push(&mut *self.link, &*self.plan, &arrival),
                slot => {
                    let old = self.store.insert(slot, (flow, number)).unwrap();
                    assert_eq!(old.0, flow);
                    return Some(old.1);
                }
            }
        };
        match slot {
            0 => {}
            sys::TAKT_FAST_PATH => self.fast = Some((flow, number)),
            _ => assert!(self.store.insert(slot, (flow, number)).is_none()),
        }
        None
    }

    fn next(&mut self) -> Option<(u64, u32)> {
        if let Some(sent) = self.fast.take() {
            return Some(sent);
        }
        loop {
            let mut choice = takt_choice::default();
            // SAFETY: as above.
            unsafe { sys::takt_link_pop(&mut *self.link, &*self.plan, self.now_ns, &mut choice) };
            if choice.packet != 0 {
                return self.store.remove(&choice.packet);
            }
            if choice.wake_ns == u64::MAX {
                return None;
            }
            self.now_ns = self.now_ns.max(choice.wake_ns);
        }
    }
}

#[test]
fn the_newer_one_leaves_in_the_place_of_the_older_one() {
    let mut thinning = Thinning::new();
    thinning.send(9, 0, 1, 66);
    for flow in [1, 2, 3] {
        assert_eq!(thinning.send(flow, 0, 100, 66), None);
    }
    assert_eq!(thinning.send(2, 0, 200, 78), Some(100));
    assert_eq!(thinning.send(2, 0, 200, 66), None, "a sender counts it");
    assert_eq!(thinning.send(3, 1, 200, 66), None, "data lies between");
    let sent: Vec<_> = std::iter::from_fn(|| thinning.next()).collect();
    assert_eq!(
        sent,
        [(9, 1), (1, 100), (2, 200), (3, 100), (2, 200), (3, 200)]
    );
    assert_eq!(
        thinning.send(2, 0, 300, 66),
        None,
        "none is queued any more"
    );
}

proptest! {
    #[test]
    fn each_flows_numbers_rise_and_the_last_one_leaves(
        steps in prop::collection::vec((0..4u64, 0..3u32, 60..90u32), 1..400),
    ) {
        let mut thinning = Thinning::new();
        let mut number = BTreeMap::<u64, u32>::new();
        let mut sent = BTreeMap::<u64, u32>::new();
        let mut thinned = 0;
        let mut note = |(flow, number): (u64, u32)| {
            let before = sent.insert(flow, number);
            assert!(before.is_none_or(|before| before <= number));
        };
        for (flow, more, bytes) in steps {
            if more == 0 {
                thinning.next().into_iter().for_each(&mut note);
                continue;
            }
            let last = number.entry(flow).or_default();
            *last += more - 1;
            thinned += u64::from(thinning.send(flow + 1, 0, *last, bytes).is_some());
        }
        while let Some(left) = thinning.next() {
            note(left);
        }
        let class = &thinning.link.order.entity[1];
        let stats = class.stats;
        prop_assert_eq!(stats.thinned_packets, thinned);
        prop_assert_eq!(stats.enqueued_packets, stats.sent_packets + thinned);
        prop_assert_eq!(stats.enqueued_bytes, stats.sent_bytes + stats.thinned_bytes);
        prop_assert_eq!((class.queue.packets, class.queue.bytes), (0, 0));
        if stats.dropped_packets == 0 {
            for (flow, last) in number {
                prop_assert_eq!(sent.get(&(flow + 1)), Some(&last));
            }
        }
    }
}
