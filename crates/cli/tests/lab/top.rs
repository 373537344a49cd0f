//! `takt top`: its rates, and its manners at a terminal.

use std::fs;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::{
    flow::Flow,
    machine::DEFAULT,
    session::Session,
    takt::{apply, takt},
    wire::Wire,
};

const POLICY: &str = r#"
[link.near1]
rate = "100mbit"

[[link.near1.class]]
name = "stream"
rate = "2mbit"
ceil = "2mbit"
queue_packets = 1000
match = { proto = "udp", dst_port = 5001 }

[[link.near1.class]]
name = "narrow"
rate = "500kbit"
ceil = "500kbit"
queue_packets = 1000
match = { proto = "udp", dst_port = 5002 }
"#;

/// What the shell prints around it: whether the terminal is as it was. Where styles are drawn, the
/// words of a line come with the blanks between them.
const AT_A_TERMINAL: &str = "export TERM=linux; stty rows 24 cols 80; before=$(stty -g); \
                             takt top --interval 100ms; \
                             echo status $?; test \"$before\" = \"$(stty -g)\" && echo restored";

fn class<'a>(sample: &'a Value, name: &str) -> &'a Value {
    let rows = sample["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["class"] == name);
    row.unwrap_or_else(|| panic!("no {name} in {sample}"))
}

/// The process.
fn top() -> Pid {
    let all = fs::read_dir("/proc").unwrap();
    let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut numbers = names.filter_map(|name| name.parse::<i32>().ok());
    let is_top = |number: &i32| {
        let line = fs::read_to_string(format!("/proc/{number}/cmdline"));
        line.is_ok_and(|line| line.starts_with("takt\0top\0"))
    };
    Pid::from_raw(numbers.find(is_top).expect("it runs"))
}

#[test]
fn shows_the_rates_of_classes() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        let mut flows = [5001, 5002].map(|port| Flow::new(&wire, port));
        // For more than three seconds.
        flows.iter_mut().for_each(|flow| flow.send(900, 1000));
        let text = takt("top classes --batch -n 1").says(&["stream", "narrow", "2.00M", "500k"]);
        text.ok();
        let shown = takt("top --batch -n 2 --interval 1s --output json").ok();
        let samples: Vec<Value> = shown
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(samples.len(), 2, "{shown}");
        for (name, rate_bps) in [("stream", 2e6), ("narrow", 500e3)] {
            assert_eq!(class(&samples[0], name)["rate_now_bps"], Value::Null);
            let shown_bps = class(&samples[1], name)["rate_now_bps"].as_f64().unwrap();
            let off = (shown_bps - rate_bps).abs() / rate_bps;
            assert!(off < 0.1, "{name}: {shown_bps} bit/s, not {rate_bps}");
        }
        assert!(class(&samples[1], "narrow")["delay_ns"].as_u64().unwrap() > 1_000_000_000);
        for view in ["links", "flows", "stations", "neighbours", "tasks", "tcp"] {
            takt(&format!("top {view} --batch -n 2 --interval 100ms"))
                .says(&[view, "policy.toml"])
                .ok();
        }
    });
}

#[test]
fn shows_an_idle_host_too() {
    DEFAULT.run(|| {
        takt("top --batch -n 1")
            .says(&["no links are managed"])
            .ok();
        takt("top").says(&["--batch"]).ends_with(2);
        takt("top --output json").says(&["--batch"]).ends_with(2);
        takt("top --interval 99ms").ends_with(2);
    });
}

#[test]
fn leaves_a_terminal_as_it_was() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        apply(POLICY).ok();
        let mut session = Session::start(AT_A_TERMINAL);
        session.says(&["narrow", "[2 classes]"]);
        session.types("1");
        session.says(&["ready"]);
        session.types("7");
        session.says(&["[7 tcp]"]);
        session.types("\t6/mix\r?");
        // Only what differs is drawn: words, without the blanks between them.
        session.says(&["Ctrl-C"]);
        session.types("xq");
        session.says(&["\x1b[?1049l", "status 0", "restored"]);
        assert_eq!(session.ends(), Some(0));

        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            let mut session = Session::start(AT_A_TERMINAL);
            session.says(&["[2 classes]"]);
            kill(top(), signal).unwrap();
            session.says(&["\x1b[?1049l", "status 0", "restored"]);
            assert_eq!(session.ends(), Some(0));
        }

        // It ends with its connection, here of a terminal without styles.
        let mut session = Session::start("stty rows 5 cols 20; TERM=dumb exec takt top");
        session.says(&["[2", "clas"]);
        assert!(session.hang_up().wait().unwrap().success());
    });
}
