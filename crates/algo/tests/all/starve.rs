//! Who counts as starving: who waits at every look, for long enough, while the others together get
//! less than their part.

use takt_algo::Starve;

const LOOK_NS: u64 = 100_000_000;
const BEGIN_NS: u64 = 7_000_000_000;

/// Looks at a CPU, until one finds a thread that starves. Returns the number of that look.
fn first_found(looks: impl IntoIterator<Item = (u64, u64)>) -> Option<u64> {
    let mut starve = Starve::default();
    let mut looks = (0..).zip(looks);
    looks
        .find(|(at, (waits, got_ns))| {
            let found = starve.look(BEGIN_NS + at * LOOK_NS, *waits, *got_ns);
            if let Some(waited_ns) = found {
                assert!(waited_ns >= Starve::MAX_NS);
            }
            found.is_some()
        })
        .map(|(at, _)| at)
}

#[test]
fn one_that_waits_all_the_time_starves() {
    let looks = [(1, 5); 20];
    assert_eq!(first_found(looks), Some(Starve::MAX_NS / LOOK_NS));
}

#[test]
fn time_counts_from_the_first_look_that_saw_it() {
    let looks = [(0, 5), (0, 5), (0, 5)].into_iter().chain([(1, 5); 20]);
    assert_eq!(first_found(looks), Some(3 + Starve::MAX_NS / LOOK_NS));
}

#[test]
fn who_runs_now_and_then_does_not_starve() {
    // Another thread waits at each third look.
    assert_eq!(first_found((0..60).map(|at| (1 + at / 3, 5))), None);
    // At each third look no realtime thread runs, or no one waits.
    assert_eq!(
        first_found((0..60).map(|at| (u64::from(at % 3 > 0), 5))),
        None
    );
}

/// A realtime thread that sleeps for a moment between the looks does not start the count anew.
#[test]
fn one_that_waits_starves_though_others_run_for_moments() {
    let looks = (0..60).map(|at| (1, at * LOOK_NS / (Starve::PARTS + 1)));
    assert_eq!(first_found(looks), Some(Starve::SLOW_MAX_NS / LOOK_NS));
}

#[test]
fn while_the_others_have_their_part_none_starves() {
    let looks = (0..60).map(|at| (1, at * LOOK_NS / Starve::PARTS));
    assert_eq!(first_found(looks), None);
}

#[test]
fn each_waits_for_its_turn_beside_one_that_sleeps_for_moments() {
    // Three ordinary threads go by turns, each at every third look.
    let looks = (0..60).map(|at| (1 + at, at * 20_000));
    assert_eq!(first_found(looks), None);
}
