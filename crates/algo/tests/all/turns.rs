//! Turns and budgets against a model that remembers every job.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use takt_algo::Turns;

const PERIOD_NS: u64 = 1_000_000;
const BUDGET_NS: u64 = 200_000;

/// A plain account of all jobs.
#[derive(Default)]
struct Account {
    used_ns: BTreeMap<u64, u64>,
    done: BTreeSet<u64>,
    turn: u32,
}

impl Account {
    fn left_ns(&self, job: u64) -> u64 {
        let used_ns = self.used_ns.get(&job).copied().unwrap_or(0);
        if self.done.contains(&job) {
            0
        } else {
            BUDGET_NS.saturating_sub(used_ns)
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Run(u64),
    Yield,
    /// This many periods pass.
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..BUDGET_NS).prop_map(Step::Run),
        3 => Just(Step::Yield),
        2 => (1..4u64).prop_map(Step::Pass),
    ]
}

proptest! {
    #[test]
    fn every_job_is_accounted_for(
        members in 1..=Turns::MEMBERS_MAX,
        first in 1..1u64 << 40,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut turns = Turns::new(PERIOD_NS, BUDGET_NS, members);
        let mut account = Account::default();
        let mut job = first;
        for step in steps {
            match step {
                Step::Run(ran_ns) => {
                    turns.charge(job, ran_ns);
                    *account.used_ns.entry(job).or_default() += ran_ns;
                }
                Step::Yield => {
                    account.turn += 1;
                    let ends = account.turn == members;
                    if ends {
                        account.turn = 0;
                        account.done.insert(job);
                    }
                    prop_assert_eq!(turns.end_turn(job), ends);
                }
                Step::Pass(periods) => job += periods,
            }
            prop_assert_eq!(turns.turn(), account.turn);
            prop_assert_eq!(turns.left_ns(job), account.left_ns(job));
            prop_assert_eq!(turns.left_ns(job + 1), BUDGET_NS);
        }
    }

    /// Whatever members choose: one of them has the turn, a choice of one that waits is followed,
    /// and the budget is the group's.
    #[test]
    fn a_choice_stays_within_its_group(
        members in 1..=Turns::MEMBERS_MAX,
        steps in prop::collection::vec((0..20u32, any::<u32>(), 0..BUDGET_NS / 4), 1..100),
    ) {
        let mut turns = Turns::new(PERIOD_NS, BUDGET_NS, members);
        turns.set_free(true);
        let (mut job, mut used_ns) = (1, 0);
        for (to, waiting, ran_ns) in steps {
            turns.charge(job, ran_ns);
            used_ns += ran_ns;
            prop_assert_eq!(turns.left_ns(job), BUDGET_NS.saturating_sub(used_ns));
            let before = turns.turn();
            let ends = turns.pass(job, to, waiting);
            let turn = turns.turn();
            prop_assert!(turn < members);
            let comes = |at: u32| waiting >> at & 1 == 1;
            match to {
                0 => prop_assert!(ends && turn == 0),
                _ if to > members => prop_assert_eq!((turn, ends), match before + 1 {
                    next if next == members => (0, true),
                    next => (next, false),
                }),
                _ => {
                    prop_assert!(!ends);
                    let in_order = (0..members).map(|step| (to - 1 + step) % members);
                    let expected = { in_order }.find(|at| comes(*at)).unwrap_or(to - 1);
                    prop_assert_eq!(turn, expected);
                }
            }
            if ends {
                prop_assert_eq!(turns.left_ns(job), 0);
                (job, used_ns) = (job + 1, 0);
            }
        }
    }

    #[test]
    fn a_fractions_jobs_are_counted_by_their_edges(job in 1..1u64 << 32, late_ns in 0..3u64) {
        let mut turns = Turns::new(1, 1, 1);
        turns.set_period(640_000_000, 441);
        let beat_ns = ((job - 1) * 640_000_000).div_ceil(441);
        prop_assert_eq!(turns.job_at(beat_ns + late_ns), job);
    }

    #[test]
    fn a_job_has_its_beat_in_its_period(period_ns in 1..4_000_000_000u64, beat_ns in any::<u64>()) {
        let turns = Turns::new(period_ns, 1, 1);
        let job = turns.job_at(beat_ns);
        prop_assert!(job >= 1);
        prop_assert_eq!(job - 1, beat_ns / period_ns);
    }

    /// Jobs of another period have other numbers, mostly smaller ones: they must not wait until
    /// the clock has caught up with the old numbers.
    #[test]
    fn another_period_starts_with_its_next_job(
        old_ns in 100_000..4_000_000_000u64,
        new_ns in 100_000..4_000_000_000u64,
        now_ns in 1u64 << 32..1 << 60,
    ) {
        let mut turns = Turns::new(old_ns, 50_000, 1);
        let job = turns.job_at(now_ns);
        turns.charge(job, 50_000);
        turns.end_turn(job);
        turns.set_times(new_ns, 60_000);
        let job = turns.job_at(now_ns);
        // One of at least two that follow each other, in case the numbers meet.
        prop_assert!(turns.left_ns(job) == 60_000 || turns.left_ns(job + 1) == 60_000);
    }
}

#[test]
fn no_period_and_no_budget_do_no_harm() {
    let mut turns = Turns::new(0, 0, 0);
    assert_eq!(turns.job_at(u64::MAX), 1);
    assert_eq!(turns.left_ns(1), 0);
    assert!(turns.end_turn(1));
    turns.set_free(true);
    assert!(turns.pass(1, 0, u32::MAX));
    turns.pass(1, 1, u32::MAX);
    turns.charge(1, u64::MAX);
    assert_eq!(turns.left_ns(2), 0);
}
