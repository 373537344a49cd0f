use super::*;

const MS: u64 = 1_000_000;
const ALICE: u32 = 1000;

/// Gives a reservation to every caller.
#[derive(Default)]
struct Open {
    held: Vec<Reservation>,
    sent_away: Option<SentAway>,
    /// The last caller.
    caller: Option<Caller>,
}

impl Reservations for Open {
    fn join(&mut self, tid: u32, caller: &Caller, wish: &Wish) -> Result<Reservation, JoinError> {
        self.caller = Some(caller.clone());
        let page = self.held.len() as u32;
        let place = match wish {
            Wish::Declared { task, member } => Reservation {
                tid,
                page,
                task: task.clone(),
                member: member.clone().unwrap_or_else(|| task.clone()),
                ad_hoc: None,
            },
            Wish::AdHoc(terms) => Reservation {
                tid,
                page,
                task: terms.group.clone().unwrap_or_else(|| format!("tid-{tid}")),
                member: (terms.member + 1).to_string(),
                ad_hoc: Some(caller.uid),
            },
        };
        self.held.push(place.clone());
        Ok(place)
    }

    fn leave(&mut self, tid: u32) -> Result<bool, takt_host::Error> {
        let before = self.held.len();
        self.held.retain(|own| own.tid != tid);
        Ok(self.held.len() < before)
    }

    fn list(&self) -> Result<Vec<Reservation>, takt_host::Error> {
        Ok(self.held.clone())
    }

    fn sent_away(&self, tid: u32, _uid: u32) -> Result<Option<SentAway>, takt_host::Error> {
        Ok(self.sent_away.clone().filter(|thread| thread.tid == tid))
    }
}

/// A process with threads from 100 on, which it numbers from 1.
struct Threads {
    count: u32,
    /// The threads end while they get their reservations.
    fleeting: bool,
}

impl Asker for Threads {
    fn groups(&self) -> &[u32] {
        &[7, 29]
    }

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
    let mut reservations = Open::default();
    let joined = join(&mut reservations, &MANY, ALICE, &ad_hoc(3, 40 * MS, MS)).unwrap();
    assert_eq!((joined.place.tid, joined.place.user), (102, Some(ALICE)));
    // A request without terms asks for the reservation that exists.
    let own = JoinBeat {
        tid: Some(3),
        ..JoinBeat::default()
    };
    assert_eq!(join(&mut reservations, &MANY, ALICE, &own), Ok(joined));
    assert_eq!(
        code(join(&mut reservations, &MANY, ALICE, &JoinBeat::default())),
        Code::NoPlace
    );
    let leaves = LeaveBeat { tid: Some(3) };
    assert!(leave(&mut reservations, &MANY, &leaves).unwrap().left);
    assert_eq!(
        leave(&mut reservations, &MANY, &leaves).unwrap_err().code,
        Code::NoPlace
    );
}

#[test]
fn a_process_joins_only_its_own_threads() {
    let mut reservations = Open::default();
    let request = ad_hoc(1001, 40 * MS, MS);
    assert_eq!(
        code(join(&mut reservations, &MANY, 0, &request)),
        Code::NotYours
    );
    // A thread that has ended meanwhile leaves no reservation.
    let fleeting = Threads {
        count: 1,
        fleeting: true,
    };
    let request = ad_hoc(1, 40 * MS, MS);
    assert_eq!(
        code(join(&mut reservations, &fleeting, 0, &request)),
        Code::NotYours
    );
    assert_eq!(reservations.held, []);
}

#[test]
fn contradictions_and_nonsense_are_refused() {
    let mut reservations = Open::default();
    let declared = JoinBeat {
        task: Some("av".to_owned()),
        ..JoinBeat::default()
    };
    let mut refused = |request: JoinBeat| code(join(&mut reservations, &MANY, 0, &request));
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
            handoff: None,
        };
        let request = JoinBeat {
            group: Some(group),
            ..ad_hoc(1, 40 * MS, MS)
        };
        assert_eq!(refused(request), Code::BadBeat, "{member} of {of}");
    }
    assert_eq!(reservations.held, []);
}

#[test]
fn who_asks_is_told_of_with_all_groups() {
    let mut reservations = Open::default();
    join(&mut reservations, &MANY, ALICE, &ad_hoc(1, 10 * MS, MS)).unwrap();
    let caller = reservations.caller.expect("a caller");
    assert_eq!((caller.uid, caller.groups), (ALICE, vec![7, 29]));
}

#[test]
fn who_was_sent_away_is_told_why() {
    let gone = SentAway {
        tid: 100,
        task: "av".to_owned(),
        user: ALICE,
        at_ns: 0,
        policy: Some("studio.toml".to_owned()),
        reason: "its slots are needed".to_owned(),
    };
    let mut reservations = Open {
        sent_away: Some(gone),
        ..Open::default()
    };
    let refusal = join(&mut reservations, &MANY, ALICE, &JoinBeat::default()).unwrap_err();
    assert_eq!(refusal.code, Code::NoPlace);
    for says in ["thread 100", "`av`", "studio.toml", "its slots are needed"] {
        assert!(refusal.message.contains(says), "{}", refusal.message);
    }
    let other = JoinBeat {
        tid: Some(2),
        ..JoinBeat::default()
    };
    let refusal = join(&mut reservations, &MANY, ALICE, &other).unwrap_err();
    assert!(
        refusal.message.contains("has no reservation"),
        "{}",
        refusal.message
    );
}
