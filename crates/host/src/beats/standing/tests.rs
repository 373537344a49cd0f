use proptest::prelude::*;
use takt_planner::beats::Fault;
use takt_policy::{Member, Overrun, Task, ThreadMatch};

use super::*;
use crate::beats::ids::TaskIds;

const MS: u64 = 1_000_000;
const ALICE: u32 = 1000;
const BOB: u32 = 1001;

fn host(cpus: u32) -> Host {
    Host {
        cpus: (0..cpus).collect(),
        grid_ns: MS.into(),
        free_ppm: 100_000,
    }
}

/// Period and budget in milliseconds.
fn task(name: &str, period_ms: u64, budget_ms: u64) -> Task {
    Task {
        name: name.to_owned(),
        period_ns: (period_ms * MS).into(),
        budget_ns: budget_ms * MS,
        offset_ns: None,
        lead_ns: 0,
        lead_auto: false,
        cpus: None,
        overrun: Overrun::Demote,
        handoff: Default::default(),
        members: vec![Member {
            name: name.to_owned(),
            matches: ThreadMatch::default(),
        }],
        line: 0,
    }
}

fn roster(policy: &[Task], joined: &[(u32, Task)]) -> Roster {
    let mut roster = Roster::default();
    roster.beats.grid_ns = MS.into();
    roster.beats.free_ppm = 100_000;
    roster.beats.tasks.extend_from_slice(policy);
    for (uid, task) in joined {
        roster.ad_hoc.insert(task.name.clone(), *uid);
        roster.beats.tasks.push(task.clone());
    }
    roster
}

fn record(roster: &Roster, timetable: &Timetable) -> BeatsRecord {
    let names = roster.beats.tasks.iter().map(|task| task.name.clone());
    BeatsRecord {
        generation: 2,
        roster: roster.clone(),
        ids: TaskIds::default(),
        placements: names.zip(timetable.placements.iter().cloned()).collect(),
    }
}

/// They have joined one after the other, each by itself.
fn joined(host: &Host, policy: &[Task], come: &[(u32, Task)]) -> BeatsRecord {
    let start = roster(policy, &[]);
    let mut before = record(
        &start,
        &settle(host, &start, None).expect("a policy").timetable,
    );
    for count in 1..=come.len() {
        let next = roster(policy, &come[..count]);
        let timetable = beside(host, &next, Some(&before), &come[count - 1].1.name);
        before = record(&next, &timetable.expect("room for who comes"));
    }
    before
}

fn with_policy(before: &BeatsRecord, policy: &[Task]) -> Roster {
    let joined = before.roster.beats.tasks.iter();
    let joined: Vec<(u32, Task)> = joined
        .filter_map(|task| Some((*before.roster.ad_hoc.get(&task.name)?, task.clone())))
        .collect();
    roster(policy, &joined)
}

