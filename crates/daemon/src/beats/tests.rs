use takt_kernel::places::AdHoc;

use super::*;

const MS: u64 = 1_000_000;
const ALICE: u32 = 1000;
const BOB: u32 = 1001;

/// Gives a place to whoever asks.
#[derive(Default)]
struct Open {
    places: Vec<Place>,
    is_unloaded: bool,
}

impl Seats for Open {
    fn join(&mut self, tid: u32, uid: u32, wish: &Wish) -> Result<Place, JoinError> {
        let page = self.places.len() as u32;
        let place = match wish {
            Wish::Declared { task, member } => Place {
                tid,
                page,
                task: task.clone(),
                member: member.clone().unwrap_or_else(|| task.clone()),
                ad_hoc: None,
            },
            Wish::AdHoc(terms) => Place {
                tid,
                page,
                task: terms.group.clone().unwrap_or_else(|| format!("tid-{tid}")),
                member: (terms.member + 1).to_string(),
                ad_hoc: Some(AdHoc {
                    uid,
                    period_ns: terms.period_ns,
                    budget_ns: terms.budget_ns,
                }),
            },
        };
        self.places.push(place.clone());
        Ok(place)
    }

    fn leave(&mut self, tid: u32) -> Result<bool, takt_kernel::Error> {
        let before = self.places.len();
        self.places.retain(|place| place.tid != tid);
        Ok(self.places.len() < before)
    }

    fn list(&self) -> Result<Vec<Place>, takt_kernel::Error> {
        Ok(self.places.clone())
    }

    fn capacity(&self) -> Result<Option<Capacity>, takt_kernel::Error> {
        Ok((!self.is_unloaded).then_some(Capacity {
            cpu_count: 2,
            assigned_ppm: 937_500,
        }))
    }
}

/// A process with threads from 100 on, which it numbers from 1.
struct Threads {
    count: u32,
    /// They end while they get their place.
    fleeting: bool,
}

impl Asker for Threads {
    fn thread(&self, tid: Option<u32>) -> io::Result<Option<u32>> {
        let own = tid.unwrap_or(1);
        Ok((1..=self.count).contains(&own).then_some(99 + own))
    }

    fn has_thread(&self, _tid: u32) -> bool {
        !self.fleeting
    }
}

const MANY: Threads = Threads {
    count: 1000,
    fleeting: false,
};

fn ad_hoc(tid: u32, period_ns: u64, budget_ns: u64) -> JoinBeat {
    JoinBeat {
        tid: Some(tid),
        period_ns: Some(period_ns),
        budget_ns: Some(budget_ns),
        ..JoinBeat::default()
    }
}

fn code(result: Result<JoinedBeat, Refusal>) -> Code {
    result.expect_err("a refusal").code
}

#[test]
fn threads_join_by_the_number_they_have_themselves() {
    let mut seats = Open::default();
    let joined = join(&mut seats, &MANY, ALICE, &ad_hoc(3, 40 * MS, MS)).unwrap();
    assert_eq!((joined.place.tid, joined.place.user), (102, Some(ALICE)));
    // Asking for nothing is asking for what there is.
    let own = JoinBeat {
        tid: Some(3),
        ..JoinBeat::default()
    };
    assert_eq!(join(&mut seats, &MANY, ALICE, &own), Ok(joined));
    assert_eq!(
        code(join(&mut seats, &MANY, ALICE, &JoinBeat::default())),
        Code::NoPlace
    );
    let leaves = LeaveBeat { tid: Some(3) };
    assert!(leave(&mut seats, &MANY, &leaves).unwrap().left);
    assert_eq!(
        leave(&mut seats, &MANY, &leaves).unwrap_err().code,
        Code::NoPlace
    );
}

#[test]
fn nobody_speaks_for_anothers_threads() {
    let mut seats = Open::default();
    let request = ad_hoc(1001, 40 * MS, MS);
    assert_eq!(code(join(&mut seats, &MANY, 0, &request)), Code::NotYours);
    // One that has ended meanwhile leaves nothing.
    let fleeting = Threads {
        count: 1,
        fleeting: true,
    };
    let request = ad_hoc(1, 40 * MS, MS);
    assert_eq!(
        code(join(&mut seats, &fleeting, 0, &request)),
        Code::NotYours
    );
    assert_eq!(seats.places, []);
}

