//! `takt apply --confirm`: what keeps a policy, what takes it back, and what other sessions may do
//! meanwhile.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::{
    daemon::{Daemon, as_alice},
    helper::processes,
    kernel_bpf::wait_for,
    machine::DEFAULT,
    session::Session,
    shell::{run, run_far},
    takt::{POLICY, apply, apply_with, assert_no_trace, link, takt},
    wire::Wire,
};

const OLD: &str = "[link.near1]\nrate = \"100mbit\"\n";
const NEW: &str = "[link.near1]\nrate = \"200mbit\"\n";
const OTHER: &str = "[link.near1]\nrate = \"300mbit\"\n";
const NEW_FILE: &str = "/lab/new.toml";

const OLD_BPS: u64 = 100_000_000;
const NEW_BPS: u64 = 200_000_000;

/// An administrator at a terminal, who has applied NEW and is asked to confirm.
#[track_caller]
fn asked(time: &str) -> Session {
    let mut session = start(time);
    session.says(&["Press Enter or type yes within"]);
    session
}

fn start(time: &str) -> Session {
    fs::write(NEW_FILE, NEW).unwrap();
    Session::start(&format!("exec takt apply --confirm {time} {NEW_FILE}"))
}

fn guards() -> Vec<Pid> {
    processes("guard")
}

#[track_caller]
fn kill_guard() {
    let guards = guards();
    assert_eq!(guards.len(), 1, "{guards:?}");
    kill(guards[0], Signal::SIGKILL).unwrap();
    // A child of takt's, which does not wait for it before the end.
    wait_for(|| pending()["guard_running"] != true);
}

fn kill_takt(session: &mut Session) {
    session.signal(Signal::SIGKILL);
    session.child.wait().unwrap();
}

fn pending() -> Value {
    takt("status --output json").json()["pending"].clone()
}

#[track_caller]
fn assert_decided(rate_bps: u64) {
    assert_eq!(pending(), Value::Null);
    assert_eq!(link("near1").rate_bps, rate_bps);
    wait_for(|| guards().is_empty());
    assert!(!Path::new("/run/takt/pending.jsonl").exists());
}

#[test]
fn only_enter_and_yes_keep_it() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        for answer in ["\n", "yes\n", "YES\n"] {
            apply(OLD).ok();
            let mut session = asked("60s");
            session.types(answer);
            assert_eq!(session.ends(), Some(0), "{answer:?}");
            assert_decided(NEW_BPS);
        }
        for answer in ["no\n", "y\n", " \n", "yes please\n"] {
            apply(OLD).ok();
            let mut session = asked("60s");
            let since = Instant::now();
            session.types(answer);
            session.says(&["not confirmed: what was there before is restored"]);
            assert_eq!(session.ends(), Some(1), "{answer:?}");
            assert!(since.elapsed() < Duration::from_secs(30), "{answer:?}");
            assert_decided(OLD_BPS);
        }
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn an_endless_line_takes_it_back() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        let mut session = asked("60s");
        session.be_raw();
        session.types(&"yes".repeat(1000));
        session.says(&["not confirmed"]);
        assert_eq!(session.ends(), Some(1));
        assert_no_trace();
    });
}

/// Neither Enter before the question nor input for another program confirms.
#[test]
fn what_is_not_said_to_it_is_no_answer() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        fs::write(NEW_FILE, NEW).unwrap();
        let apply = format!("takt apply --confirm 5s {NEW_FILE}");
        let mut ahead = Session::start(&format!("echo here; sleep 2; exec {apply}"));
        ahead.says(&["here"]);
        ahead.types("\nyes\n");
        ahead.says(&["not confirmed"]);
        assert_eq!(ahead.ends(), Some(1));

        let job = format!("set -m; {apply} & read line; echo \"read <$line>\"; wait $!; exit $?");
        let mut shell = Session::start(&job);
        shell.says(&["Press Enter"]);
        shell.types("yes\n");
        shell.says(&["read <yes>", "not confirmed"]);
        assert_eq!(shell.ends(), Some(1));
        assert_no_trace();
    });
}

