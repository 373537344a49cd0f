//! `takt flows` against the kernel's own counts: its events are what happened, all flows are there,
//! and nothing remains.

use std::{
    collections::BTreeSet,
    fs,
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use takt_flows::{Event, Recording, Sample, Track, What};

use crate::{
    flow::in_far_namespace,
    kernel_bpf::Held,
    machine::{DEFAULT, NEWEST, TOO_OLD},
    shell::run,
    takt::{assert_no_trace, takt},
    upload::Upload,
    wire::Wire,
};

const PORT: u16 = 5001;
const RECORD: &str = "/lab/recorded.flows";

#[test]
fn losses_are_told_as_the_kernel_counts_them() {
    DEFAULT.run(|| {
        losses_are_told();
    });
}

#[test]
fn losses_are_told_on_the_newest_kernel() {
    NEWEST.run(|| {
        losses_are_told();
    });
}

/// A kernel without BPF qdiscs, in which TCP can be looked at.
#[test]
fn losses_are_told_on_an_old_kernel() {
    TOO_OLD.run(|| {
        losses_are_told();
    });
}

fn losses_are_told() {
    let wire = Wire::new(1);
    let lossy = |what: &str| {
        let words = "root netem rate 20mbit limit 100 delay 10ms";
        run(&format!("tc qdisc replace dev near1 {words} {what}")).ok();
    };
    lossy("loss 2%");
    let before = [count("Tcp", "RetransSegs"), count("TcpExt", "TCPTimeouts")];
    let mut recorder = Recorder::start(&["--interval", "100ms", "--port", "5001"]);
    let upload = upload(&wire);
    thread::sleep(Duration::from_secs(4));
    // Long enough for several timeouts.
    lossy("loss 100%");
    thread::sleep(Duration::from_secs(3));
    lossy("loss 0%");
    thread::sleep(Duration::from_secs(3));
    upload.stop();
    // Segments in flight arrive.
    thread::sleep(Duration::from_secs(1));
    let (cwnd, ssthresh) = upload.windows();
    let seen = takt("flows --output json --port 5001").json();
    let recording = recorder.end();
    let after = [count("Tcp", "RetransSegs"), count("TcpExt", "TCPTimeouts")];

    let track = sender(&recording);
    let told = |count: fn(&Event) -> u64| track.events.iter().map(count).sum::<u64>();
    let retransmitted = told(|event| match event.what {
        What::Retransmit { segments } => segments.into(),
        _ => 0,
    });
    let timeouts = told(|event| u64::from(event.what == What::Timeout));
    assert!(
        retransmitted > 20 && timeouts >= 3,
        "{retransmitted}, {timeouts}"
    );
    assert_eq!(
        [retransmitted, timeouts],
        [after[0] - before[0], after[1] - before[1]]
    );
    assert_eq!(recording.lost_events, 0);
    let counted = |count: fn(&Sample) -> u32| track.samples.last().map(count).map(u64::from);
    assert_eq!(counted(|s| s.retransmitted_segments), Some(retransmitted));
    assert_eq!(counted(|s| s.timeouts), Some(timeouts));
    let full = |event: &Event| matches!(event.what, What::Limit { .. });
    assert!(
        track.events.iter().any(full),
        "the window was full at times"
    );
    assert!(
        track
            .samples
            .iter()
            .all(|sample| sample.rtt_min_us.is_none_or(|us| us >= 10_000))
    );

    // Nothing is in flight: the socket itself reports the same.
    let flows = seen["flows"].as_array().expect("a list").clone();
    let shown: Vec<&Value> = flows
        .iter()
        .filter(|flow| flow["flow"] == track.flow.id)
        .collect();
    assert_eq!(shown[0]["cwnd_segments"], cwnd);
    assert_eq!(shown[0]["ssthresh_segments"], ssthresh);
    assert!(shown[0]["pid"] == std::process::id(), "{shown:#?}");

    takt(&format!("flows plot {RECORD} --out /lab/page.html")).ok();
    assert!(
        fs::read_to_string("/lab/page.html")
            .unwrap()
            .contains("<svg")
    );
    drop(upload);
    drop(wire);
}

#[test]
fn thousands_are_there_for_several_at_once() {
    const FLOWS: usize = 2_000;
    DEFAULT.run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let ends: Vec<_> = (0..FLOWS)
            .map(|_| (TcpStream::connect(to).unwrap(), listener.accept().unwrap()))
            .collect();
        let port = to.port().to_string();
        let mut recorder = Recorder::start(&["--interval", "1s", "--port", &port]);
        thread::sleep(Duration::from_secs(2));
        let seen = takt(&format!("flows --output json --port {port}")).json();
        let flows = seen["flows"].as_array().expect("a list");
        let ids: BTreeSet<_> = flows
            .iter()
            .filter_map(|flow| flow["flow"].as_u64())
            .collect();
        assert_eq!((flows.len(), ids.len()), (2 * FLOWS, 2 * FLOWS));
        assert!(flows.iter().all(|flow| flow["pid"] == std::process::id()));
        let recording = recorder.end();
        let recorded: BTreeSet<_> = recording.tracks.iter().map(|track| track.flow.id).collect();
        assert_eq!(recorded, ids);
        drop(ends);
    });
}

