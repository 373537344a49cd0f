//! The users' quota of the beat, against each other and against root's policy.

use std::{
    fs,
    os::unix::process::CommandExt,
    process::Command,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use nix::unistd::{Gid, Uid, gettid, setgid, setgroups, setuid};
use serde_json::Value;

use crate::{
    daemon::{Daemon, ROOT_SOCKET, say, say_at},
    machine::{DEFAULT, TWO_PROCESSORS},
    owners::{ALICE, as_user},
    shell::{Ran, run_command},
    takt::{apply, apply_with, assert_no_trace, takt},
};

const BOB: u32 = 1001;
const CAROL: u32 = 1002;
const AUDIO: u32 = 29;

fn policy(join: &str, tasks: &str) -> String {
    let join = match join {
        "" => String::new(),
        join => format!("join = \"{join}\"\n"),
    };
    format!("[beats]\n{join}{tasks}")
}

fn task(name: &str, budget: &str, more: &str) -> String {
    format!("[[task]]\nname = \"{name}\"\nperiod = \"40ms\"\nbudget = \"{budget}\"\n{more}\n")
}

/// takt, as this user in these groups.
fn as_member(uid: u32, groups: &'static [u32], arguments: &str) -> Ran {
    let mut command = Command::new("takt");
    command.args(arguments.split_whitespace());
    let enter = move || {
        let groups: Vec<Gid> = groups.iter().copied().map(Gid::from_raw).collect();
        setgroups(&groups)?;
        setgid(Gid::from_raw(uid))?;
        setuid(Uid::from_raw(uid))?;
        Ok(())
    };
    // SAFETY: three system calls, and memory of its own.
    unsafe { command.pre_exec(enter) };
    run_command(&mut command)
}

/// A user's thread, which asks taktd for one reservation after the other and keeps them.
struct User {
    ask: Sender<String>,
    answers: std::sync::mpsc::Receiver<Value>,
    thread: JoinHandle<()>,
}

impl User {
    fn start(uid: u32) -> Self {
        let (ask, asked) = channel::<String>();
        let (answer, answers) = channel();
        let thread = thread::spawn(move || {
            as_user(uid, move || {
                // SAFETY: it has no arguments, and cannot fail.
                let tid = unsafe { libc::gettid() };
                for terms in asked {
                    let line = format!(r#"{{"join_beat":{{"tid":{tid}{terms}}}}}"#);
                    answer.send(say(&line)).unwrap();
                }
            });
        });
        Self {
            ask,
            answers,
            thread,
        }
    }

    fn asks(&self, terms: &str) -> Value {
        self.ask.send(terms.to_owned()).unwrap();
        self.answers.recv().unwrap()
    }

    #[track_caller]
    fn joins(&self, terms: &str) -> Value {
        let answer = self.asks(terms);
        assert!(answer["ok"].is_object(), "{answer}");
        answer["ok"]["place"].clone()
    }

    #[track_caller]
    fn is_refused(&self, terms: &str, code: &str, says: &[&str]) {
        let answer = self.asks(terms);
        assert_eq!(answer["error"]["code"], code, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        for part in says {
            assert!(message.contains(part), "{part:?} is not said by {message}");
        }
    }

    fn end(self) {
        drop(self.ask);
        self.thread.join().unwrap();
    }
}

const EIGHT_OF_FORTY: &str = r#","period_ns":40000000,"budget_ns":8000000"#;

#[test]
fn places_cost_what_the_table_reserves() {
    DEFAULT.run(|| {
        let _daemon = Daemon::start();
        apply(&policy("all", &task("other", "1ms", ""))).ok();
        // A microsecond takes a slot of 500 us: six of them would be more than there is.
        let tiny = r#","period_ns":2500000,"budget_ns":1000"#;
        let [alice, alices, bob, bobs, carol] = [ALICE, ALICE, BOB, BOB, CAROL].map(User::start);
        alice.joins(tiny);
        let whole_slot = "takes 20.0 % more: 1 whole slot of 500us in every 2.5ms";
        let says = [
            "user 1000 may reserve at most 23.4 %",
            "20.0 % is reserved",
            whole_slot,
        ];
        alices.is_refused(tiny, "too_many", &says);
        bob.joins(tiny);
        bobs.is_refused(
            tiny,
            "too_many",
            &["user 1001 may reserve at most", whole_slot],
        );
        carol.is_refused(
            tiny,
            "too_many",
            &[
                "all users together may reserve at most 46.8 %",
                "40.0 % is reserved",
            ],
        );

        // A lead takes slots as well.
        as_member(
            CAROL,
            &[],
            "run --period 40ms --budget 1ms --lead 30ms -- true",
        )
        .says(&["with a lead of 30ms takes 77.5 % more: 62 whole slots of 500us in every 40ms"])
        .ends_with(2);
        // A period does not exclude others, either: 399 slots have no common divisor with the rest.
        let odd = r#","period_ns":199500000,"budget_ns":1000"#;
        carol.is_refused(
            odd,
            "bad_beat",
            &["users' periods divide 200ms", "100ms does"],
        );

        // All of it leaves root the time that it needs.
        takt("run --period 40ms --budget 18ms -- true").ok();
        let users = [alice, alices, bob, bobs, carol];
        users.into_iter().for_each(User::end);
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn a_policy_comes_before_those_who_joined() {
    DEFAULT.run(|| {
        policy_first();
    });
}

#[test]
fn a_policy_comes_before_those_who_joined_on_two_processors() {
    TWO_PROCESSORS.run(|| {
        policy_first();
    });
}

fn policy_first() {
    let daemon = Daemon::start();
    // So that two processors are as full as one.
    let with_mixer = |budget: &str| {
        let mixer = task("mixer", budget, "offset = \"0ms\"");
        policy("all", &mixer).replace("[beats]\n", "[beats]\ncpus = 0\n")
    };
    apply(&with_mixer("1ms")).ok();
    let (alice, bob) = (User::start(ALICE), User::start(BOB));
    let (hers, his) = (alice.joins(EIGHT_OF_FORTY), bob.joins(EIGHT_OF_FORTY));
    let [her_task, his_task] = [&hers, &his].map(|place| place["task"].as_str().unwrap());

    // 20 ms from 0 on: both are in the way, and have room elsewhere.
    let moved = |task: &str, user: u32, how: &str| {
        format!(
            "beats: `{task}` of user {user} (thread {}) {how}",
            &task["tid-".len()..]
        )
    };
    apply_with("--dry-run", &with_mixer("20ms"))
        .says(&[
            &moved(her_task, ALICE, "would be moved"),
            &moved(his_task, BOB, "would be moved"),
        ])
        .ok();
    apply(&with_mixer("20ms"))
        .says(&[
            &moved(her_task, ALICE, "moved"),
            &moved(his_task, BOB, "moved"),
        ])
        .ok();
    assert_eq!(alice.joins(""), hers);
    assert_eq!(bob.joins(""), his);

    // There is no room for both beside 28 ms: the younger reservation is taken back.
    let done = apply_with("--output json", &with_mixer("28ms"))
        .ends_with(0)
        .json();
    let [one, other] = done["displaced"].as_array().unwrap().as_slice() else {
        panic!("{done:#}");
    };
    assert_eq!(
        (&one["outcome"], &one["user"]),
        (&"moved".into(), &ALICE.into()),
        "{done:#}"
    );
    assert_eq!(
        (&other["outcome"], &other["user"]),
        (&"sent_away".into(), &BOB.into())
    );
    assert_eq!(
        (&other["task"], &other["threads"][0]),
        (&his["task"], &his["tid"])
    );
    let reason = other["reason"].as_str().unwrap();
    assert!(reason.contains("CPU 0"), "{reason}");
    assert_eq!(alice.joins(""), hers);
    let says = [
        "s ago, when `takt apply` of /lab/policy.toml sent it away",
        "CPU 0",
    ];
    bob.is_refused("", "no_place", &says);
    takt("status --tasks")
        .says(&["sent away", "s ago: thread", "of user 1001"])
        .ok();
    let reservations = say(r#"{"list_beats":{}}"#);
    assert_eq!(
        reservations["ok"]["places"].as_array().unwrap().len(),
        1,
        "{reservations}"
    );

    // A task that does not fit by itself is refused, and her reservation stays.
    let refused = apply(&with_mixer("38ms")).ends_with(2);
    assert!(!refused.stderr.contains("1000"), "{refused}");
    assert_eq!(alice.joins(""), hers);

    // When there is room again he may join again.
    apply(&with_mixer("20ms")).ok();
    bob.joins(EIGHT_OF_FORTY);
    bob.joins("");
    takt("status --tasks --output json").ok();
    alice.end();
    bob.end();
    // On another processor it may look for what is in force just then.
    daemon.end();
    takt("revert").ok();
    assert_no_trace();
}

#[test]
fn the_policy_says_who_may_join() {
    DEFAULT.run(|| {
        let groups = fs::read_to_string("/etc/group").unwrap();
        fs::write("/etc/group", format!("{groups}audio:x:{AUDIO}:\n")).unwrap();
        let _daemon = Daemon::start();
        let other = task("other", "1ms", "");
        let run = "run --period 40ms --budget 1ms -- id -u";
        let may = |uid: u32, groups| as_member(uid, groups, run).says(&[&uid.to_string()]).ok();
        let may_not = |uid: u32, groups, says: &[&str]| {
            as_member(uid, groups, run).says(says).ends_with(2);
        };

        apply(&policy("", &other)).ok();
        may_not(
            ALICE,
            &[AUDIO],
            &["no such group", "groupadd --system takt; usermod -aG takt"],
        );
        may(0, &[]);
        apply(&policy("audio", &other)).ok();
        may_not(
            ALICE,
            &[],
            &[
                "not in the group `audio`",
                "usermod -aG audio",
                "may_not_join",
            ],
        );
        may(ALICE, &[7, AUDIO]);
        // As its first group, too.
        may(AUDIO, &[]);
        apply(&policy("none", &other)).ok();
        may_not(ALICE, &[AUDIO], &["join = \"none\""]);
        may(0, &[]);
        // A declared task is no way around the quota.
        let alice = User::start(ALICE);
        alice.is_refused(
            r#","task":"other""#,
            "may_not_join",
            &["only root's threads"],
        );
        apply(&policy("all", &other)).ok();
        may(BOB, &[]);
        alice.joins(r#","task":"other""#);
        alice.end();
        takt("revert").ok();
        fs::write("/etc/group", groups).unwrap();
        assert_no_trace();
    });
}

#[test]
fn a_taken_name_is_in_no_way() {
    DEFAULT.run(|| {
        let _daemon = Daemon::start();
        apply(&policy("all", &task("other", "1ms", ""))).ok();
        let (alice, bob, carol) = (User::start(ALICE), User::start(BOB), User::start(CAROL));
        let group = |member: u32| {
            format!(
                r#","period_ns":40000000,"budget_ns":1000000,"group":{{"name":"mixer","member":{member},"of":2}}"#
            )
        };
        assert_eq!(alice.joins(&group(1))["task"], "mixer");
        // He may not join her group, and may have one of that name.
        let declared = r#","task":"mixer","member":"2""#;
        bob.is_refused(declared, "bad_beat", &["no task `mixer`; it has other"]);
        let his = bob.joins(&group(2));
        assert_eq!((&his["task"], &his["user"]), (&"mixer".into(), &BOB.into()));
        // So may the policy.
        let mixer = task("mixer", "2ms", "members = [\"a\", \"b\"]");
        apply(&policy("all", &mixer)).ok();
        assert_eq!(bob.joins(""), his);
        let declared = carol.joins(r#","task":"mixer","member":"b""#);
        assert_eq!(declared["user"], Value::Null);
        [alice, bob, carol].into_iter().for_each(User::end);
        takt("revert").ok();
        assert_no_trace();
    });
}

/// A new table waits for the end of a frame, and taktd does not wait for it.
#[test]
fn users_who_join_and_leave_hold_up_no_other_request() {
    DEFAULT.run(|| {
        let daemon = Daemon::start();
        apply(&policy("all", &task("mixer", "8ms", ""))).ok();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let users = [ALICE, BOB, CAROL].map(|uid| {
                let stop = &stop;
                scope.spawn(move || {
                    as_user(uid, || {
                        let mut joined = 0;
                        while !stop.load(Ordering::Relaxed) {
                            let tid = gettid();
                            let terms = format!(
                                r#"{{"join_beat":{{"tid":{tid},"period_ns":40000000,"budget_ns":500000}}}}"#
                            );
                            joined += u32::from(say(&terms)["ok"].is_object());
                            say(&format!(r#"{{"leave_beat":{{"tid":{tid}}}}}"#));
                        }
                        joined
                    })
                })
            });
            thread::sleep(Duration::from_millis(500));
            let ask = |_| {
                let began = Instant::now();
                let answer = say_at(ROOT_SOCKET, r#"{"list":{}}"#);
                assert!(answer["ok"].is_object(), "{answer}");
                thread::sleep(Duration::from_millis(20));
                began.elapsed() - Duration::from_millis(20)
            };
            let mut took: Vec<_> = (0..100).map(ask).collect();
            took.sort();
            stop.store(true, Ordering::Relaxed);
            println!("root: median {:?}, worst {:?}", took[50], took[99]);
            assert!(took[99] < Duration::from_millis(100), "{took:?}");
            for user in users {
                let joined = user.join().unwrap();
                println!("joined {joined} times");
                assert!(joined > 0);
            }
        });
        let took = daemon.ends_with(nix::sys::signal::Signal::SIGTERM);
        assert!(took < Duration::from_secs(1), "{took:?}");
        takt("revert").ok();
    });
}
