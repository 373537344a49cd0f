//! What holds on any line.

use proptest::prelude::*;
use takt_autorate::{Answer, Both, Bounds, Law, OneWay, Verdict, Why};

use crate::{
    capacity::Capacity,
    line::Host,
    run::{BOUNDS, HOSTS, Run},
};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn mbit(run: &Run) -> f64 {
    run.rate_bps() as f64 / 1e6
}

fn why(run: &Run) -> Why {
    let verdict = run.rates.up.or(run.rates.down);
    verdict.expect("a direction that changes").why
}

/// A reflector, what each way took, and the round trip.
type Told = (usize, i64, i64, u64);

/// Whatever is told, in any order: how much later, bytes of each direction, perhaps an answer.
fn any_step() -> impl Strategy<Value = (u64, u64, u64, Option<Told>)> {
    let answer = (0usize..6, any::<i64>(), any::<i64>(), 0u64..20 * S);
    let ns = prop_oneof![0u64..200 * MS, 0u64..20 * S];
    (ns, 0u64..1 << 30, 0u64..1 << 30, prop::option::of(answer))
}

proptest! {
    #[test]
    fn a_rate_stays_within_its_bounds(
        min_bps in 1_000u64..10_000_000,
        base in 0u64..100_000_000,
        max in 0u64..100_000_000,
        steps in prop::collection::vec(any_step(), 1..200),
    ) {
        let base_bps = min_bps + base;
        let bounds = Bounds { min_bps, base_bps, max_bps: base_bps + max };
        let both = Both { up: Some(bounds), down: Some(bounds) };
        let mut now_ns = 7 * S;
        let mut law = Law::new(both, 3, now_ns);
        let mut asked = Vec::new();
        for (ns, up, down, answer) in steps {
            now_ns += ns;
            if let Some(reflector) = law.ask(now_ns) {
                prop_assert!(reflector < 3);
                asked.push((reflector, now_ns));
            }
            if let Some((reflector, up_ns, down_ns, took_ns)) = answer {
                let known = asked.iter().rev().find(|asked| asked.0 == reflector);
                let sent_ns = known.map_or(now_ns, |asked| asked.1);
                let one_way = Some(OneWay { up_ns, down_ns });
                let heard_ns = sent_ns + took_ns;
                law.hear(Answer { reflector, sent_ns, heard_ns, one_way });
            }
            let rates = law.step(now_ns, Both { up, down });
            for rate_bps in [rates.up, rates.down].map(|rate: Option<Verdict>| rate.unwrap().rate_bps) {
                prop_assert!((min_bps..=base_bps + max).contains(&rate_bps), "{rate_bps}");
            }
            prop_assert!(law.due_ns() > now_ns - 1);
        }
    }

    #[test]
    fn a_constant_line_is_found_and_kept(mbits in 4.0f64..50.0, is_up: bool, seed: u64) {
        let make = || Capacity::constant(mbits, 60);
        let mut run = if is_up {
Run::up(make(), &HOSTS, seed)
} else {
Run::down(make(), &HOSTS, seed)
};
        run.quiet();
        run.pass(26);
        for _ in 0..30 {
            run.pass(1);
            // While a queue drains the rate is lower, and that keeps the line busy all the same.
            prop_assert!(mbit(&run) < 1.25 * mbits, "{} of {mbits}", mbit(&run));
        }
        let way = if is_up { &run.line.up } else { &run.line.down };
        prop_assert!(way.used() > 0.85, "{}", way.used());
        let mut late = way.delays_ms[way.delays_ms.len() / 2..].to_vec();
        late.sort_by(f64::total_cmp);
        prop_assert!(late[late.len() * 95 / 100] <= 30.0, "{}", late[late.len() * 95 / 100]);
    }

    #[test]
    fn after_a_step_down_delay_falls_within_seconds(
        before in 10.0f64..50.0,
        part in 0.3f64..0.9,
        is_up: bool,
        seed: u64,
    ) {
        let after = (before * part).max(4.0);
        let make = || Capacity::steps(&[(before, 20), (after, 20)]);
        let mut run = if is_up {
Run::up(make(), &HOSTS, seed)
} else {
Run::down(make(), &HOSTS, seed)
};
        run.quiet();
        run.pass(16);
        let mut queues_ms = Vec::new();
        for _ in 0..200 {
            run.pass_ms(100);
            let way = if is_up { &run.line.up } else { &run.line.down };
            queues_ms.push(way.queue_ms(run.line.ms));
        }
        let short = queues_ms.iter().position(|ms| *ms < 30.0);
        prop_assert!(short.is_some_and(|step| step < 50), "{queues_ms:?}");
        // And stays short.
        let late = &mut queues_ms[100..];
        late.sort_by(f64::total_cmp);
        prop_assert!(late[95] < 30.0, "{late:?}");
    }
}