#[test]
fn a_script_confirms_nothing_and_keeps_its_lines() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        apply(OLD).ok();
        fs::write(NEW_FILE, NEW).unwrap();
        let script = format!(
            "yes() {{ :; }}\ntakt apply --confirm 3s {NEW_FILE}\necho status $?\n\nyes\necho the last line\n"
        );
        fs::write("/lab/script", script).unwrap();
        let shell = Command::new("sh")
            .stdin(fs::File::open("/lab/script").unwrap())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&shell.stdout);
        assert!(said.contains("status 1\n"), "{said}");
        assert!(said.ends_with("the last line\n"), "{said}");
        assert_decided(OLD_BPS);

        // Input without end.
        let zeroes = Command::new("takt")
            .args(["apply", "--confirm", "3s", NEW_FILE])
            .stdin(fs::File::open("/dev/zero").unwrap())
            .output()
            .unwrap();
        assert_eq!(zeroes.status.code(), Some(1));
        assert_decided(OLD_BPS);
        takt("revert").ok();
    });
}

/// The first administrator logged in as user 1000 and runs takt by sudo; the second is root.
#[test]
fn a_second_administrator_is_told_who_waits_and_how_long() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        apply(OLD).ok();
        fs::write(NEW_FILE, NEW).unwrap();
        let mut first = Session::start(&format!(
            "echo 1000 > /proc/self/loginuid; exec takt apply --confirm 300s {NEW_FILE}"
        ));
        first.says(&["Press Enter"]);
        let who = format!("user 1000 (pid {}, /dev/pts/", first.child.id());
        let refused = [
            who.as_str(),
            "applied /lab/new.toml",
            "must confirm it within",
            "`takt confirm` keeps it, `takt cancel` reverts it",
            "takt explain host::pending",
        ];
        apply(OTHER).says(&refused).ends_with(4);
        apply_with("--confirm 60s", OTHER)
            .says(&refused)
            .ends_with(4);
        takt("revert").says(&refused).ends_with(4);
        run_far("takt revert").says(&refused).ends_with(4);
        let json = apply_with("--output json", OTHER).ends_with(4).json();
        assert_eq!(json["code"], "takt::host::pending");
        // That changes nothing.
        apply_with("--dry-run", OTHER)
            .says(&["would be updated"])
            .ok();

        let status = pending();
        assert_eq!(status["state"], "waiting", "{status:#}");
        assert_eq!(status["by"]["uid"], 1000);
        assert_eq!(status["by"]["pid"], first.child.id());
        assert_eq!(status["policy"], NEW_FILE);
        assert_eq!(status["before"], POLICY);
        assert_eq!(status["problem"], Value::Null);
        assert!((1..=300).contains(&status["left_s"].as_u64().unwrap()));
        takt("status").says(&[&who, "before it: policy"]).ok();
        assert_eq!(link("near1").rate_bps, NEW_BPS);

        // Users may not decide.
        for command in ["confirm", "cancel"] {
            as_alice(command).says(&["is missing"]).ends_with(3);
        }
        assert_eq!(pending()["state"], "waiting");
        run_far("takt cancel")
            .says(&["in another network namespace"])
            .ends_with(4);

        takt("confirm")
            .says(&["kept: user 1000", "applied /lab/new.toml"])
            .ok();
        first.says(&["kept: ", "confirmed it"]);
        assert_eq!(first.ends(), Some(0));
        assert_decided(NEW_BPS);
        for command in ["confirm", "cancel"] {
            takt(command).says(&["no policy waits"]).ends_with(1);
        }
        apply(OTHER).ok();
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn cancelled_from_another_session_or_interrupted() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        apply(OLD).ok();
        let mut session = asked("300s");
        takt("cancel")
            .says(&[
                "cancelled /lab/new.toml",
                "policy /lab/policy.toml is in force again",
            ])
            .ok();
        session.says(&["not confirmed: what was there before is restored"]);
        assert_eq!(session.ends(), Some(1));
        assert_decided(OLD_BPS);

        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            let session = &mut asked("300s");
            session.signal(signal);
            assert_eq!(session.ends(), Some(1), "{signal}");
            assert_decided(OLD_BPS);
        }
        let mut session = asked("300s");
        session.types("\x03");
        assert_eq!(session.ends(), Some(1));
        assert_decided(OLD_BPS);
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn a_connection_that_breaks_leaves_the_time_to_come_back() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        apply(OLD).ok();
        let mut child = asked("300s").hang_up();
        thread::sleep(Duration::from_secs(5));
        assert_eq!(pending()["state"], "waiting");
        takt("confirm").ok();
        child.wait().unwrap();
        assert_decided(NEW_BPS);

        apply(OLD).ok();
        let mut child = asked("5s").hang_up();
        child.wait().unwrap();
        assert_decided(OLD_BPS);
        takt("revert").ok();
    });
}

