//! Joining packets of the same entity is a short cut: it leads to the same queues and counters.

use proptest::prelude::*;
use takt_algo::sys::{self, takt_link, takt_plan};

use super::{
    plan,
    raw::{dequeue, laid_out, pass},
};

/// As [`pass`], by the short way if that is open.
fn join(link: &mut takt_link, plan: &takt_plan, id: u32, bytes: u32, now_ns: u64) -> u32 {
    let len = plan.framing.frame_bytes(bytes);
    // SAFETY: valid structs; every index in algo/ is masked.
    let slot = unsafe {
        let entity = sys::takt_entity(&mut link.order, id);
        let params = sys::takt_params(plan, entity, id);
        sys::takt_link_join(link, entity, params, 1, len)
    };
    match slot {
        0 => pass(link, plan, id, bytes, 0, now_ns),
        slot => slot,
    }
}

proptest! {
    #[test]
    fn both_ways_end_in_the_same_state(
        queue_packets in 1..20u16,
        steps in prop::collection::vec(
            (1..5u32, 60..3000u32, 0..3_000_000u64, 0..3usize), 1..300,
        ),
    ) {
        let rates = [1_000_003, 10_000_019, 99_999_989, 500_003];
        let mut plan = plan::equals(1_000_000_000, &rates);
        plan.framing.overhead_bytes = 24;
        for params in &mut plan.class_params[1..=rates.len()] {
            params.queue_packets = queue_packets;
        }
        let (mut short, mut long) = (laid_out(), laid_out());
        let mut now_ns = 1 << 40;
        for (id, bytes, pause_ns, dequeues) in steps {
            now_ns += pause_ns;
            prop_assert_eq!(
                join(&mut short, &plan, id, bytes, now_ns),
                pass(&mut long, &plan, id, bytes, 0, now_ns)
            );
            for _ in 0..dequeues {
                let chosen = [&mut short, &mut long].map(|link| {
                    let choice = dequeue(link, &plan, now_ns);
                    (choice.packet, choice.id, choice.len, choice.wake_ns)
                });
                prop_assert_eq!(chosen[0], chosen[1]);
            }
        }
        prop_assert_eq!(short.queued_packets, long.queued_packets);
        for (a, b) in short.order.entity.iter().zip(long.order.entity.iter()) {
            prop_assert_eq!(a.stats, b.stats);
            prop_assert_eq!(a.queue.bytes, b.queue.bytes);
        }
    }
}

#[test]
fn only_a_packet_behind_others_joins() {
    let plan = plan::equals(1_000_000_000, &[1_000_000]);
    let mut link = laid_out();
    // SAFETY: as above.
    let slot = unsafe {
        let entity = sys::takt_entity(&mut link.order, 1);
        sys::takt_link_join(&mut *link, entity, &plan.class_params[1], 1, 1500)
    };
    assert_eq!(slot, 0);
    assert_eq!(link.queued_packets, 0);
}