#[test]
fn liars_and_the_dead_are_outvoted() {
    for others in [
        [Host::Jumps, Host::Dead],
        [Host::Constant, Host::Dead],
        [Host::Jumps, Host::Constant],
    ] {
        let hosts = [
            Host::Stamps(0),
            others[0],
            Host::Stamps(77),
            others[1],
            Host::Stamps(5),
        ];
        let mut run = Run::up(Capacity::steps(&[(20.0, 20), (8.0, 40)]), &hosts, 3);
        run.pass(20);
        assert!(
            run.line.up.used() > 0.85,
            "{others:?}: {}",
            run.line.up.used()
        );
        run.pass(20);
        assert!(mbit(&run) < 9.0, "{others:?}: {}", mbit(&run));
        assert!(mbit(&run) > 5.0, "{others:?}: {}", mbit(&run));
    }
}

#[test]
fn hosts_without_stamps_are_enough() {
    for hosts in [&[Host::Echo][..], &[Host::Echo; 3]] {
        let mut run = Run::down(Capacity::steps(&[(20.0, 20), (8.0, 20)]), hosts, 3);
        run.pass(20);
        assert!((15.0..23.0).contains(&mbit(&run)), "{}", mbit(&run));
        run.pass(20);
        assert!((5.0..9.5).contains(&mbit(&run)), "{}", mbit(&run));
    }
}

#[test]
fn without_answers_the_rate_goes_to_the_base() {
    for mbits in [40.0, 8.0] {
        let mut run = Run::up(Capacity::constant(mbits, 90), &HOSTS, 5);
        run.pass(30);
        let found = mbit(&run);
        assert!((found / mbits - 1.0).abs() < 0.2, "{found}");
        run.line.silence();
        // What comes late is no reason to be faster.
        run.pass(4);
        assert!(mbit(&run) <= found * 1.1, "{} after {found}", mbit(&run));
        run.pass(40);
        assert_eq!(run.rate_bps(), BOUNDS.base_bps);
        assert_eq!(why(&run), Why::Unheard);
    }
}

#[test]
fn a_host_that_slept_knows_nothing() {
    let mut run = Run::up(Capacity::constant(40.0, 60), &HOSTS, 5);
    run.pass(20);
    assert!(mbit(&run) > 30.0);
    run.sleeps_until_ms = run.line.ms + 5_000;
    run.pass(6);
    // It begins at the base again.
    assert!(mbit(&run) < 30.0, "{}", mbit(&run));
}

/// As satellites do when they hand over, or a route that changes.
#[test]
fn a_path_that_becomes_longer_is_no_queue() {
    let mut run = Run::up(Capacity::constant(20.0, 60), &HOSTS, 5);
    run.pass(20);
    run.line.longer_ms = 40.0;
    run.pass(10);
    assert!(mbit(&run) > 10.0, "{}", mbit(&run));
    run.pass(10);
    assert!((16.0..22.0).contains(&mbit(&run)), "{}", mbit(&run));
}

#[test]
fn an_idle_line_returns_to_the_base_and_is_asked_seldom() {
    let mut run = Run::up(Capacity::constant(40.0, 120), &HOSTS, 5);
    run.pass(20);
    assert!(mbit(&run) > 30.0);
    assert!(run.line.asked <= 220, "{}", run.line.asked);
    run.line.up.demand_bps = 1e5;
    run.pass(60);
    assert_eq!(run.rate_bps(), BOUNDS.base_bps);
    let asked = run.line.asked;
    run.pass(20);
    assert!(run.line.asked - asked <= 12, "{}", run.line.asked - asked);
}

#[test]
fn a_rate_that_was_set_before_is_kept_within_the_bounds() {
    for (before_bps, after_bps) in [(33_000_000, 33_000_000), (90_000_000, 60_000_000)] {
        let both = Both {
            up: Some(BOUNDS),
            down: None,
        };
        let mut law = Law::new(both, 3, S);
        law.start_at(Both {
            up: Some(before_bps),
            down: None,
        });
        assert_eq!(law.rates().up.map(|rate| rate.rate_bps), Some(after_bps));
    }
}
