//! The device goes down: all packets are dropped, whatever their due times.

use takt_algo::{Dequeued, Link, sys, zeroed_box};

use super::plan;

fn flushed(link: &Link, id: u32) -> u64 {
    let class = link.entity(id);
    assert_eq!((class.queue.packets, class.queue.bytes), (0, 0));
    assert_eq!(
        class.stats.enqueued_packets,
        class.stats.sent_packets + class.stats.flushed_packets
    );
    assert_eq!(
        class.stats.enqueued_bytes,
        class.stats.sent_bytes + class.stats.flushed_bytes
    );
    class.stats.flushed_packets
}

#[test]
fn nothing_to_flush() {
    assert_eq!(Link::new().flush(), 0);
}

#[test]
fn the_fast_path_is_emptied_too() {
    let plan = plan::equals(1_000_000_000, &[1_000_000, 2_000_000]);
    let mut link = Link::new();
    link.enqueue(&plan, 2, 1000, 1, 0);
    assert_eq!(link.entity(2).stats.sent_packets, 1);
    link.enqueue(&plan, 1, 1000, 1, 0);
    assert_eq!(link.flush(), 2);
    assert_eq!((flushed(&link, 1), flushed(&link, 2)), (1, 1));
    assert_eq!(link.entity(2).stats.sent_packets, 0);
}

/// Every class, in every priority, with due times minutes ahead: a step of the flush drops one
/// packet, so that the kernel's bounded loop suffices.
#[test]
fn classes_due_in_the_far_future_cost_no_more_than_others() {
    let mut plan = plan::link(1_000_000_000);
    for id in 1..sys::TAKT_CLASSES {
        plan.class_params[id as usize] = plan::class(1_000, (id % sys::TAKT_PRIORITIES) as u8);
    }
    let mut state = zeroed_box::<sys::takt_link>();
    // SAFETY: a valid struct, all zeroes.
    unsafe { sys::takt_link_lay_out(&mut *state) };
    let now_ns = 1 << 40;
    for id in 1..sys::TAKT_CLASSES {
        // The cost of the largest segment at this rate: over an hour.
        state.order.entity[id as usize].pace.due_ns = now_ns + 4_194_304_000_000;
        let arrival = sys::takt_arrival {
            id,
            bytes: 1500,
            frames: 1,
            now_ns,
            ..sys::takt_arrival::default()
        };
        // SAFETY: valid structs; every index in algo/ is masked.
        let slot = unsafe { sys::takt_link_push(&mut *state, &*plan, &arrival) };
        assert_ne!(slot, 0);
    }
    let mut steps = 0;
    while state.queued_packets > 0 {
        // SAFETY: as above.
        unsafe { sys::takt_link_flush(&mut *state) };
        steps += 1;
    }
    // One for each packet, and one for each entity that it passes.
    assert!(steps <= 2 * sys::TAKT_CLASSES);
}

/// After a flush the link is as new.
#[test]
fn traffic_goes_on_afterwards() {
    let plan = plan::equals(1_000_000_000, &[1_000_000; 10]);
    let mut link = Link::new();
    for now_ns in [0, 1 << 30, 1 << 40] {
        for n in 0..100 {
            assert!(link.enqueue(&plan, 1 + n % 10, 1500, 1, now_ns).is_some());
        }
        assert_eq!(link.flush(), 100);
        assert_eq!(link.dequeue(&plan, now_ns), Dequeued::Empty);
    }
}
