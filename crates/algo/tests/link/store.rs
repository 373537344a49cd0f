//! The link's packet slots: all of them can be used, none is lost.

use takt_algo::{Dequeued, Link, sys};

use super::plan;

/// Every slot but the fast path's.
const SLOTS: u32 = sys::TAKT_FAST_PATH - 1;

#[test]
fn a_full_store_drops_and_recovers() {
    let mut plan = plan::equals(1_000_000_000, &[1_000_000; 3]);
    for params in &mut plan.class_params[1..=3] {
        params.queue_packets = u16::MAX;
    }
    let mut link = Link::new();
    assert_eq!(link.enqueue(&plan, 1, 100, 1, 0), Some(sys::TAKT_FAST_PATH));
    let mut used = vec![false; sys::TAKT_PACKETS as usize];
    for n in 0..SLOTS {
        let slot = link.enqueue(&plan, 1 + n % 3, 100, 1, 0).expect("a slot");
        assert!(!std::mem::replace(&mut used[slot as usize], true));
    }
    assert!(!used[0] && !used[sys::TAKT_FAST_PATH as usize]);

    for id in 1..=3 {
        assert_eq!(link.enqueue(&plan, id, 100, 1, 0), None);
        assert_eq!(link.entity(id).stats.dropped_packets, 1);
    }
    assert_eq!(link.queued_packets(), SLOTS + 1);

    // The fast path's slot is not the store's; the next packet frees a slot.
    assert!(matches!(link.dequeue(&plan, 0), Dequeued::Packet { .. }));
    assert_eq!(link.enqueue(&plan, 1, 100, 1, 0), None);
    let Dequeued::Packet { slot, .. } = link.dequeue(&plan, 1_000_000) else {
        panic!("due for long");
    };
    assert_eq!(link.enqueue(&plan, 2, 100, 1, 1_000_000), Some(slot));
    assert_eq!(link.enqueue(&plan, 3, 100, 1, 1_000_000), None);

    assert_eq!(link.flush(), SLOTS);
    for n in 0..=SLOTS {
        assert!(link.enqueue(&plan, 1 + n % 3, 100, 1, 1_000_001).is_some());
    }
    assert_eq!(link.enqueue(&plan, 1, 100, 1, 1_000_001), None);
}

#[test]
fn a_class_holds_what_its_limit_allows() {
    let mut plan = plan::equals(1_000_000_000, &[1_000_000, 1_000_000]);
    plan.class_params[1].queue_packets = 3;
    let mut link = Link::new();
    // One is on the fast path, three wait.
    let taken = (0..10).filter(|_| link.enqueue(&plan, 1, 100, 1, 0).is_some());
    assert_eq!(taken.count(), 4);
    assert_eq!(link.entity(1).stats.dropped_packets, 6);
    assert_eq!(link.entity(1).stats.dropped_bytes, 600);
    assert!(link.enqueue(&plan, 2, 100, 1, 0).is_some());
}

#[test]
fn segments_are_counted_and_every_frame_has_its_overhead() {
    let mut plan = plan::equals(1_000_000_000, &[1_000_000]);
    plan.framing.overhead_bytes = 24;
    let mut link = Link::new();
    assert!(link.enqueue(&plan, 1, 45_000, 30, 0).is_some());
    assert!(link.enqueue(&plan, 1, 1_500, 1, 0).is_some());
    let stats = link.entity(1).stats;
    assert_eq!(stats.gso_packets, 1);
    assert_eq!(stats.enqueued_bytes, 45_000 + 30 * 24 + 1_500 + 24);
}
