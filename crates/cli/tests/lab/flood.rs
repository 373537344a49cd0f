//! Datagrams that are no reports, as fast as one processor sends them: they change no weight, keep
//! no report out, and leave the processor to other work. The figures are of virtual time
//! (docs/radio.md says what they mean): `-- flood --show-output`.

use std::{
    fs,
    io::IoSliceMut,
    net::{Ipv4Addr, UdpSocket},
    os::fd::AsRawFd,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use nix::{
    cmsg_space,
    sys::{
        socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt},
        time::TimeSpec,
    },
};
use serde_json::Value;
use takt_wlan::radio::Report;

use crate::{
    daemon::say,
    flooder::{Datagrams, Member, flood, forged, lies, malformed},
    flow::in_far_namespace,
    machine::DEFAULT,
    reporting::{CLIENT, Daemon, SNR, STATION, assert_soon, clean, listed, weight_ppm},
    shell::run_far,
    takt::{apply, takt},
    wire::{End, Wire},
};

/// Frames of 1042 bytes are 417 us apart, in whatever class.
const POLICY: &str = r#"
[link.near1]
rate = "100mbit"

[[link.near1.class]]
name = "paced"
match = { proto = "udp", dst_port = "5001-5003" }
rate = "20mbit"
ceil = "20mbit"
queue_packets = 8000

[radio]
key_file = "radio.key"
interval = "100ms"
smoothing = 1
decay = 1
points = [[0, 0.0], [10, 1.0]]
"#;

const FRAME_NS: i64 = 416_800;
const PAYLOAD_BYTES: usize = 1000;
const PACKETS: usize = 8000;
const BUFFER_BYTES: usize = 64 << 20;

const BAD: usize = 100_000;
const REPORTS_TO: &str = "10.1.0.1:7641";
const INTERVAL_NS: u64 = 100_000_000;
const NS_PER_S: u64 = 1_000_000_000;
/// The datagrams of strangers that taktd reads.
const READ_MAX_PER_S: u64 = 4_000;

fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_nanos() as u64
}

/// Packets that wait in a paced class, and when each came out at the far end.
struct Paced {
    receiver: UdpSocket,
}

impl Paced {
    fn new(port: u16) -> Self {
        let to = format!("10.1.0.2:{port}");
        let receiver = in_far_namespace(|| UdpSocket::bind(&to).unwrap());
        setsockopt(&receiver, sockopt::RcvBufForce, &BUFFER_BYTES).unwrap();
        setsockopt(&receiver, sockopt::ReceiveTimestampns, &true).unwrap();
        let sender = UdpSocket::bind("0.0.0.0:0").unwrap();
        setsockopt(&sender, sockopt::SndBufForce, &BUFFER_BYTES).unwrap();
        for _ in 0..PACKETS {
            sender.send_to(&[0; PAYLOAD_BYTES], &to).unwrap();
        }
        Self { receiver }
    }

    /// How far from even the gaps were between packets that came within a time, and how many came.
    fn spacing(&self, from_ns: u64, to_ns: u64) -> Spacing {
        thread::sleep(Duration::from_nanos(PACKETS as u64 * FRAME_NS as u64));
        let mut arrivals_ns = Vec::new();
        let (mut byte, mut space) = ([0; 1], cmsg_space!(TimeSpec));
        loop {
            let mut parts = [IoSliceMut::new(&mut byte)];
            let flags = MsgFlags::MSG_DONTWAIT;
            let fd = self.receiver.as_raw_fd();
            let Ok(message) = recvmsg::<()>(fd, &mut parts, Some(&mut space), flags) else {
                break;
            };
            for note in message.cmsgs().unwrap() {
                if let ControlMessageOwned::ScmTimestampns(at) = note {
                    arrivals_ns.push(at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64);
                }
            }
        }
        arrivals_ns.retain(|at_ns| (from_ns..to_ns).contains(at_ns));
        let gap = |pair: &[u64]| (pair[1] - pair[0]) as i64 - FRAME_NS;
        let mut errors_ns: Vec<u64> = arrivals_ns
            .windows(2)
            .map(|pair| gap(pair).unsigned_abs())
            .collect();
        errors_ns.sort_unstable();
        assert!(errors_ns.len() >= 100, "{} packets", arrivals_ns.len());
        Spacing {
            p50_ns: errors_ns[errors_ns.len() / 2],
            p99_ns: errors_ns[errors_ns.len() * 99 / 100],
            max_ns: errors_ns[errors_ns.len() - 1],
            packets: arrivals_ns.len(),
        }
    }
}

struct Spacing {
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
    packets: usize,
}

