//! Reservations that programs take at run time: by `takt run`, and over taktd's socket.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::{
    daemon::{Daemon, as_alice, say},
    machine::{DEFAULT, NEWEST, TWO_PROCESSORS},
    takt::{apply, assert_no_trace, takt},
};

const BEATS: &str = r#"
[[task]]
name = "nobody"
period = "40ms"
budget = "8ms"
"#;

/// taktd looks for ended threads once a second.
const SWEPT: Duration = Duration::from_millis(2500);

#[test]
fn a_program_has_its_status_and_gives_its_time_back() {
    DEFAULT.run(|| {
        program();
        assert_no_trace();
    });
}

#[test]
fn a_program_has_its_status_and_gives_its_time_back_on_the_newest_kernel() {
    NEWEST.run(|| {
        program();
        assert_no_trace();
    });
}

#[test]
fn a_program_has_its_status_and_gives_its_time_back_on_two_processors() {
    TWO_PROCESSORS.run(|| {
        program();
        assert_no_trace();
    });
}

/// Root needs no taktd.
fn program() {
    apply(BEATS).ok();
    // All the remaining time, again and again.
    for status in [0, 7] {
        let command = format!("run --period 40ms --budget 28ms -- sh /lab/end {status}");
        std::fs::write("/lab/end", "exit $1\n").unwrap();
        takt(&command).ends_with(status);
    }
    takt("run --period 40ms --budget 1ms -- cat /proc/self/timerslack_ns")
        .says(&["1\n"])
        .ok();
    takt("run --period 40ms --budget 40ms -- true")
        .says(&["in every 40ms"])
        .ends_with(2);
    takt("run --period 1000000000s --budget 1ms -- true")
        .says(&["from 100us to 4s"])
        .ends_with(2);
    takt("run --period 40ms --budget 1ms -- /nonexistent")
        .says(&["/nonexistent"])
        .ends_with(2);

    // The program dies of the signal that takt gets.
    let mut takt_run = Command::new("takt")
        .args(["run", "--period", "40ms", "--budget", "28ms", "--"])
        .args(["sh", "-c", "echo here; exec sleep 1000"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(takt_run.stdout.take().unwrap());
    said.read_line(&mut line).unwrap();
    kill(Pid::from_raw(takt_run.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(takt_run.wait().unwrap().code(), Some(128 + 15));
    takt("run --period 40ms --budget 28ms -- true").ok();
    takt("revert").ok();
}

#[test]
fn users_have_places_by_taktd() {
    DEFAULT.run(|| {
        let command = "run --period 40ms --budget 8ms -- true";
        as_alice(command)
            .says(&["taktd is not running"])
            .ends_with(3);
        let _daemon = Daemon::start();
        as_alice(command)
            .says(&["no policy with a [[task]] is in force"])
            .ends_with(2);
        apply(&format!("[beats]\njoin = \"all\"\n{BEATS}")).ok();
        as_alice("run --period 40ms --budget 8ms -- id -u")
            .says(&["1000"])
            .ok();
        // 23.4 % of the one processor are available to a user.
        as_alice("run --period 40ms --budget 10ms -- true")
            .says(&["23.4 %"])
            .ends_with(2);
        thread::sleep(SWEPT);
        assert!(reservations().is_empty());
        takt("revert").ok();
    });
}

#[test]
fn threads_join_and_leave_over_the_socket() {
    DEFAULT.run(|| {
        let _daemon = Daemon::start();
        apply(BEATS).ok();
        // SAFETY: it has no arguments, and cannot fail.
        let own = unsafe { libc::gettid() };
        let request = |terms: &str| format!(r#"{{"join_beat":{{"tid":{own}{terms}}}}}"#);
        let code = |line: &str| say(line)["error"]["code"].as_str().map(str::to_owned);
        assert_eq!(code(&request("")).as_deref(), Some("no_place"));
        for (line, expected) in [
            (r#"{"join_beat":{"tid":1}}"#.to_owned(), "not_yours"),
            (r#"{"leave_beat":{"tid":1}}"#.to_owned(), "not_yours"),
            (request(r#","task":"somebody""#), "bad_beat"),
            (request(r#","period_ns":1000,"budget_ns":100"#), "bad_beat"),
            (request(r#","period_ns":1000000"#), "malformed"),
            (
                request(r#","period_ns":40000000,"budget_ns":39000000"#),
                "no_room",
            ),
        ] {
            assert_eq!(code(&line).as_deref(), Some(expected), "{line}");
        }
        assert!(reservations().is_empty());

        let joined = say(&request(r#","period_ns":40000000,"budget_ns":2000000"#));
        assert_eq!(joined["ok"]["place"]["tid"], own);
        assert_eq!(reservations(), [joined["ok"]["place"].clone()]);
        assert_eq!(say(&request("")), joined);
        let again = request(r#","task":"nobody""#);
        assert_eq!(code(&again).as_deref(), Some("no_place"));
        let leave = format!(r#"{{"leave_beat":{{"tid":{own}}}}}"#);
        assert_eq!(say(&leave)["ok"]["left"], true);
        assert_eq!(code(&leave).as_deref(), Some("no_place"));
        assert!(reservations().is_empty());

        let declared = say(&request(r#","task":"nobody""#));
        assert_eq!(declared["ok"]["place"]["task"], "nobody");
        assert_eq!(declared["ok"]["place"]["user"], Value::Null);
        assert_eq!(say(&leave)["ok"]["left"], true);
        takt("revert").ok();
    });
}

fn reservations() -> Vec<Value> {
    let listed = say(r#"{"list_beats":{}}"#);
    listed["ok"]["places"].as_array().expect("a list").clone()
}
