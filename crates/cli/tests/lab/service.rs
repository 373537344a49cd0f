//! taktd as a service: what it tells systemd, what it does while there is nothing to do, its metrics
//! and its varlink socket.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use crate::{
    beats_status::end_scheduler,
    daemon::{Daemon, as_alice},
    machine::{DEFAULT, SYSTEMD},
    shell::run,
    systemd::{self, property, said_by, systemctl, wait_until},
    takt::{apply, takt},
    wire::Wire,
};

const POLICY: &str = r#"
[link.near1]
rate = "100mbit"

[[link.near1.class]]
name = "backup"
priority = "background"
match = [{ registered = true }]
"#;

const VARLINK: &str = "/run/taktd/varlink";

fn main_process() -> i32 {
    property("taktd", "MainPID").parse().unwrap()
}

#[test]
fn it_starts_with_the_first_client_and_comes_back_when_it_is_killed() {
    SYSTEMD.run(|| {
        systemd::install();
        systemd::change("taktd", "with-restart", "Restart=on-failure\n");
        systemctl("daemon-reload").ok();
        systemctl(&format!("start {}", systemd::SOCKETS)).ok();
        assert_eq!(property("taktd", "ActiveState"), "inactive");
        as_alice("background list").ok();
        assert_eq!(property("taktd", "ActiveState"), "active");
        assert_eq!(property("taktd", "StatusText"), "");

        let _wire = Wire::new(1);
        apply(POLICY).ok();
        for _ in 0..7 {
            let before = main_process();
            kill(Pid::from_raw(before), Signal::SIGKILL).unwrap();
            // The connection waits for the next one.
            as_alice("background add 192.0.2.10:873").ok();
            assert_ne!(main_process(), before);
        }
        assert_eq!(crate::takt::link("near1").problem, None);

        systemctl("reload taktd").ok();
        let said = fs::read_to_string(said_by("taktd")).unwrap();
        assert!(said.contains("as asked by SIGHUP"), "{said}");

        // It hangs: systemd ends it, and starts another.
        let before = main_process();
        kill(Pid::from_raw(before), Signal::SIGSTOP).unwrap();
        thread::sleep(Duration::from_secs(40));
        wait_until("another taktd serves", || {
            ![0, before].contains(&main_process())
        });
        as_alice("background list").ok();
        takt("revert").ok();
        systemctl(&format!("stop {} taktd", systemd::SOCKETS)).ok();
    });
}

/// A taktd with these arguments, and its first lines.
fn started(arguments: &[&str], lines: usize) -> (Child, Vec<String>) {
    let mut child = Command::new("taktd")
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = said.take(lines).map(Result::unwrap).collect();
    (child, said)
}

fn end(mut child: Child) {
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Of all its threads, how often they slept or were made to.
fn switches(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let of = |status: String| -> u64 {
        let counts = status.lines().filter_map(|line| {
            let (name, count) = line.split_once(':')?;
            name.ends_with("ctxt_switches")
                .then(|| count.trim().parse::<u64>().unwrap())
        });
        counts.sum()
    };
    tasks
        .map(|task| of(fs::read_to_string(task.unwrap().path().join("status")).unwrap()))
        .sum()
}

fn resident_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident = resident.unwrap().trim().trim_end_matches(" kB");
    resident.parse().unwrap()
}

#[test]
fn it_sleeps_while_there_is_nothing_to_do() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        apply(POLICY).ok();
        let daemon = Daemon::start();
        as_alice("background add 192.0.2.10:873").ok();
        // The client is forgotten, and its rate.
        thread::sleep(Duration::from_secs(40));
        let before = switches(daemon.id());
        thread::sleep(Duration::from_secs(100));
        let woken = switches(daemon.id()) - before;
        let resident_kb = resident_kb(daemon.id());
        println!("woken {woken} times in 100 s; {resident_kb} KiB resident");
        assert_eq!(woken, 0);
        assert!(resident_kb < 20_000);

        // A policy that comes then is followed.
        takt("revert").ok();
        apply(POLICY).ok();
        thread::sleep(Duration::from_secs(3));
        takt("background list").says(&["192.0.2.10"]).ok();
        daemon.ends_with(Signal::SIGTERM);
        takt("revert").ok();
    });
}

