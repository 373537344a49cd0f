//! The time-slot table against a search from slot to slot.

use proptest::prelude::*;
use takt_algo::{Slots, sys::takt_slot};

/// Slots from widths: the free time before each, and its length before and after its beat.
fn slots(widths: &[(u32, u32, u32)]) -> (u32, Vec<takt_slot>) {
    let mut at_ns = 0;
    let slots = (0..)
        .zip(widths)
        .map(|(task, (free_ns, lead_ns, rest_ns))| {
            let release_ns = at_ns + free_ns;
            let beat_ns = release_ns + lead_ns;
            at_ns = beat_ns + rest_ns;
            takt_slot {
                release_ns,
                beat_ns,
                end_ns: at_ns,
                task,
            }
        });
    let slots = slots.collect();
    (at_ns, slots)
}

/// The first slot that is not over, of this frame and the next.
fn expected(frame_ns: u32, slots: &[takt_slot], now_ns: u64) -> Option<(u32, (u64, u64, u64))> {
    let start_ns = now_ns / u64::from(frame_ns) * u64::from(frame_ns);
    [start_ns, start_ns + u64::from(frame_ns)]
        .into_iter()
        .flat_map(|start_ns| slots.iter().map(move |slot| (start_ns, slot)))
        .map(|(start_ns, slot)| {
            let at = |phase_ns| start_ns + u64::from(phase_ns);
            let times = (at(slot.release_ns), at(slot.beat_ns), at(slot.end_ns));
            (slot.task, times)
        })
        .find(|(_, (_, _, end_ns))| *end_ns > now_ns)
}

/// Looks up one moment, and then others, from any previous answer.
fn check(frame_ns: u32, slots: &[takt_slot], moments_ns: impl IntoIterator<Item = u64>) {
    let mut table = Slots::new(frame_ns, slots);
    for now_ns in moments_ns {
        let found = table.look(now_ns);
        let found = found.map(|span| (span.task(), span.times_ns()));
        assert_eq!(found, expected(frame_ns, slots, now_ns), "at {now_ns}");
    }
}

/// 64 frames at 48 kHz, with a slot at once and one on the last sixteenth.
#[test]
fn frames_of_a_fraction_do_not_drift() {
    let slot = |begin_ns, end_ns, task| takt_slot {
        release_ns: begin_ns,
        beat_ns: begin_ns,
        end_ns,
        task,
    };
    let slots = [slot(0, 500_000, 0), slot(1_250_000, 1_333_333, 1)];
    let mut table = Slots::of_fraction(4_000_000, 3, &slots);
    for frame in (0..100).chain(999_990..1_000_010) {
        let (start_ns, next_ns) = (
            (frame * 4_000_000u64).div_ceil(3),
            ((frame + 1) * 4_000_000u64).div_ceil(3),
        );
        let first = (0, (start_ns, start_ns, start_ns + 500_000));
        let last = (
            1,
            (
                start_ns + 1_250_000,
                start_ns + 1_250_000,
                start_ns + 1_333_333,
            ),
        );
        let next = (0, (next_ns, next_ns, next_ns + 500_000));
        for (now_ns, expected) in [
            (start_ns, first),
            (start_ns + 499_999, first),
            (start_ns + 500_000, last),
            (start_ns + 1_333_332, last),
            (start_ns + 1_333_333, next),
            (
                next_ns - 1,
                if next_ns - start_ns > 1_333_333 {
                    next
                } else {
                    last
                },
            ),
            (next_ns, next),
        ] {
            let found = table
                .look(now_ns)
                .map(|span| (span.task(), span.times_ns()));
            assert_eq!(found, Some(expected), "at {now_ns} of frame {frame}");
        }
        assert_eq!(table.frame_start(next_ns - 1), start_ns);
    }
}