#[test]
fn other_namespaces_are_not_looked_into() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let upload = upload(&wire);
        thread::sleep(Duration::from_secs(1));
        let seen = |ran: Value| ran["flows"].as_array().expect("a list").len();
        assert_eq!(seen(takt("flows --output json --port 5001").json()), 1);
        let far = run("ip netns exec b takt flows --output json --port 5001").json();
        assert_eq!(seen(far), 1);
        upload.stop();
        drop(upload);
        drop(wire);
    });
}

#[test]
fn a_killed_one_leaves_nothing_but_whole_lines() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let before = Held::now();
        let upload = upload(&wire);
        let mut recorder = Recorder::start(&["--interval", "10ms"]);
        thread::sleep(Duration::from_secs(1));
        assert!(Held::now().links > before.links);
        recorder.0.kill().unwrap();
        recorder.0.wait().unwrap();
        before.wait_until_back();
        assert_no_trace();
        let text = fs::read_to_string(RECORD).unwrap();
        let recording = Recording::parse(&text).unwrap();
        assert!(sender(&recording).samples.len() > 10);
        upload.stop();
        drop(upload);
        drop(wire);
    });
}

/// `takt flows --record`.
struct Recorder(Child);

impl Recorder {
    fn start(arguments: &[&str]) -> Self {
        let mut takt = Command::new("takt");
        takt.args(["flows", "--record", RECORD]).args(arguments);
        let child = takt.stdin(Stdio::null()).spawn().expect("takt starts");
        let recorder = Self(child);
        let patience = 300;
        for _ in 0..patience {
            if fs::read(RECORD).is_ok_and(|text| !text.is_empty()) {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        recorder
    }

    /// The file stays until this is dropped.
    fn end(&mut self) -> Recording {
        kill(Pid::from_raw(self.0.id() as i32), Signal::SIGINT).unwrap();
        assert!(self.0.wait().unwrap().success());
        let text = fs::read_to_string(RECORD).unwrap();
        Recording::parse(&text).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = fs::remove_file(RECORD);
    }
}

/// The flow that this side sends on.
fn sender(recording: &Recording) -> &Track {
    let mut tracks = recording.tracks.iter();
    tracks
        .find(|track| track.flow.ends.remote.port() == PORT)
        .unwrap_or_else(|| panic!("it is not in {:#?}", recording.tracks))
}

/// As much as TCP takes, to the far end.
fn upload(wire: &Wire) -> Upload {
    let to = format!("{}:{PORT}", wire.far_v4());
    let listener = in_far_namespace(|| TcpListener::bind(&to).unwrap());
    Upload::start(&listener, None).unwrap()
}

/// One of this namespace's counters of TCP.
fn count(group: &str, name: &str) -> u64 {
    let text = ["/proc/net/snmp", "/proc/net/netstat"]
        .map(|path| fs::read_to_string(path).unwrap())
        .concat();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with(&format!("{group}:")))
        .collect();
    let [names, values] = lines[..] else {
        panic!("{group} in {text}");
    };
    let at = names.split(' ').position(|one| one == name);
    let value = at.and_then(|at| values.split(' ').nth(at)?.parse().ok());
    value.unwrap_or_else(|| panic!("{name} in {text}"))
}
