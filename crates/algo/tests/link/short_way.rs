//! Short ways lead where the general way leads: to the same packets, times, clocks and counters.

use proptest::prelude::*;
use takt_algo::sys::{
    self, TAKT_ENTITIES, TAKT_FAST_PATH, takt_class_params, takt_link, takt_plan,
};

use super::{
    plan::{self, MBIT},
    raw::{dequeue, laid_out, pass},
};

const CLASSES: u32 = 4;
const LENGTHS: [u32; 3] = [1500, 64, 9000];

/// A link with its packet on the fast path, and whether its packets go short ways.
struct Link {
    state: Box<takt_link>,
    is_short: bool,
    fast: bool,
    /// Packets that went them: passed, joined, popped.
    went: [u32; 3],
}

impl Link {
    fn new(is_short: bool) -> Self {
        Self {
            state: laid_out(),
            is_short,
            fast: false,
            went: [0; 3],
        }
    }

    /// A packet of a known connection arrives: its slot.
    fn enqueue(&mut self, plan: &takt_plan, id: u32, bytes: u32, now_ns: u64) -> u32 {
        let len = plan.framing.frame_bytes(bytes);
        let idle = !self.fast && self.state.queued_packets == 0;
        let mut slot = self.enqueue_short(plan, id, len, idle, now_ns);
        if slot == 0 {
            // SAFETY: valid structs; every index in algo/ is masked.
            unsafe { sys::takt_link_observe(&mut *self.state, plan, 0) };
            slot = pass(&mut self.state, plan, id, bytes, idle.into(), now_ns);
            self.open(plan, id, len, now_ns);
        }
        self.fast |= slot == TAKT_FAST_PATH;
        slot
    }

    fn enqueue_short(
        &mut self,
        plan: &takt_plan,
        id: u32,
        len: u32,
        idle: bool,
        now_ns: u64,
    ) -> u32 {
        let link = &mut *self.state;
        let knows = link.short_in != 0
            && link.plan_generation == plan.generation as u32
            && link.order.entity[id as usize].short_in == link.short_in;
        if !knows {
            return 0;
        }
        // SAFETY: as above.
        unsafe {
            let entity = sys::takt_entity(&mut link.order, id);
            if !idle {
                let slot = sys::takt_short_join(link, entity, len);
                self.went[1] += u32::from(slot != 0);
                return slot;
            }
            (link.fast_id, link.fast_len) = (id, len);
            if sys::takt_short_pass(link, entity, now_ns) == 0 {
                return 0;
            }
        }
        self.went[0] += 1;
        TAKT_FAST_PATH
    }

    /// A packet has gone the general way.
    fn open(&mut self, plan: &takt_plan, id: u32, len: u32, now_ns: u64) {
        if !self.is_short {
            return;
        }
        let link = &mut *self.state;
        // SAFETY: as above.
        unsafe {
            sys::takt_short_open(link, plan);
            let entity = sys::takt_entity(&mut link.order, id);
            let params = sys::takt_params(plan, entity, id);
            sys::takt_short_begin(link, entity, params, len, now_ns);
        }
    }

    /// The device asks for a packet: its slot, or 0, and when the link is to be asked again.
    fn dequeue(&mut self, plan: &takt_plan, now_ns: u64) -> (u32, u64) {
        if std::mem::take(&mut self.fast) {
            return (TAKT_FAST_PATH, 0);
        }
        if self.is_short && self.state.plan_generation == plan.generation as u32 {
            // SAFETY: as above.
            let slot = unsafe { sys::takt_short_pop(&mut *self.state, now_ns) };
            if slot != 0 {
                self.went[2] += 1;
                return (slot, self.state.wake_ns);
            }
        }
        let choice = dequeue(&mut self.state, plan, now_ns);
        if self.state.plan_hand > CLASSES {
            // No other entity has to follow a new plan.
            self.state.plan_hand = TAKT_ENTITIES;
        }
        (choice.packet, self.state.wake_ns)
    }
}

/// What counts of an entity. A clock before now limits nothing, whatever it shows: without a
/// ceiling, a pace shows the time of the last packet on the short fast path.
fn seen(link: &takt_link, id: u32, now_ns: u64) -> impl PartialEq + std::fmt::Debug + use<> {
    let mut entity = link.order.entity[id as usize];
    // SAFETY: a valid struct.
    unsafe { sys::takt_entity_sum(&mut entity) };
    let clock_ns = now_ns - link.order.node[0].behind_ns[usize::from(entity.priority)];
    (
        (entity.pace.due_ns > clock_ns).then_some(entity.pace),
        [entity.guarantee, entity.share, entity.floor],
        entity.stats,
        (entity.queue, entity.waits, entity.priority),
    )
}

