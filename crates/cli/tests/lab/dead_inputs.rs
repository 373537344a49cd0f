//! Inputs that die: traffic and threads fare no worse than they would without Takt.
//!
//! A row of these tables is an input, what becomes of it, and how much of the traffic passes
//! afterwards. Engines of fleets are in `crates/fleet/tests/fleet/hostile.rs`, clocks in
//! `everything.rs`.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{
    daemon::Daemon,
    flow::{Flow, in_far_namespace},
    helper::{helpers, kill_helpers},
    machine::DEFAULT,
    metronome::{MS, US, assert_on_beat, assert_stands, member, sleep_ms, spin},
    reporting::{CLIENT, REPORTS, SNR, STATION, access_point, assert_soon, clean},
    shell::{run, run_far},
    takt::{apply, takt},
    terminals::{self, AGGREGATOR, Terminals, in_netns, mac, plug},
    upload::Upload,
    wire::Wire,
};

/// A process that hangs, until this is dropped.
struct Hanging(Vec<Pid>);

impl Hanging {
    fn stop(processes: impl IntoIterator<Item = Pid>) -> Self {
        let processes: Vec<_> = processes.into_iter().collect();
        for process in &processes {
            kill(*process, Signal::SIGSTOP).unwrap();
        }
        Self(processes)
    }

    fn daemon(daemon: &Daemon) -> Self {
        Self::stop([Pid::from_raw(daemon.id() as i32)])
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        for process in &self.0 {
            let _ = kill(*process, Signal::SIGCONT);
        }
    }
}

/// What becomes of an input. It dies with the value if it dies, and hangs until that is dropped.
type Death<T> = fn(&mut Option<T>) -> Option<Hanging>;

fn is_killed(daemon: &mut Option<Daemon>) -> Option<Hanging> {
    daemon.take().unwrap().ends_with(Signal::SIGKILL);
    None
}

fn hangs(daemon: &mut Option<Daemon>) -> Option<Hanging> {
    daemon.as_ref().map(Hanging::daemon)
}

const FILE: &str = "/lab/ap.txt";
const FROM_FILE: &str = "source = \"file\"\nfile = \"ap.txt\"";

fn becomes(bytes: &[u8]) {
    fs::write(FILE, bytes).unwrap();
}

/// After five seconds without a source no weight is in force.
const SILENT_MS: u64 = 8000;

/// What passes to the station within two seconds.
fn passes_bytes() -> u64 {
    let listener = in_far_namespace(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap());
    let port = listener.local_addr().unwrap().port();
    let socket = std::net::TcpStream::connect(("10.1.0.2", port)).unwrap();
    let (receiving, _) = listener.accept().unwrap();
    let upload = Upload::between(socket, receiving, None).unwrap();
    sleep_ms(1000);
    let before = upload.received_bytes();
    sleep_ms(2000);
    let passed = upload.received_bytes() - before;
    upload.stop();
    passed
}

fn at_20_mbit(policy: &str) -> String {
    policy.replace("100mbit", "20mbit")
}

/// A station's last weight is 0, and then no strength of it comes any more.
#[test]
fn the_file_of_strengths() {
    let rows: [(&str, Death<Daemon>); 6] = [
        ("removed", |_| {
            fs::remove_file(FILE).unwrap();
            None
        }),
        ("emptied", |_| {
            becomes(b"");
            None
        }),
        ("no text", |_| {
            becomes(&[0, 0xff, b'\n', 0xfe]);
            None
        }),
        ("a directory", |_| {
            fs::remove_file(FILE).unwrap();
            fs::create_dir(FILE).unwrap();
            None
        }),
        ("its reader killed", is_killed),
        ("its reader hangs", hangs),
    ];
    DEFAULT.run(move || {
        let _wire = Wire::new(1);
        apply("[link.near1]\nrate = \"20mbit\"\n").ok();
        let without = passes_bytes();
        for (what, death) in rows {
            let _ = fs::remove_dir(FILE);
            becomes(format!("{STATION} 0\n").as_bytes());
            apply(&at_20_mbit(&access_point(FROM_FILE))).ok();
            let mut daemon = Some(Daemon::start());
            assert_soon(30, "held", |weight| weight == Some(0));
            let hanging = death(&mut daemon);
            sleep_ms(SILENT_MS);
            assert_passes(what, passes_bytes(), without);
            drop((hanging, daemon));
            takt("revert").ok();
        }
        let _ = fs::remove_dir(FILE);
    });
}

