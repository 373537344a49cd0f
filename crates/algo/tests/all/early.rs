//! Alarms so much before a slot that the thread's code runs when it opens.

use proptest::prelude::*;
use takt_algo::{
    early::{Early, Interrupted, aim_ns, is_too_early},
    sys,
};

const FIRST: usize = sys::TAKT_EARLY_FIRST as usize;
const WINDOW: usize = sys::TAKT_EARLY_WINDOW as usize;
const MAX_NS: u64 = sys::TAKT_EARLY_MAX_NS as u64;
const TICK_NS: u64 = 4_000_000;

/// So many starts that took equally long.
fn started(early: &mut Early, from: Interrupted, times: usize, alarm_ns: u64, switch_ns: u64) {
    for _ in 0..times {
        early.note_alarm(from, alarm_ns);
        early.note_switch(from, switch_ns);
    }
}

fn measured() -> Early {
    let mut early = Early::default();
    early.note_return(Interrupted::Thread, 1_500);
    early.note_return(Interrupted::Idle, 1_300);
    early
}

#[test]
fn nothing_is_early_before_it_is_known() {
    let mut early = Early::default();
    started(&mut early, Interrupted::Thread, 2 * WINDOW, 1_000, 4_000);
    assert_eq!(early.set_ns(false), 0, "the return is not known");

    let mut early = measured();
    started(&mut early, Interrupted::Thread, FIRST - 1, 1_000, 4_000);
    assert_eq!(early.set_ns(false), 0);
    assert_eq!(early.go_ns(Interrupted::Thread, 9_000), 9_000);
    started(&mut early, Interrupted::Thread, 1, 1_000, 4_000);
    assert_eq!(early.set_ns(false), 6_500);
    assert_eq!(early.go_ns(Interrupted::Thread, 9_000), 9_000 - 5_500);
    // What an alarm interrupts has a length of its own.
    assert_eq!(early.go_ns(Interrupted::Idle, 9_000), 9_000);
}

#[test]
fn an_alarm_is_set_for_what_takes_longest() {
    let mut early = measured();
    started(&mut early, Interrupted::Thread, FIRST, 1_000, 4_000);
    started(&mut early, Interrupted::Sleep, FIRST, 1_800, 3_900);
    started(&mut early, Interrupted::Beat, FIRST, 1_000, 5_000);
    assert_eq!(early.set_ns(false), 1_800 + 3_900 + 1_300);
    assert_eq!(early.set_ns(true), 1_000 + 5_000 + 1_500);
}

#[test]
fn the_least_switch_counts_for_two_windows() {
    let mut early = measured();
    started(&mut early, Interrupted::Thread, FIRST, 1_000, 4_000);
    started(&mut early, Interrupted::Thread, 1, 1_000, 3_000);
    assert_eq!(early.set_ns(false), 1_000 + 3_000 + 1_500);
    started(
        &mut early,
        Interrupted::Thread,
        2 * WINDOW - 2,
        1_000,
        4_000,
    );
    assert_eq!(early.set_ns(false), 1_000 + 3_000 + 1_500);
    started(&mut early, Interrupted::Thread, 1, 1_000, 4_000);
    assert_eq!(early.set_ns(false), 6_500);
}

#[test]
fn late_alarms_are_set_earlier_up_to_a_limit() {
    let mut early = measured();
    started(&mut early, Interrupted::Thread, FIRST - 1, 1_000, 4_000);
    started(&mut early, Interrupted::Thread, 1, 1_600, 4_000);
    assert_eq!(early.set_ns(false), 7_100);
    started(&mut early, Interrupted::Thread, 1, 90_000, 4_000);
    assert_eq!(early.set_ns(false), 6_500 + sys::TAKT_EARLY_WAIT_NS);
}

#[test]
fn a_thread_starts_before_a_tick_and_after_any_other_edge() {
    let after_ns = u64::from(sys::TAKT_EARLY_AFTER_NS);
    let before_ns = u64::from(sys::TAKT_EARLY_BEFORE_NS);
    let edge_ns = 100 * TICK_NS;
    // A tick is seen a little after it came.
    let seen_ns = 90 * TICK_NS + 1_500;
    assert_eq!(aim_ns(edge_ns, seen_ns, TICK_NS), edge_ns - before_ns);
    assert_eq!(
        aim_ns(edge_ns + 1_000_000, seen_ns, TICK_NS),
        edge_ns + 1_000_000 + after_ns
    );
    assert_eq!(aim_ns(edge_ns, 0, TICK_NS), edge_ns + after_ns);
    assert_eq!(aim_ns(edge_ns, seen_ns, 0), edge_ns + after_ns);
}

#[test]
fn only_a_yield_that_soon_means_too_early() {
    assert!(is_too_early(9_000, 10_000, 9_300));
    assert!(is_too_early(9_000, 10_000, 10_300));
    assert!(!is_too_early(9_000, 10_000, 11_300));
    // As before a tick.
    assert!(!is_too_early(9_920, 10_000, 10_300));
    assert!(!is_too_early(10_050, 10_000, 10_300));
}

proptest! {
    /// A start that takes no less than the last ones did is not before its aim.
    #[test]
    fn no_start_is_early(
        alarms in prop::collection::vec(800_u64..3_000, FIRST..3 * WINDOW),
        switches in prop::collection::vec(2_000_u64..9_000, FIRST..3 * WINDOW),
        again in any::<prop::sample::Index>(),
    ) {
        let mut early = measured();
        let count = alarms.len().min(switches.len());
        for (alarm_ns, switch_ns) in alarms.iter().zip(&switches) {
            started(&mut early, Interrupted::Thread, 1, *alarm_ns, *switch_ns);
        }
        let recent = count - count.min(WINDOW)..count;
        let at = recent.start + again.index(recent.len());
        let aim_ns = 1_000_000;
        let set_ns = aim_ns - u64::from(early.set_ns(false));
        prop_assert!(aim_ns - set_ns <= MAX_NS);
        let ready_ns = set_ns + alarms[at];
        let start_ns = ready_ns.max(early.go_ns(Interrupted::Thread, aim_ns)) + switches[at] + 1_500;
        let known = count >= FIRST;
        prop_assert!(!known || start_ns >= aim_ns, "{start_ns}");
    }

    /// Whatever was noted.
    #[test]
    fn no_alarm_is_set_much_earlier(took in prop::collection::vec(any::<u64>(), 0..200)) {
        let mut early = Early::default();
        for took_ns in took {
            started(&mut early, Interrupted::Thread, 1, took_ns, took_ns);
            early.note_return(Interrupted::Thread, took_ns);
            prop_assert!(u64::from(early.set_ns(true)) <= MAX_NS);
        }
    }
}