/// taktd's counters, as of its last look at its sockets.
fn heard() -> Value {
    say(r#"{"list_radio":{}}"#)["ok"]["sources"][0].clone()
}

fn count(heard: &Value, what: &str) -> u64 {
    let said = heard["datagrams"].get(what).or_else(|| heard.get(what));
    let said = said.and_then(Value::as_u64);
    said.unwrap_or_else(|| panic!("no {what} in {heard}"))
}

/// The measurements of a time.
struct Phase {
    elapsed_ns: u64,
    taktd_ns: u64,
    spacing: Spacing,
}

impl Phase {
    fn new(port: u16, daemon: &Daemon, act: impl FnOnce()) -> Self {
        let paced = Paced::new(port);
        let (from_ns, before_ns) = (now_ns(), daemon.cpu_ns());
        act();
        let (to_ns, after_ns) = (now_ns(), daemon.cpu_ns());
        Self {
            elapsed_ns: to_ns - from_ns,
            taktd_ns: after_ns - before_ns,
            spacing: paced.spacing(from_ns, to_ns),
        }
    }

    fn show(&self, what: &str) {
        println!(
            "{what}: {:.3} s, of it taktd {:.3} %; {} packets, spacing error p50 {} ns, p99 {} ns, \
             max {} ns",
            self.elapsed_ns as f64 / 1e9,
            self.taktd_ns as f64 / self.elapsed_ns as f64 * 100.0,
            self.spacing.packets,
            self.spacing.p50_ns,
            self.spacing.p99_ns,
            self.spacing.max_ns,
        );
    }
}

fn report(last: u8, v4: Ipv4Addr) -> Report {
    Report {
        mac: Some([2, 0, 0, 0, 1, last]),
        v4: Some(v4),
        v6: None,
        snr_centidb: 0,
    }
}

fn all_kinds(member: &mut Member, said: Vec<u8>) -> [Datagrams; 4] {
    let victim = report(2, Ipv4Addr::new(10, 1, 0, 2));
    let lies = lies(member, victim);
    let replayed = vec![said; lies.len()];
    [malformed(), forged(victim), replayed, lies]
}

#[test]
fn changes_no_weight_and_slows_nothing() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        wire.add_address(End::Far, "", "10.1.0.3/24");
        clean();
        apply(POLICY).says(&["taktd manages it"]).ok();
        let daemon = Daemon::start();
        fs::create_dir_all(CLIENT).unwrap();
        fs::write(SNR, "10.1.0.2 5\n").unwrap();
        let _client = Daemon::start_client();
        assert_soon(30, "first heard", |weight| weight == Some(500_000));

        // A member that is heard once, and whose reports can be copied from then on.
        let mut member = Member::new(report(3, Ipv4Addr::new(10, 1, 0, 3)));
        let said = member.says(300);
        let quiet_socket = in_far_namespace(|| UdpSocket::bind("10.1.0.3:0").unwrap());
        quiet_socket.send_to(&said, REPORTS_TO).unwrap();
        thread::sleep(Duration::from_millis(200));
        let weights = || -> Vec<_> {
            let stations = listed().into_iter();
            let weight =
                |station: Value| (station["address"].clone(), station["weight_ppm"].clone());
            stations.map(weight).collect()
        };
        let before = weights();
        assert_eq!(before.len(), 2, "{before:?}");
        assert_eq!(before[1].1, 300_000, "{before:?}");
        let kinds = all_kinds(&mut member, said);

        let quiet = Phase::new(5001, &daemon, || thread::sleep(Duration::from_secs(1)));
        quiet.show("quiet");
        let unread = UdpSocket::bind("10.1.0.1:9").unwrap();
        let control = Phase::new(5002, &daemon, || {
            flood("10.1.0.2:0", "10.1.0.1:9", &kinds, BAD)
        });
        control.show("to a socket that nobody reads");
        drop(unread);
        let (mut first, mut last) = (Value::Null, Value::Null);
        let flooded = Phase::new(5003, &daemon, || {
            first = heard();
            flood("10.1.0.2:0", REPORTS_TO, &kinds, BAD);
            last = heard();
        });
        flooded.show("to taktd");
        println!("before {first}\nafter {last}");

        assert_eq!(weights(), before);
        let since = |what: &str| count(&last, what) - count(&first, what);
        let intervals = flooded.elapsed_ns / INTERVAL_NS;
        assert!(
            since("heard_samples") + 2 > intervals,
            "of {intervals}: {last}"
        );
        for reason in [
            "malformed",
            "forged",
            "replayed",
            "unknown",
            "too_often",
            "not_its_own",
        ] {
            assert!(since(reason) > 0, "{reason}: {last}");
        }
        let read = since("read") - since("heard");
        assert!(read <= READ_MAX_PER_S * (flooded.elapsed_ns + INTERVAL_NS) / NS_PER_S + 512);
        // No packet is later than with any other flood, and taktd takes no more than it may.
        let (spacing, other) = (&flooded.spacing, &control.spacing);
        assert!(
            spacing.p99_ns <= other.p99_ns + 2_000,
            "p99 {}",
            spacing.p99_ns
        );
        assert!(
            spacing.max_ns <= other.max_ns + 10_000,
            "max {}",
            spacing.max_ns
        );
        assert!(flooded.taktd_ns * 50 <= flooded.elapsed_ns, "more than 2 %");
        println!(
            "{:.0} a second; taktd took {:.0} ns for each of the {read} that it read",
            BAD as f64 / flooded.elapsed_ns as f64 * 1e9,
            (flooded.taktd_ns as f64
                - quiet.taktd_ns as f64 * flooded.elapsed_ns as f64 / quiet.elapsed_ns as f64)
                / read as f64,
        );

        // Afterwards everything is as before.
        fs::write(SNR, "10.1.0.2 9\n").unwrap();
        assert_soon(5, "heard as ever", |weight| weight == Some(900_000));
        takt("status")
            .says(&["heard by reports", "forged", STATION])
            .ok();
        assert_eq!(weight_ppm(), Some(900_000));
        run_far("takt revert").ok();
        takt("revert").ok();
    });
}