#[test]
fn a_client_that_reports() {
    let rows: [(&str, Death<Daemon>, Death<Daemon>); 4] = [
        ("the client killed", is_killed, |_| None),
        ("the client hangs", hangs, |_| None),
        ("the access point's taktd killed", |_| None, is_killed),
        ("the access point's taktd hangs", |_| None, hangs),
    ];
    DEFAULT.run(move || {
        let _wire = Wire::new(1);
        apply("[link.near1]\nrate = \"20mbit\"\n").ok();
        let without = passes_bytes();
        for (what, client_death, death) in rows {
            clean();
            apply(&at_20_mbit(&access_point(REPORTS))).ok();
            let mut daemon = Some(Daemon::start());
            fs::create_dir_all(CLIENT).unwrap();
            fs::write(SNR, "10.1.0.2 1\n").unwrap();
            let mut client = Some(Daemon::start_client());
            assert_soon(30, "first heard", |weight| weight == Some(100_000));
            let hanging = (client_death(&mut client), death(&mut daemon));
            sleep_ms(SILENT_MS);
            assert_passes(what, passes_bytes(), without);
            drop((hanging, daemon, client));
            takt("revert").ok();
            run_far("takt revert").ok();
        }
    });
}

/// At least 95 % of what there would be.
#[track_caller]
fn assert_passes(what: &str, passed: u64, without: u64) {
    println!("{what}: {passed} of {without} bytes");
    assert!(
        passed * 100 >= without * 95,
        "{what}: {passed} of {without}"
    );
}

/// What a terminal has sent.
fn sent_bytes(n: u8) -> u64 {
    let counter = "cat /sys/class/net/air/statistics/tx_bytes";
    in_netns(&terminals::name(n), counter)
        .ok()
        .trim()
        .parse()
        .unwrap()
}

/// What two terminals send within six seconds.
fn both_send() -> [u64; 2] {
    let before = [sent_bytes(1), sent_bytes(2)];
    sleep_ms(6000);
    [sent_bytes(1) - before[0], sent_bytes(2) - before[1]]
}

/// Two terminals of a crowd that upload, and the one that tells them of each other; what one of
/// these processes does not say any more costs the terminals nothing.
#[test]
fn members_of_a_crowd() {
    let alive: Death<Daemon> = |_| None;
    let rows = [
        ("its own taktd killed", is_killed as Death<Daemon>, alive),
        ("its own taktd hangs", hangs, alive),
        ("the aggregator killed", alive, is_killed),
        ("the aggregator hangs", alive, hangs),
    ];
    DEFAULT.run(move || {
        for (what, own_death, death) in rows {
            let _terminals = Terminals::new();
            run("ip netns add t50").ok();
            plug("t50", "wire", AGGREGATOR, "02:00:00:00:09:32");
            let mut aggregator = Some(Terminals::join("t50", "wire", "aggregate = true"));
            let by = format!("aggregator = \"{AGGREGATOR}:7642\"");
            let mut one = Some(Terminals::join_as(1, &by));
            let two = Terminals::join_as(2, &by);
            let _first = terminals::Upload::start(1, None);
            let _second = terminals::Upload::start(2, None);
            terminals::assert_soon(100, &two, 2, "the first", |of| {
                terminals::heard(of) == [mac(1)]
            });
            sleep_ms(3000);
            let [first, second] = both_send();
            let hanging = (own_death(&mut one), death(&mut aggregator));
            sleep_ms(3000);
            let [after, other] = both_send();
            assert_passes(what, after + other, first + second);
            println!("{what}: {first} and {second}, then {after} and {other}");
            // CUBIC's parts are not equal from moment to moment.
            assert!(
                after * 2 >= first && other * 2 >= second,
                "{what}: {after} {other}"
            );
            drop((hanging, one, aggregator));
            let _ = in_netns("t50", "takt revert");
            run("ip netns del t50").ok();
        }
    });
}

/// A class whose packets have gaps in front of them, and one in the background.
const HELPED: &str = r#"
[link.near1]
rate = "98.44mbit"
pacing = "gap"

[[link.near1.class]]
name = "paced"
rate = "9.844mbit"
match = { proto = "udp", dst_port = 5001 }

[[link.near1.class]]
name = "backup"
priority = "background"
match = { proto = "udp", dst_port = 5002 }
"#;

#[test]
fn the_helper_of_a_link() {
    fn are_killed() -> Option<Hanging> {
        kill_helpers();
        None
    }
    fn hang() -> Option<Hanging> {
        Some(Hanging::stop(helpers()))
    }
    DEFAULT.run(move || {
        let wire = Wire::new(1);
        for (what, death) in [("killed", are_killed as fn() -> _), ("hangs", hang)] {
            apply(HELPED).ok();
            let hanging = death();
            for port in [5001, 5002] {
                let mut flow = Flow::new(&wire, port);
                flow.send(100, 1000);
                assert_eq!(flow.arrivals().len(), 100, "{what}, port {port}");
            }
            drop(hanging);
            takt("revert").ok();
        }
    });
}

/// Threads of a policy need no taktd.
#[test]
fn taktd_beside_beats() {
    DEFAULT.run(|| {
        apply("[[task]]\nname = \"beat\"\nperiod = \"10ms\"\nbudget = \"2ms\"\n").ok();
        for death in [is_killed, hangs] {
            let mut daemon = Some(Daemon::start());
            let beat = member("beat", 200, |_| spin(500 * US));
            sleep_ms(500);
            let hanging = death(&mut daemon);
            assert_on_beat(&beat.join().unwrap(), 10 * MS, 0);
            drop((hanging, daemon));
        }
        assert_stands();
        takt("revert").ok();
    });
}