fn params() -> impl Strategy<Value = takt_class_params> {
    (0..4u8, 1..5000u64, 0..3u8, 2..40u16, any::<bool>()).prop_map(
        |(kind, kbps, priority, queue_packets, floor)| {
            let rate_bps = kbps * 10_007;
            takt_class_params {
                queue_packets,
                priority,
                floor_bps: if floor && kind == 3 { rate_bps / 2 } else { 0 },
                ..match kind {
                    0 => plan::best_effort(rate_bps, priority),
                    1 => plan::borrower(rate_bps, 3 * rate_bps),
                    _ => plan::class(rate_bps, priority),
                }
            }
        },
    )
}

fn plans() -> impl Strategy<Value = Vec<Box<takt_plan>>> {
    let classes = prop::collection::vec(params(), CLASSES as usize);
    prop::collection::vec((classes, 1..200u64), 1..4).prop_map(|plans| {
        let plans = plans.into_iter().enumerate();
        let plans = plans.map(|(at, (classes, mbit))| {
            let mut plan = plan::of(mbit * MBIT + 7, &classes);
            plan.generation = 1 + at as u64;
            plan.fast_by_connection = 1;
            plan.framing.overhead_bytes = 24;
            plan
        });
        plans.collect()
    })
}

proptest! {
    #[test]
    fn both_ways_end_in_the_same_state(
        plans in plans(),
        steps in prop::collection::vec(
            (1..=CLASSES, 0..LENGTHS.len(), 0..4_000_000u64, 0..4u32, 0..40u32), 1..400,
        ),
    ) {
        let (mut short, mut long) = (Link::new(true), Link::new(false));
        let mut plans = plans.iter();
        let mut plan = plans.next().unwrap();
        let mut now_ns = 1 << 40;
        for (id, length, pause_ns, asks, change) in steps {
            now_ns += pause_ns;
            if change == 0 {
                plan = plans.next().unwrap_or(plan);
            }
            let bytes = LENGTHS[length];
            prop_assert_eq!(
                short.enqueue(plan, id, bytes, now_ns),
                long.enqueue(plan, id, bytes, now_ns)
            );
            for _ in 0..asks {
                // As the timer does, or the next packet before it.
                if short.state.wake_ns > now_ns {
                    now_ns = short.state.wake_ns.min(now_ns + pause_ns);
                }
                let answers = [&mut short, &mut long].map(|link| link.dequeue(plan, now_ns));
                prop_assert_eq!(answers[0], answers[1]);
            }
            prop_assert_eq!(short.state.clock, long.state.clock);
            prop_assert_eq!(short.state.queued_packets, long.state.queued_packets);
            for id in 1..=CLASSES {
                prop_assert_eq!(seen(&short.state, id, now_ns), seen(&long.state, id, now_ns));
            }
        }
    }
}

#[test]
fn most_packets_go_short_ways() {
    // Their packets are seldom due at the same time.
    let mut plan = plan::equals(1000 * MBIT, &[1_000_003, 1_100_009, 1_300_021, 1_700_033]);
    plan.fast_by_connection = 1;
    let mut link = Link::new(true);
    let (mut now_ns, mut sent) = (1 << 40, 0);
    for round in 0..100 {
        now_ns += 1_000_000_000;
        for packet in 0..5 * CLASSES {
            link.enqueue(&plan, 1 + packet % CLASSES, 1500, now_ns);
            sent += 1;
            if round % 2 == 0 {
                link.dequeue(&plan, now_ns);
                now_ns += 12_345_678;
            }
        }
        while link.state.queued_packets > 0 {
            link.dequeue(&plan, now_ns);
            now_ns = now_ns.max(link.state.wake_ns);
        }
    }
    // In every other round the first packets of each class pass or begin its queue, and its last
    // packet does not leave it backlogged.
    let [passed, joined, popped] = link.went;
    assert!(
        passed + joined > sent * 8 / 10,
        "{passed} passed, {joined} joined"
    );
    assert!(popped > joined * 6 / 10, "{popped} popped, {joined} joined");
}

#[test]
fn only_a_packet_behind_others_joins() {
    let mut plan = plan::equals(1000 * MBIT, &[MBIT]);
    plan.fast_by_connection = 1;
    let mut link = Link::new(true);
    link.enqueue(&plan, 1, 1500, 1 << 40);
    // SAFETY: as above.
    let slot = unsafe {
        let entity = sys::takt_entity(&mut link.state.order, 1);
        sys::takt_short_join(&mut *link.state, entity, 1500)
    };
    assert_eq!(slot, 0);
    assert_eq!(link.state.queued_packets, 0);
}