fn names(away: &[(String, Refusal)]) -> Vec<&str> {
    away.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn what_joined_stays_where_it_is_if_there_is_room() {
    let host = host(1);
    let before = joined(
        &host,
        &[],
        &[
            (ALICE, task("u1000/a", 20, 4)),
            (BOB, task("u1001/b", 20, 4)),
        ],
    );
    let next = with_policy(&before, &[task("mixer", 20, 8)]);
    let settled = settle(&host, &next, Some(&before)).expect("room for all");
    assert!(settled.moved.is_empty() && settled.away.is_empty());
    for (placement, name) in settled.timetable.placements[1..]
        .iter()
        .zip(["u1000/a", "u1001/b"])
    {
        assert_eq!(Some(placement), before.placement(name));
    }
}

#[test]
fn it_is_moved_for_the_policy() {
    let host = host(1);
    let before = joined(
        &host,
        &[],
        &[
            (ALICE, task("u1000/a", 20, 4)),
            (BOB, task("u1001/b", 20, 4)),
        ],
    );
    // `a` stays where it is, and there is no other CPU.
    let mut mixer = task("mixer", 20, 4);
    mixer.offset_ns = Some(0.into());
    let next = with_policy(&before, &[mixer]);
    let settled = settle(&host, &next, Some(&before)).expect("room for all");
    assert_eq!(settled.moved, ["u1000/a"]);
    assert!(settled.away.is_empty());
    assert_eq!(settled.timetable.placements[0].pieces[0].begin_ns, 0);
    // The other one is not moved for it.
    assert_eq!(
        Some(&settled.timetable.placements[2]),
        before.placement("u1001/b")
    );
}

#[test]
fn those_of_least_precedence_are_sent_away_first() {
    let host = host(1);
    let come = [
        (ALICE, task("u1000/old", 20, 4)),
        (0, task("u0/roots", 20, 4)),
        (BOB, task("u1001/middle", 20, 4)),
        (ALICE, task("u1000/young", 20, 4)),
    ];
    let before = joined(&host, &[], &come);
    for (budget_ms, expected) in [
        (2, vec![]),
        (4, vec!["u1000/young"]),
        (8, vec!["u1001/middle", "u1000/young"]),
        (12, vec!["u1000/old", "u1001/middle", "u1000/young"]),
        (
            18,
            vec!["u0/roots", "u1000/old", "u1001/middle", "u1000/young"],
        ),
    ] {
        let next = with_policy(&before, &[task("mixer", 20, budget_ms)]);
        let settled = settle(&host, &next, Some(&before)).expect("room for the policy");
        assert_eq!(names(&settled.away), expected, "{budget_ms} ms");
        for (_, why) in &settled.away {
            assert!(why.to_string().contains("CPU 0"), "{why}");
        }
    }
}

#[test]
fn an_older_one_that_must_move_takes_no_place_of_a_younger_one_without_need() {
    let host = host(2);
    let come = [
        (ALICE, task("u1000/a", 20, 9)),
        (BOB, task("u1001/b", 20, 9)),
        (BOB, task("u1001/c", 20, 9)),
    ];
    let before = joined(&host, &[], &come);
    let mut mixer = task("mixer", 20, 4);
    (mixer.offset_ns, mixer.cpus) = (Some(0.into()), Some(vec![0]));
    let settled = settle(&host, &with_policy(&before, &[mixer]), Some(&before)).expect("room");
    assert_eq!(settled.moved, ["u1000/a"]);
    assert!(settled.away.is_empty(), "{:?}", settled.away);
}

#[test]
fn what_has_no_room_by_itself_is_refused_without_a_word_of_others() {
    let host = host(1);
    let before = joined(&host, &[], &[(ALICE, task("u1000/a", 20, 8))]);
    let next = with_policy(&before, &[task("mixer", 20, 12), task("player", 20, 12)]);
    let refusal = settle(&host, &next, Some(&before))
        .err()
        .expect("too much")
        .to_string();
    assert!(
        refusal.contains("player") || refusal.contains("mixer"),
        "{refusal}"
    );
    assert!(!refusal.contains("u1000"), "{refusal}");
}

#[test]
fn another_grid_moves_what_can_be_on_it() {
    let before = joined(
        &host(1),
        &[],
        &[
            (ALICE, task("u1000/a", 20, 3)),
            (BOB, task("u1001/b", 25, 1)),
        ],
    );
    let mut next = with_policy(&before, &[task("mixer", 20, 4)]);
    next.beats.grid_ns = (4 * MS).into();
    let coarse = Host {
        grid_ns: (4 * MS).into(),
        ..host(1)
    };
    let settled = settle(&coarse, &next, Some(&before)).expect("room for the policy");
    assert_eq!(
        settled.timetable.placements[0].pieces[0].begin_ns % (4 * MS),
        0
    );
    // 25 ms are none of its multiples.
    assert_eq!(names(&settled.away), ["u1001/b"]);
    let (_, why) = &settled.away[0];
    assert!(
        matches!(
            why,
            Refusal::Senseless {
                fault: Fault::Period { .. },
                ..
            }
        ),
        "{why}"
    );
}

#[test]
fn a_users_thread_moves_nothing() {
    let host = host(1);
    let policy = [task("first", 20, 2), task("second", 20, 2)];
    let before = joined(&host, &policy, &[]);
    // Free is 4 to 18 of every 20 ms, and the offset is where `first` is.
    let mut comes = task("u1000/a", 20, 4);
    comes.offset_ns = Some(0.into());
    let next = roster(&policy, &[(ALICE, comes.clone())]);
    assert!(beside(&host, &next, Some(&before), "u1000/a").is_err());
    comes.name = "u0/a".to_owned();
    let next = roster(&policy, &[(0, comes)]);
    beside(&host, &next, Some(&before), "u0/a").expect("root's has the others elsewhere");
}

#[test]
fn users_go_where_their_periods_do() {
    let host = host(2);
    let mut odd = task("odd", 7, 1);
    odd.cpus = Some(vec![0]);
    let before = joined(&host, &[odd.clone()], &[]);
    let next = roster(&[odd], &[(ALICE, task("u1000/a", 40, 1))]);
    let timetable = beside(&host, &next, Some(&before), "u1000/a").expect("room");
    assert_eq!(timetable.placements[1].pieces[0].cpu, 1);
    // 7 ms and 20 ms come together every 140 ms.
    let frames = common_frames(&host, &before.fixed());
    assert_eq!(frames, [(0, (140 * MS).into()), (1, (200 * MS).into())]);
}

fn any_task(name: String) -> impl Strategy<Value = Task> {
    let periods = proptest::sample::select(vec![5u64, 10, 20, 40, 50, 100]);
    (
        periods,
        1u64..60,
        proptest::option::weighted(0.3, 0u64..100),
    )
        .prop_map(move |(period, share, offset)| {
            let budget = (period * share / 100).max(1);
            let mut task = task(&name, period, budget);
            task.offset_ns = offset.map(|at| (at % (period - budget + 1) * MS).into());
            task
        })
}

fn tasks(of: &'static str, most: usize) -> impl Strategy<Value = Vec<Task>> {
    (0..=most).prop_flat_map(move |count| {
        (0..count)
            .map(|at| any_task(format!("{of}{at}")))
            .collect::<Vec<_>>()
    })
}

proptest! {
    /// A policy that fits by itself is never refused because of ad hoc tasks, and no ad hoc
    /// task that fits loses its reservations.
    #[test]
    fn a_policy_has_its_room_and_none_goes_in_vain(
        cpus in 1u32..3,
        policy in tasks("p", 5),
        come in tasks("j", 8),
        of_root in proptest::collection::vec(any::<bool>(), 8),
    ) {
        let host = host(cpus);
        let mut before = record(&Roster::default(), &Timetable { placements: vec![], tables: vec![] });
        let mut there: Vec<(u32, Task)> = Vec::new();
        for (task, of_root) in come.into_iter().zip(of_root) {
            there.push((if of_root { 0 } else { ALICE }, task.clone()));
            let next = roster(&[], &there);
            match beside(&host, &next, Some(&before), &task.name) {
                Ok(timetable) => before = record(&next, &timetable),
                Err(_) => drop(there.pop()),
            }
        }
        let next = with_policy(&before, &policy);
        let alone = settle(&host, &roster(&policy, &[]), Some(&before));
        let settled = match settle(&host, &next, Some(&before)) {
            Ok(settled) => settled,
            Err(_) => {
                prop_assert!(alone.is_err());
                return Ok(());
            }
        };
        let is_away = |name: &str| settled.away.iter().any(|(away, _)| away == name);
        let left = next.without(is_away);
        prop_assert_eq!(left.beats.tasks.len(), settled.timetable.placements.len());
        let now = record(&left, &settled.timetable);
        for task in &left.beats.tasks {
            let stays = before.placement(&task.name);
            let is_moved = settled.moved.contains(&task.name);
            let is_joined = left.ad_hoc.contains_key(&task.name);
            prop_assert!(!is_joined || is_moved || stays == now.placement(&task.name));
        }
        for (name, _) in &settled.away {
            let back = next.without(|other| is_away(other) && other != name);
            prop_assert!(around(&host, &back, Some(&now), Stay::All).is_err(), "{name} fits");
        }
    }
}