#[test]
fn with_the_guard_killed_takt_takes_it_back() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        apply(OLD).ok();
        let mut session = asked("20s");
        kill_guard();
        session.says(&["not confirmed: what was there before is restored"]);
        assert_eq!(session.ends(), Some(1));
        assert_decided(OLD_BPS);

        let mut session = asked("300s");
        kill_guard();
        session.types("\n");
        assert_eq!(session.ends(), Some(0));
        assert_decided(NEW_BPS);
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn with_takt_killed_the_guard_takes_it_back() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        for before in [Some(OLD_BPS), None] {
            if before.is_some() {
                apply(OLD).ok();
            }
            let mut session = asked("20s");
            kill_takt(&mut session);
            let status = pending();
            assert_eq!(status["takt_running"], false);
            assert_eq!(status["guard_running"], true);
            assert_eq!(status["problem"], Value::Null);
            apply(OTHER).says(&["must confirm it within"]).ends_with(4);
            wait_for(|| guards().is_empty());
            if let Some(before_bps) = before {
                assert_decided(before_bps);
                takt("revert").ok();
            }
            assert_no_trace();
        }
        // A session can come back, and a stopped takt counts as a dead one.
        let mut session = asked("300s");
        kill_takt(&mut session);
        takt("confirm").ok();
        assert_decided(NEW_BPS);
        takt("revert").ok();
        apply(OLD).ok();
        let mut session = asked("10s");
        session.signal(Signal::SIGSTOP);
        wait_for(|| guards().is_empty());
        assert_decided(OLD_BPS);
        session.signal(Signal::SIGCONT);
        session.says(&["not confirmed: what was there before is restored"]);
        assert_eq!(session.ends(), Some(1));
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn with_both_killed_status_says_what_to_do() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        let lost = |time: &str| {
            apply(OLD).ok();
            let mut session = asked(time);
            kill_guard();
            kill_takt(&mut session);
        };
        lost("300s");
        takt("status")
            .says(&["takt and its guard were killed"])
            .ends_with(4);
        takt("revert")
            .says(&["`takt cancel` reverts it"])
            .ends_with(4);
        takt("confirm").ok();
        assert_decided(NEW_BPS);

        for command in ["status", "confirm", "metrics", &format!("apply {NEW_FILE}")] {
            fs::write(NEW_FILE, NEW).unwrap();
            lost("3s");
            thread::sleep(Duration::from_secs(4));
            takt(command).says(&["was reverted: it was not confirmed, and its takt was gone"]);
            assert_eq!(pending(), Value::Null);
            takt("revert").ok();
        }

        lost("3s");
        thread::sleep(Duration::from_secs(4));
        run_far("takt revert").ends_with(4);
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn with_both_killed_taktd_takes_it_back() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        let _daemon = Daemon::start();
        apply(OLD).ok();
        let mut session = asked("3s");
        kill_guard();
        kill_takt(&mut session);
        wait_for(|| !Path::new("/run/takt/pending.jsonl").exists());
        assert_decided(OLD_BPS);
        takt("revert").ok();
    });
}

