//! A group's share under a limit, however its threads are stopped and let go.

use proptest::prelude::*;
use takt_algo::Bandwidth;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
const BEGIN_NS: u64 = 50 * S;

/// What threads that always want to run get of so much time, each run this long, and each let go
/// this late.
fn runs_ns(limit: &mut Bandwidth, for_ns: u64, run_ns: u64, late_ns: u64, threads: u64) -> u64 {
    let (mut now_ns, mut ran_ns) = (BEGIN_NS, 0);
    while now_ns < BEGIN_NS + for_ns {
        match limit.wait_ns(now_ns) {
            0 => {
                now_ns += run_ns;
                for _ in 0..threads {
                    limit.charge(now_ns, run_ns);
                    ran_ns += run_ns;
                }
            }
            wait_ns => now_ns += wait_ns + late_ns,
        }
    }
    ran_ns
}

#[test]
fn a_thread_gets_its_part_and_one_quota_of_credit() {
    let mut limit = Bandwidth::new(100_000, 20_000, 0);
    let got_ns = runs_ns(&mut limit, 10 * S, 4 * MS, MS, 1);
    let part_ns = 2 * S;
    assert!(got_ns >= part_ns && got_ns <= part_ns + 28 * MS, "{got_ns}");
}

#[test]
fn more_processors_get_no_more_in_all() {
    let mut limit = Bandwidth::new(100_000, 20_000, 0);
    let got_ns = runs_ns(&mut limit, 10 * S, 4 * MS, MS, 4);
    let part_ns = 2 * S;
    assert!(got_ns >= part_ns && got_ns <= part_ns + 40 * MS, "{got_ns}");
}

#[test]
fn a_quota_above_its_period_lets_several_run() {
    let mut limit = Bandwidth::new(100_000, 150_000, 0);
    let got_ns = runs_ns(&mut limit, 10 * S, 4 * MS, 0, 2);
    let part_ns = 15 * S;
    assert!(got_ns.abs_diff(part_ns) <= 200 * MS, "{got_ns}");
}

#[test]
fn idle_time_is_credit_for_one_period_and_the_burst() {
    for (burst_us, expected_ns) in [(0, 20 * MS), (10_000, 30 * MS)] {
        let mut limit = Bandwidth::new(100_000, 20_000, burst_us);
        let mut now_ns = BEGIN_NS;
        let mut ran_ns = 0;
        while limit.wait_ns(now_ns) == 0 {
            now_ns += 100 * US;
            ran_ns += 100 * US;
            limit.charge(now_ns, 100 * US);
        }
        // What it gets while it runs comes on top.
        let expected_ns = expected_ns + ran_ns / 5;
        assert!(ran_ns.abs_diff(expected_ns) <= 200 * US, "{ran_ns}");
    }
}

#[test]
fn no_wait_is_longer_than_the_longest() {
    let mut limit = Bandwidth::new(1_000_000, 1_000, 0);
    for _ in 0..100 {
        limit.charge(BEGIN_NS, 4 * MS);
    }
    assert_eq!(limit.wait_ns(BEGIN_NS), Bandwidth::WAIT_MAX_NS);
    assert_eq!(limit.wait_ns(BEGIN_NS + Bandwidth::WAIT_MAX_NS), 0);
}

proptest! {
    /// With a period of some length the timer's lateness costs nothing.
    #[test]
    fn the_part_is_exact_for_any_limit(
        quota_us in 5_000_u64..100_000,
        run_ns in 10 * US..8 * MS,
        late_ns in 0..5 * MS,
    ) {
        let mut limit = Bandwidth::new(100_000, quota_us, 0);
        let got_ns = runs_ns(&mut limit, 10 * S, run_ns, late_ns, 1);
        let part_ns = 10 * S * quota_us / 100_000;
        // A charge rounds by less than a nanosecond.
        let rounding_ns = got_ns / run_ns;
        let most_ns = part_ns + quota_us * US + 2 * run_ns + rounding_ns;
        prop_assert!(got_ns <= most_ns && got_ns + 20 * MS >= part_ns, "{got_ns} of {part_ns}");
    }

    /// Any numbers: nothing traps.
    #[test]
    fn wild_numbers_are_taken(
        times in prop::array::uniform5(any::<u64>()),
    ) {
        let [period_us, quota_us, burst_us, now_ns, ran_ns] = times;
        let mut limit = Bandwidth::new(period_us, quota_us, burst_us);
        limit.charge(now_ns, ran_ns);
        limit.wait_ns(now_ns);
    }
}
