use takt_policy::{ExactTime, Member, Overrun, ThreadMatch};

use super::*;

const MS: u64 = 1_000_000;
const ALICE: u32 = 1000;
const BOB: u32 = 1001;
const CAROL: u32 = 1002;
const FRAME: u64 = 200 * MS;

fn task(name: &str, period_ns: u64, budget_ns: u64) -> Task {
    Task {
        name: name.to_owned(),
        period_ns: period_ns.into(),
        budget_ns,
        offset_ns: None,
        lead_ns: 0,
        lead_auto: false,
        cpus: None,
        overrun: Overrun::Demote,
        handoff: Default::default(),
        members: members(1),
        line: 0,
    }
}

fn members(count: usize) -> Vec<Member> {
    let member = |number: usize| Member {
        name: number.to_string(),
        matches: ThreadMatch::default(),
    };
    (1..=count).map(member).collect()
}

/// The tasks that joined so far, on this many processors.
struct Beat {
    roster: Roster,
    frames: Vec<ExactTime>,
}

impl Beat {
    fn on(cpus: usize) -> Self {
        Self {
            roster: Roster::default(),
            frames: vec![FRAME.into(); cpus],
        }
    }

    fn join(&mut self, uid: u32, mut task: Task) -> Result<(), JoinError> {
        task.name = format!("tid-{}", self.roster.beats.tasks.len());
        admit(uid, &task, &self.roster, &self.frames)?;
        self.roster.ad_hoc.insert(task.name.clone(), uid);
        self.roster.beats.tasks.push(task);
        Ok(())
    }

    #[track_caller]
    fn refuses(&mut self, uid: u32, task: Task, says: &str) {
        let error = self.join(uid, task).expect_err("more than their share");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn users_have_a_share_and_root_has_none() {
    let mut beat = Beat::on(2);
    // Two processors at 93.75 %: a quarter is 46.875 % of one.
    for _ in 0..4 {
        beat.join(ALICE, task("", 10 * MS, MS)).unwrap();
    }
    beat.refuses(
        ALICE,
        task("", 10 * MS, MS),
        "user 1000 may reserve at most 46.8 %",
    );
    beat.join(ALICE, task("", 200 * MS, MS)).unwrap();
    beat.join(BOB, task("", 10 * MS, 4 * MS)).unwrap();
    // A third task has some share left, but all users together have not.
    beat.refuses(
        CAROL,
        task("", 10 * MS, 2 * MS),
        "all users together may reserve at most 93.7 %",
    );
    beat.join(0, task("", 10 * MS, 9 * MS)).unwrap();
    beat.refuses(CAROL, task("", MS / 2, 1000), "shorter than 1ms");
}

#[test]
fn a_share_is_had_to_the_last_slot() {
    let mut beat = Beat::on(2);
    // 46.875 % of 160 ms are 75 ms.
    beat.frames = vec![(160 * MS).into(); 2];
    beat.refuses(
        ALICE,
        task("", 160 * MS, 75 * MS + 1),
        "151 whole slots of 500us in every 160ms",
    );
    beat.join(ALICE, task("", 160 * MS, 75 * MS)).unwrap();
    beat.refuses(ALICE, task("", 160 * MS, 1000), "46.8 % is");
}

#[test]
fn users_threads_do_not_wait_for_slots_with_locks() {
    let mut beat = Beat::on(1);
    let waits = Task {
        overrun: Overrun::Wait,
        ..task("", 10 * MS, MS)
    };
    beat.refuses(ALICE, waits.clone(), "only root's threads");
    beat.join(0, waits).unwrap();
}

#[test]
fn the_smallest_budget_takes_a_whole_slot() {
    let mut beat = Beat::on(1);
    // A sixth of the processor each, for 0.15 % of what one user may have.
    beat.frames = vec![(600 * MS).into()];
    beat.join(ALICE, task("", 3 * MS, 1000)).unwrap();
    beat.refuses(
        ALICE,
        task("", 3 * MS, 1000),
        "user 1000 may reserve at most 23.4 % of a processor's time on the beat; 16.6 % is reserved, and a \
         budget of 1us takes 16.6 % more: 1 whole slot of 500us in every 3ms",
    );
}

#[test]
fn a_lead_is_counted() {
    let mut beat = Beat::on(1);
    let led = Task {
        lead_ns: 30 * MS,
        ..task("", 40 * MS, MS)
    };
    beat.refuses(
        ALICE,
        led,
        "a budget of 1ms with a lead of 30ms takes 77.5 % more: 62 whole slots of 500us in every 40ms",
    );
    let short = Task {
        lead_ns: 20_000,
        ..task("", 40 * MS, MS)
    };
    beat.join(ALICE, short).unwrap();
}

#[test]
fn users_have_so_many_tasks_and_threads() {
    let mut beat = Beat::on(64);
    for _ in 0..TASKS_OF_ONE_MAX {
        beat.join(ALICE, task("", 200 * MS, MS)).unwrap();
    }
    beat.refuses(
        ALICE,
        task("", 200 * MS, MS),
        "user 1000 may have at most 8 tasks",
    );
    let group = |count: usize| Task {
        members: members(count),
        ..task("", 200 * MS, MS)
    };
    beat.join(BOB, group(16)).unwrap();
    beat.refuses(BOB, group(17), "user 1001 may have at most 32 threads");
    beat.join(BOB, group(16)).unwrap();
    for uid in 1..=6 {
        let fits = if uid == 6 { 8 } else { 16 };
        beat.join(uid, group(fits)).unwrap();
    }
    beat.refuses(
        CAROL,
        group(1),
        "all users together may have at most 128 threads",
    );
    beat.join(0, group(16)).unwrap();
}

#[test]
fn all_users_together_have_so_many_tasks() {
    let mut beat = Beat::on(64);
    for user in 1..=TASKS_OF_USERS_MAX / TASKS_OF_ONE_MAX {
        for _ in 0..TASKS_OF_ONE_MAX {
            beat.join(user as u32, task("", 200 * MS, MS)).unwrap();
        }
    }
    beat.refuses(
        CAROL,
        task("", 200 * MS, MS),
        "all users together may have at most 64 tasks",
    );
}

#[test]
fn periods_of_users_go_together() {
    let mut beat = Beat::on(1);
    let says = "users' periods divide 200ms, so that they go together, and 199.5ms does not; a period \
                of 100ms does";
    beat.refuses(ALICE, task("", 199_500_000, MS), says);
    beat.refuses(ALICE, task("", 4000 * MS, MS), "a period of 200ms does");
    beat.refuses(ALICE, task("", 3 * MS, MS), "a period of 2.5ms does");
    // A period off the grid is refused by the planner.
    beat.join(ALICE, task("", 10_300_000, 1000)).unwrap();
    // Root's periods are not restricted.
    beat.join(0, task("", 199_500_000, MS)).unwrap();
    // One CPU on which they fit is enough.
    beat.frames.push((600 * MS).into());
    beat.join(BOB, task("", 30 * MS, MS)).unwrap();
}
