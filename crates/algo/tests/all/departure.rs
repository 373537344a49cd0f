//! Held packets against a sorted list, and pacing rates.

use proptest::prelude::*;
use takt_algo::{
    sys::{self, takt_departures},
    zeroed_box,
};

const STEP_MAX_NS: u64 = sys::TAKT_PACING_STEP_MAX_NS as u64;

/// The slot of the first held packet, and its time.
fn remove_first(departures: &mut takt_departures) -> (u64, u16) {
    let first = departures.heap[0];
    // SAFETY: a valid struct that is not empty.
    unsafe { sys::takt_departures_remove_first(departures) };
    (first.due_ns, first.slot)
}

proptest! {
    /// Earliest first, and equal times in order of arrival.
    #[test]
    fn packets_leave_in_order(steps in prop::collection::vec(prop::option::weighted(0.6, 0u64..50), 1..400)) {
        let mut departures: Box<takt_departures> = zeroed_box();
        let mut sorted: Vec<(u64, u16)> = Vec::new();
        for (slot, step) in (1u16..).zip(steps) {
            if let Some(due_ns) = step {
                // SAFETY: a valid struct with room.
                unsafe { sys::takt_departures_hold(&mut *departures, due_ns, slot.into(), 1) };
                let at = sorted.partition_point(|held| held.0 <= due_ns);
                sorted.insert(at, (due_ns, slot));
            } else if !sorted.is_empty() {
                prop_assert_eq!(remove_first(&mut departures), sorted.remove(0));
            }
            prop_assert_eq!(departures.count as usize, sorted.len());
        }
        for held in sorted {
            prop_assert_eq!(remove_first(&mut departures), held);
        }
    }
}

#[test]
fn a_full_heap_keeps_its_order() {
    let mut departures: Box<takt_departures> = zeroed_box();
    for n in 0..u64::from(sys::TAKT_HELD_MAX) - 1 {
        let due_ns = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        // SAFETY: a valid struct with room.
        unsafe { sys::takt_departures_hold(&mut *departures, due_ns, 1, 1) };
    }
    let mut last_ns = 0;
    while departures.count > 0 {
        let (due_ns, _) = remove_first(&mut departures);
        assert!(due_ns >= last_ns);
        last_ns = due_ns;
    }
}

#[test]
fn a_pacing_rate_spaces_packets() {
    let mut next_ns = 0;
    let mut paced = |bps: u64, len: u32, now_ns: u64| {
        // SAFETY: a valid number.
        unsafe { sys::takt_departure_paced(&raw mut next_ns, bps, len, now_ns) }
    };
    // 1000 bytes at 8 Mbit/s take 1 ms.
    let times = [0; 3].map(|_| paced(8_000_000, 1000, 50));
    assert_eq!(times, [50, 1_000_050, 2_000_050]);
    // One of 1 bit/s would delay the next for hours.
    assert_eq!(paced(1, 1000, 10_000_000), 10_000_000);
    assert_eq!(paced(1, 1000, 10_000_000), 10_000_000 + STEP_MAX_NS);
}