#[test]
fn it_tells_when_the_kernel_ends_the_beats() {
    DEFAULT.run(|| {
        let log = "/lab/taktd.log";
        // What it says there would be in the middle of this test's line.
        let mut child = Command::new("taktd")
            .stdout(Stdio::null())
            .stderr(fs::File::create(log).unwrap())
            .spawn()
            .unwrap();
        let policy = "[[task]]\nname = \"mixer\"\nperiod = \"40ms\"\nbudget = \"4ms\"\n";
        apply(policy).ok();
        end_scheduler();
        let told = || fs::read_to_string(log).unwrap();
        wait_until("it is told", || {
            told().contains("beats do not run any more")
        });
        assert!(told().contains("disabled by sysrq-S"), "{}", told());
        apply(policy).ok();
        thread::sleep(Duration::from_secs(2));
        assert_eq!(told().lines().count(), 1, "{}", told());
        takt("revert").ok();
        kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
        assert!(child.wait().unwrap().success());
    });
}

fn get(request: &str) -> String {
    let mut stream = TcpStream::connect("127.0.0.1:9815").unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn prometheus_reads_its_metrics() {
    DEFAULT.run(|| {
        run("ip link set lo up").ok();
        let wire = Wire::new(1);
        apply(POLICY).ok();
        wire.assert_passes();
        let (child, said) = started(&["--metrics"], 2);
        assert_eq!(said[1], "taktd: metrics at http://127.0.0.1:9815/metrics");
        let text = get("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        assert!(
            text.contains("takt_class_sent_packets_total{device=\"near1\""),
            "{text}"
        );
        let asked = "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n";
        assert!(get(asked).ends_with("# EOF\n"));
        assert!(get("GET /none HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        // Readers that say nothing keep no other one from reading.
        let silent: Vec<_> = (0..40)
            .map(|_| TcpStream::connect("127.0.0.1:9815"))
            .collect();
        assert!(get("HEAD / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 "));
        drop(silent);
        end(child);

        let (child, _) = started(&["--metrics=192.0.2.77:80"], 0);
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(1));
        run("env TAKT_LOG=loud taktd")
            .says(&["TAKT_LOG=loud is not a filter"])
            .ends_with(2);
        takt("revert").ok();
    });
}

/// Calls a method over a connection; returns what is said.
fn call(stream: &mut UnixStream, method: &str, parameters: &Value) -> Value {
    let mut message = json!({ "method": method, "parameters": parameters })
        .to_string()
        .into_bytes();
    message.push(0);
    stream.write_all(&message).unwrap();
    let mut said = Vec::new();
    BufReader::new(stream).read_until(0, &mut said).unwrap();
    assert_eq!(said.pop(), Some(0));
    serde_json::from_slice(&said).unwrap()
}

#[test]
fn programs_speak_varlink_with_it() {
    DEFAULT.run(|| {
        let daemon = Daemon::start();
        let mut stream = UnixStream::connect(VARLINK).unwrap();
        let info = call(&mut stream, "org.varlink.service.GetInfo", &json!({}));
        assert_eq!(info["parameters"]["interfaces"][1], "io.takt.Daemon");
        let to = json!({ "dst": "192.0.2.10", "port": 873, "user": null });
        let added = call(&mut stream, "io.takt.Daemon.AddBackground", &to);
        assert_eq!(added["parameters"]["added"], true);
        let listed = call(&mut stream, "io.takt.Daemon.ListBackground", &json!({}));
        assert_eq!(listed["parameters"]["registrations"][0]["port"], 873);
        // The line protocol has the same registrations.
        takt("background list").says(&["192.0.2.10"]).ok();
        let beats = call(&mut stream, "io.takt.Daemon.LeaveBeat", &json!({}));
        assert_eq!(beats["error"], "io.takt.Daemon.NoPlace");
        let long = json!({ "dst": "1".repeat(2000) });
        let refused = call(&mut stream, "io.takt.Daemon.AddBackground", &long);
        assert_eq!(refused["error"], "io.takt.Daemon.Malformed");
        daemon.ends_with(Signal::SIGTERM);
    });
}
