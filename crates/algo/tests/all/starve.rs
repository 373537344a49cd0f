//! Who counts as starving: who waits at every look, for long enough, while no other runs.

use takt_algo::Starve;

const LOOK_NS: u64 = 100_000_000;
const BEGIN_NS: u64 = 7_000_000_000;

/// Looks at a CPU, until one finds a thread that starves. Returns the number of that look.
fn first_found(looks: impl IntoIterator<Item = (u64, u64)>) -> Option<u64> {
    let mut starve = Starve::default();
    let mut looks = (0..).zip(looks);
    looks
        .find(|(at, (waits, ran_ns))| {
            let found = starve.look(BEGIN_NS + at * LOOK_NS, *waits, *ran_ns);
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
    // One ran between the looks.
    assert_eq!(first_found((0..60).map(|at| (1, at / 3))), None);
    // At each third look no realtime thread runs, or no one waits.
    assert_eq!(
        first_found((0..60).map(|at| (u64::from(at % 3 > 0), 5))),
        None
    );
}
