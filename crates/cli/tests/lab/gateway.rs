//! The example of one policy for a whole host: a media gateway that is its own access point. All
//! five of its parts work at once under load, and are reverted under load.

use std::{
    fs,
    net::{TcpListener, UdpSocket},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::{
    daemon::Daemon,
    flow::in_namespace,
    inventory::Inventory,
    machine::DEFAULT,
    metronome::{US, assert_stands, member, sleep_ms, spin, state, task, wait_for_reservations},
    over::Over,
    shell::{run, run_command},
    takt::{apply, link, takt},
    terminals::{
        AGGREGATOR, Terminals, address, assert_soon, heard, in_netns, mac, name, narrow, plug,
    },
    upload::Upload,
    wire::Wire,
};

const GATEWAY: &str = include_str!("../../../../examples/wifi-media-gateway.toml");

/// The payload of a full frame.
const PAYLOAD_BYTES: usize = 1400;
/// A minute of the mixer's jobs.
const JOBS: u64 = 3000;

/// So many full frames every 10 ms, to this host, until the test is over.
pub fn flood(to: String, packets: usize, done: &Arc<AtomicBool>) -> JoinHandle<()> {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect(to).unwrap();
    socket.set_nonblocking(true).unwrap();
    let done = done.clone();
    thread::spawn(move || {
        while !done.load(SeqCst) {
            for _ in 0..packets {
                // The queue may be full: that is the load.
                let _ = socket.send(&[0; PAYLOAD_BYTES]);
            }
            sleep_ms(10);
        }
    })
}

/// Members of the example's task: the last one sends to a station, and counts that.
fn play(socket: UdpSocket, sent: &Arc<AtomicU64>) -> Vec<JoinHandle<Vec<u64>>> {
    let sent = sent.clone();
    let seated = Arc::new(AtomicBool::new(false));
    let act = |name, work: Box<dyn Fn() + Send>| {
        let seated = seated.clone();
        member(name, JOBS, move |_| {
            if seated.load(SeqCst) {
                work()
            } else {
                sleep_ms(1)
            }
        })
    };
    let threads = vec![
        act("decode", Box::new(|| spin(50 * US))),
        act("mix", Box::new(|| spin(50 * US))),
        act(
            "send",
            Box::new(move || {
                socket.send(&[0; PAYLOAD_BYTES]).unwrap();
                sent.fetch_add(1, SeqCst);
            }),
        ),
    ];
    wait_for_reservations(3);
    seated.store(true, SeqCst);
    threads
}

/// The weight of each station that taktd has heard, by address.
fn weights_ppm() -> Vec<(String, u64)> {
    let listed = takt("station list --output json").ends_with(0).json();
    let of_one = |station: &Value| {
        let weight_ppm = station["known"]
            .as_bool()?
            .then(|| &station["weight_ppm"])?;
        Some((
            station["address"].as_str()?.to_owned(),
            weight_ppm.as_u64()?,
        ))
    };
    let stations = listed["links"][0]["stations"].as_array().unwrap();
    stations.iter().filter_map(of_one).collect()
}

/// The status of the crowd here.
fn crowd(netns: &str) -> Value {
    in_netns(netns, "takt status --output json").json()["crowd"].clone()
}

#[test]
fn a_policy_for_a_whole_host_comes_and_goes_under_load() {
    DEFAULT.run(|| {
        let house = Wire::new(2);
        let _stations = Terminals::new();
        plug("a", "wlan0", AGGREGATOR, "02:00:00:00:09:32");
        narrow("a", "wlan0", "3mbit");
        let by = format!("aggregator = \"{AGGREGATOR}:7642\"");
        let members = [1, 2].map(|n| Terminals::join_as(n, &by));
        let listener = TcpListener::bind(format!("{AGGREGATOR}:0")).unwrap();
        let upload = |n| in_namespace(&name(n), || Upload::start(&listener, None).unwrap());
        let uploads = [1, 2].map(upload);
        let to = format!("{}:5004", address(1));
        let _listens = in_namespace(&name(1), || UdpSocket::bind(&to).unwrap());

        let done = Arc::new(AtomicBool::new(false));
        let over = Over(&done);
        let load = [
            flood(format!("{}:9", address(3)), 3, &done),
            flood(format!("{}:9", house.far_v4()), 1, &done),
        ];
        let daemon = Daemon::start();
        let before = Inventory::take();
        // Halfway from 4 dB to 10 dB: a weight halfway from 0.2 to 0.8.
        fs::write("/lab/snr.txt", format!("{} 7\n{} 14\n", mac(1), mac(2))).unwrap();
        let policy = GATEWAY
            .replace("eth0", "near2")
            // So that they fill sooner.
            .replace("95mbit", "2mbit")
            .replace("20mbit", "3mbit")
            .replace("\"station-dump\"", "\"file\"\nfile = \"snr.txt\"")
            .replace("group = \"house\"", "group = \"test\"");
        apply(&policy).ok();

        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.connect(to).unwrap();
        let sent = Arc::new(AtomicU64::new(0));
        let mixer = play(socket, &sent);
        run("ip netns exec b iperf3 -s -1 -D").ok();
        let mut backup = Command::new("takt");
        backup.args("run --background -- iperf3 -n 500K -c 10.2.0.2".split(' '));
        run_command(&mut backup).ok();
        for (n, daemon, other) in [(1, &members[0], 2), (2, &members[1], 1)] {
            assert_soon(60, daemon, n, "the other, through the gateway", |of| {
                heard(of) == [mac(other)] && of["share"]["users"] == 2
            });
        }
        for thread in mixer {
            thread.join().unwrap();
        }

        takt("status")
            .says(&[
                "stream",
                "backup",
                "station",
                "beats  running",
                "crowd test",
            ])
            .ok();
        // The mixer is on the beat, and the stream at its pace.
        assert_stands();
        assert_eq!(task(0).stats.overruns, 0);
        let (air, line) = (link("wlan0"), link("near2"));
        let stream = air.class("stream");
        let sent = sent.load(SeqCst);
        // Jobs before all members had joined sent nothing.
        assert!((JOBS - 10..=JOBS).contains(&sent), "{sent}");
        assert_eq!(stream.sent_packets, sent, "{stream:?}");
        assert_eq!(stream.dropped_packets, 0, "{stream:?}");
        // The backup arrived, and taktd has followed the stations' strengths.
        assert!(line.class("backup").sent_packets > 300, "{line:#?}");
        assert_eq!(weights_ppm(), [(mac(1), 500_000), (mac(2), 1_000_000)]);
        for class in air.classes.iter().chain(&line.classes) {
            assert!(class.adds_up(), "{class:?}");
        }
        // The crowd gets reports, and windows are of the path's four segments and a queue of six,
        // where CUBIC's would fill a queue of a thousand.
        assert_eq!(crowd("a")["role"]["name"], "aggregator");
        for (n, upload) in (1..).zip(&uploads) {
            let bounds = &crowd(&name(n))["bounds"];
            assert_eq!(
                (&bounds["source"], &bounds["flows"]),
                (&"group".into(), &1.into())
            );
            assert_eq!(upload.congestion(), "takt");
            assert!(upload.window() <= 14, "{} segments", upload.window());
            let uploaded = upload.received_bytes();
            println!(
                "station {n}: {uploaded} bytes in {} segments",
                upload.window()
            );
            assert!(uploaded > 5_000_000, "{bounds}");
        }

        // Under load that goes on.
        takt("revert").ok();
        assert_eq!(state(), "disabled");
        before.assert_is_back();
        for upload in &uploads {
            assert_eq!(upload.congestion(), "takt", "its own policy stands");
            upload.assert_goes_on();
        }
        drop(over);
        for thread in load {
            thread.join().unwrap();
        }
        daemon.ends_with(Signal::SIGTERM);
    });
}