#[test]
fn contradictions_and_nonsense_are_refused() {
    let mut seats = Open::default();
    let declared = JoinBeat {
        task: Some("av".to_owned()),
        ..JoinBeat::default()
    };
    let mut refused = |request: JoinBeat| code(join(&mut seats, &MANY, 0, &request));
    assert_eq!(
        refused(JoinBeat {
            period_ns: Some(MS),
            ..declared
        }),
        Code::Malformed
    );
    assert_eq!(
        refused(JoinBeat {
            member: Some("mix".to_owned()),
            ..JoinBeat::default()
        }),
        Code::Malformed
    );
    assert_eq!(
        refused(JoinBeat {
            budget_ns: Some(MS),
            ..JoinBeat::default()
        }),
        Code::Malformed
    );
    assert_eq!(refused(ad_hoc(1, MS, 2 * MS)), Code::BadBeat);
    assert_eq!(refused(ad_hoc(1, u64::MAX, MS)), Code::BadBeat);
    for (member, of) in [(0, 3), (4, 3), (1, 0), (1, u32::MAX)] {
        let group = GroupMember {
            name: "av".to_owned(),
            member,
            of,
        };
        let request = JoinBeat {
            group: Some(group),
            ..ad_hoc(1, 40 * MS, MS)
        };
        assert_eq!(refused(request), Code::BadBeat, "{member} of {of}");
    }
    assert_eq!(seats.places, []);
}

#[test]
fn users_have_a_share_and_root_has_none() {
    let mut seats = Open::default();
    // Two processors at 93.75 %: a quarter is 46.875 % of one.
    for tid in 1..=4 {
        join(&mut seats, &MANY, ALICE, &ad_hoc(tid, 10 * MS, MS)).unwrap();
    }
    assert_eq!(
        code(join(&mut seats, &MANY, ALICE, &ad_hoc(5, 10 * MS, MS))),
        Code::TooMany
    );
    join(&mut seats, &MANY, ALICE, &ad_hoc(5, 1000 * MS, MS)).unwrap();
    join(&mut seats, &MANY, BOB, &ad_hoc(6, 10 * MS, 4 * MS)).unwrap();
    // A third one would have some left, but all together have not.
    assert_eq!(
        code(join(&mut seats, &MANY, 1002, &ad_hoc(7, 10 * MS, 2 * MS))),
        Code::TooMany
    );
    join(&mut seats, &MANY, 0, &ad_hoc(8, 10 * MS, 9 * MS)).unwrap();
    assert_eq!(
        code(join(&mut seats, &MANY, 1002, &ad_hoc(9, MS / 2, 1000))),
        Code::BadBeat
    );
}

#[test]
fn users_have_so_many_tasks_and_a_group_is_one() {
    let mut seats = Open::default();
    let in_group = |tid: u32, member: u32| JoinBeat {
        group: Some(GroupMember {
            name: "av".to_owned(),
            member,
            of: 3,
        }),
        ..ad_hoc(tid, 10 * MS, 4 * MS)
    };
    for member in 1..=3 {
        join(&mut seats, &MANY, ALICE, &in_group(member, member)).unwrap();
    }
    for tid in 10..10 + limit::TASKS_OF_ONE_MAX as u32 - 1 {
        join(&mut seats, &MANY, ALICE, &ad_hoc(tid, 4000 * MS, MS)).unwrap();
    }
    assert_eq!(
        code(join(&mut seats, &MANY, ALICE, &ad_hoc(30, 4000 * MS, MS))),
        Code::TooMany
    );
}

#[test]
fn without_beats_root_alone_has_a_place_made() {
    let mut seats = Open {
        is_unloaded: true,
        ..Open::default()
    };
    assert_eq!(
        code(join(&mut seats, &MANY, ALICE, &ad_hoc(1, 40 * MS, MS))),
        Code::NoBeats
    );
    join(&mut seats, &MANY, 0, &ad_hoc(1, 40 * MS, MS)).unwrap();
}