/// All slots have a length; free time and leads are sometimes zero.
fn widths(count: usize) -> impl Strategy<Value = Vec<(u32, u32, u32)>> {
    let some = || prop_oneof![Just(0), 0..200u32];
    prop::collection::vec((some(), some(), 1..200u32), 1..count)
}

proptest! {
    #[test]
    fn the_first_that_is_not_over_is_found(
        widths in widths(40),
        free_ns in 0..500u32,
        frame in 0..1u64 << 40,
    ) {
        let (end_ns, slots) = slots(&widths);
        let frame_ns = end_ns + free_ns;
        let start_ns = frame * u64::from(frame_ns);
        let edges = slots.iter().flat_map(|slot| [slot.release_ns, slot.beat_ns, slot.end_ns]);
        for edge_ns in edges.chain([0, frame_ns]) {
            let at_ns = start_ns + u64::from(edge_ns);
            check(frame_ns, &slots, [at_ns.saturating_sub(1), at_ns, at_ns + 1]);
        }
    }

    #[test]
    fn as_many_as_there_may_be(
        count in Slots::SLOTS_MAX - 3..=Slots::SLOTS_MAX,
        at in prop::collection::vec(any::<prop::sample::Index>(), 20),
    ) {
        let (frame_ns, slots) = slots(&vec![(100, 20, 300); count]);
        let moments_ns = at.iter().map(|at| at.index(frame_ns as usize * 2) as u64);
        check(frame_ns, &slots, moments_ns.chain([u64::from(frame_ns) - 1]));
    }

    /// Going from edge to edge, every slot opens and ends once in each frame, on time.
    #[test]
    fn edges_lead_through_every_slot(widths in widths(20), frames in 1..4u64) {
        let (frame_ns, slots) = slots(&widths);
        let mut table = Slots::new(frame_ns, &slots);
        let end_ns = frames * u64::from(frame_ns);
        let (mut now_ns, mut opened) = (0, Vec::new());
        while now_ns < end_ns {
            let span = table.look(now_ns).expect("there are slots");
            let (_, _, end_of_slot_ns) = span.times_ns();
            let after = expected(frame_ns, &slots, end_of_slot_ns).expect("there are slots");
            prop_assert_eq!(table.next_release_ns(), after.1.0);
            if span.is_open(now_ns) {
                prop_assert_eq!(span.times_ns().0, now_ns);
                opened.push(span.task());
            }
            let edge_ns = span.edge_ns(now_ns);
            prop_assert!(edge_ns > now_ns);
            now_ns = edge_ns;
        }
        let count = widths.len() as u32;
        let all = (0..frames).flat_map(|_| 0..count);
        prop_assert_eq!(opened, all.collect::<Vec<_>>());
    }

    /// With any table, a look-up stays within it and ends.
    #[test]
    fn nonsense_does_no_harm(
        frame_ns in any::<u32>(),
        numbers in prop::collection::vec(any::<[u32; 4]>(), 0..50),
        now_ns in any::<u64>(),
    ) {
        let slots: Vec<takt_slot> = numbers
            .into_iter()
            .map(|[release_ns, beat_ns, end_ns, task]| takt_slot { release_ns, beat_ns, end_ns, task })
            .collect();
        Slots::new(frame_ns, &slots).look(now_ns / 2);
    }
}

#[test]
fn without_slots_all_time_is_free() {
    assert!(Slots::new(0, &[]).look(5).is_none());
    assert!(Slots::new(1000, &[]).look(5).is_none());
    let slot = takt_slot {
        end_ns: 1,
        ..takt_slot::default()
    };
    assert!(Slots::new(0, &[slot]).look(5).is_none());
}

#[test]
fn frames_are_counted_from_0_of_the_clock() {
    let table = Slots::new(160_000_000, &[]);
    assert_eq!(table.frame_start(159_999_999), 0);
    assert_eq!(table.frame_start(160_000_000), 160_000_000);
    assert_eq!(table.frame_start(1_000_000_000), 960_000_000);
}