#[test]
fn killed_while_it_applies_all_of_it_is_taken_back() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        fs::write(NEW_FILE, NEW).unwrap();
        let start = || -> Child {
            Command::new("takt")
                .args(["apply", "--confirm", "300s", NEW_FILE])
                .stdin(Stdio::null())
                // The test's own output has its verdict.
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        };
        apply(OLD).ok();
        let since = Instant::now();
        let mut whole = start();
        wait_for_quickly(|| pending()["state"] == "waiting");
        let time = since.elapsed();
        takt("cancel").ok();
        whole.wait().unwrap();
        let mut in_the_middle = 0;
        for instant in 0..12 {
            let mut killed = start();
            thread::sleep(time * instant / 12);
            let _ = killed.kill();
            killed.wait().unwrap();
            let state = pending()["state"].clone();
            match state.as_str() {
                // The policy was in force: the guard waits until its time is over.
                Some("waiting") => takt("cancel").ok(),
                Some(_) => {
                    in_the_middle += 1;
                    String::new()
                }
                None => String::new(),
            };
            wait_for(|| guards().is_empty());
            assert_decided(OLD_BPS);
        }
        println!("{in_the_middle} were seen in the middle");
        takt("revert").ok();
        assert_no_trace();
    });
}

fn wait_for_quickly(done: impl Fn() -> bool) {
    assert!((0..1000).any(|_| {
        thread::sleep(Duration::from_millis(10));
        done()
    }));
}

#[test]
fn what_others_change_meanwhile_is_left_alone() {
    DEFAULT.alone().run(|| {
        let (first, second) = (Wire::new(1), Wire::new(2));
        let both = "[link.near1]\nrate = \"100mbit\"\n[link.near2]\nrate = \"100mbit\"\n";
        apply(both).ok();
        let mut session = asked("300s");
        run("tc qdisc replace dev near2 root handle 8123: fq").ok();
        takt("cancel")
            .says(&["left alone: near2", "fq 8123:"])
            .ends_with(4);
        session.says(&["but for what was changed meanwhile: near2", "fq 8123:"]);
        assert_eq!(session.ends(), Some(4));
        assert_decided(OLD_BPS);
        assert!(first.root_qdisc().starts_with("qdisc takt"));
        assert!(second.root_qdisc().starts_with("qdisc fq 8123:"));
        run("tc qdisc del dev near2 root").ok();

        // Meanwhile one device gets another qdisc, and the other is removed.
        apply(both).ok();
        let twice = both.replace("100", "200");
        fs::write(NEW_FILE, &twice).unwrap();
        let mut session = Session::start(&format!("exec takt apply --confirm 300s {NEW_FILE}"));
        session.says(&["Press Enter"]);
        run("tc qdisc replace dev near1 root handle 8123: fq").ok();
        run("ip link del near2").ok();
        session.types("no\n");
        session.says(&["near1 no longer carries", "near2 is gone"]);
        assert_eq!(session.ends(), Some(4));
        assert!(first.root_qdisc().starts_with("qdisc fq 8123:"));
        run("tc qdisc del dev near1 root").ok();
        second.make();
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn takt_comes_back_to_a_device_that_it_gave_back() {
    DEFAULT.alone().run(|| {
        let (first, _second) = (Wire::new(1), Wire::new(2));
        run("tc qdisc add dev near1 root handle 8123: fq limit 5000").ok();
        let theirs = first.root_qdisc();
        apply_with("--replace", OLD).ok();
        fs::write(NEW_FILE, "[link.near2]\nrate = \"100mbit\"\n").unwrap();
        let mut session = Session::start(&format!("exec takt apply --confirm 300s {NEW_FILE}"));
        session.says(&["Press Enter"]);
        assert_eq!(first.root_qdisc(), theirs);
        session.types("no\n");
        assert_eq!(session.ends(), Some(1));
        assert!(first.root_qdisc().starts_with("qdisc takt"));
        assert_decided(OLD_BPS);
        takt("revert").ok();
        assert_eq!(first.root_qdisc(), theirs);
        run("tc qdisc del dev near1 root").ok();
        assert_no_trace();
    });
}

#[test]
fn what_cannot_be_applied_leaves_nothing_pending() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        apply_with("--confirm 60s", "[link.missing]\nrate = \"1mbit\"\n").ends_with(5);
        wait_for(|| guards().is_empty());
        assert_no_trace();
        apply_with("--confirm 2h", OLD)
            .says(&["from 1s to 1h"])
            .ends_with(2);
        assert_no_trace();
    });
}
