//! The fast path is a short cut: it leads to the same clocks and counters.

use proptest::prelude::*;
use takt_algo::sys;

use super::{
    plan,
    raw::{dequeue, laid_out, pass},
};

proptest! {
    /// A packet that finds empty queues and is asked for before another arrives: `held_ns`
    /// later, since the device was busy, but not longer than its clock may lag.
    #[test]
    fn both_ways_end_in_the_same_state(
        arrivals in prop::collection::vec(
            (1..5u32, 60..9000u32, 0..200_000_000u64, 0..10_000_000u64), 1..100,
        ),
    ) {
        let mut plan = plan::equals(1_000_000_000, &[1_000_003, 10_000_019, 99_999_989, 5_003]);
        plan.framing.overhead_bytes = 24;
        let (mut short, mut long) = (laid_out(), laid_out());
        let mut now_ns = 1 << 40;
        for (id, bytes, pause_ns, held_ns) in arrivals {
            now_ns += pause_ns;
            let free_ns = short.order.entity[id as usize].pace.due_ns.max(short.clock.due_ns);
            if free_ns > now_ns {
                continue;
            }
            prop_assert_eq!(pass(&mut short, &plan, id, bytes, 1, now_ns), sys::TAKT_FAST_PATH);
            prop_assert_ne!(pass(&mut long, &plan, id, bytes, 0, now_ns), sys::TAKT_FAST_PATH);
            now_ns += held_ns;
            let choice = dequeue(&mut long, &plan, now_ns);
            prop_assert_eq!((choice.id, choice.len), (id, short.fast_len));

            prop_assert_eq!(short.clock, long.clock);
            for (a, b) in short.order.entity.iter_mut().zip(long.order.entity.iter_mut()) {
                // Only a packet that waited can have been late.
                b.stats.late_max_ns = 0;
                // SAFETY: a valid struct.
                unsafe { sys::takt_entity_sum(a) };
                prop_assert_eq!(a.pace, b.pace);
                prop_assert_eq!(a.stats, b.stats);
            }
        }
    }
}

#[test]
fn a_packet_behind_a_queue_waits_too() {
    let plan = plan::equals(1_000_000_000, &[1_000_000, 1_000_000]);
    let mut link = laid_out();
    assert_eq!(pass(&mut link, &plan, 1, 1500, 1, 0), sys::TAKT_FAST_PATH);
    assert_eq!(pass(&mut link, &plan, 2, 1500, 0, 20_000), 1);
}

#[test]
fn the_wire_must_be_free_and_the_class_due() {
    let plan = plan::equals(1_000_000_000, &[1_000_000, 1_000_000]);
    let mut link = laid_out();
    assert_eq!(pass(&mut link, &plan, 1, 1500, 1, 0), sys::TAKT_FAST_PATH);
    // 1500 bytes take 12 us on the wire, and 12 ms at the class's rate.
    assert_eq!(pass(&mut link, &plan, 2, 1500, 1, 11_999), 1);
    assert_eq!(dequeue(&mut link, &plan, 11_999).wake_ns, 12_000);
    assert_eq!(dequeue(&mut link, &plan, 12_000).packet, 1);
    assert_eq!(pass(&mut link, &plan, 1, 1500, 1, 11_999_999), 1);
    assert_eq!(dequeue(&mut link, &plan, 11_999_999).wake_ns, 12_000_000);
}
