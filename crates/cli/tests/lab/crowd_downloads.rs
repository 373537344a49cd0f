//! A terminal bounds what it receives: the round trip falls at the same rate, and all is given
//! back.

use std::{net::TcpListener, thread, time::Duration};

use serde_json::Value;

use crate::{
    flow::in_namespace,
    kernel_bpf::wait_for,
    machine::{DEFAULT, NEWEST, TOO_OLD},
    reporting::Daemon,
    terminals::{Terminals, address, in_netns, name, narrow, split},
    upload::Upload,
};

const WARM_UP: Duration = Duration::from_secs(5);
const SAMPLES: u32 = 100;
const SAMPLE: Duration = Duration::from_millis(50);
const LATER: Duration = Duration::from_secs(40);

#[test]
fn round_trips_fall_and_come_back() {
    DEFAULT.run(|| {
        round_trips_fall();
    });
}

#[test]
fn round_trips_fall_and_come_back_on_the_newest_kernel() {
    NEWEST.run(|| {
        round_trips_fall();
    });
}

#[test]
fn round_trips_fall_and_come_back_on_an_old_kernel() {
    TOO_OLD.run(|| {
        round_trips_fall();
    });
}

/// What the sender of a download sees over some seconds.
#[derive(Debug)]
pub struct Seen {
    pub rtt_us: u64,
    pub rate_bytes_ps: u64,
}

impl Seen {
    pub fn new(download: &Upload) -> Self {
        thread::sleep(WARM_UP);
        let before = download.received_bytes();
        let mut sum_us = 0;
        for _ in 0..SAMPLES {
            thread::sleep(SAMPLE);
            sum_us += u64::from(download.rtt_us());
        }
        let millis = u64::from(SAMPLES) * SAMPLE.as_millis() as u64;
        let seen = Self {
            rtt_us: sum_us / u64::from(SAMPLES),
            rate_bytes_ps: (download.received_bytes() - before) * 1000 / millis,
        };
        println!("{seen:?}, clamp {}", download.clamp_bytes());
        seen
    }
}

/// From the server to a terminal.
fn download(n: u8) -> Upload {
    let at = format!("{}:0", address(n));
    let listener = in_namespace(&name(n), || TcpListener::bind(at).unwrap());
    in_namespace("server", || Upload::start(&listener, None).unwrap())
}

fn bounded(n: u8) -> Value {
    let status = in_netns(&name(n), "takt status --output json").json();
    status["crowd"]["bounds"]["downloads"].clone()
}

fn round_trips_fall() {
    let _terminals = Terminals::new();
    split("server", "wire");
    // The queue behind it holds 600 ms.
    narrow("t1", "air", "20mbit");
    let download = download(1);
    let without = Seen::new(&download);
    let clamp = download.clamp_bytes();

    let daemon = Terminals::join_as(1, "downloads = true");
    for later in [Duration::ZERO, LATER] {
        thread::sleep(later);
        let with = Seen::new(&download);
        assert!(with.rtt_us < without.rtt_us / 2, "{with:?} {without:?}");
        let share = with.rate_bytes_ps as f64 / without.rate_bytes_ps as f64;
        assert!(share > 0.98, "{with:?} {without:?}");
    }
    assert!(download.clamp_bytes() < clamp);
    assert_eq!(bounded(1), 1);

    // taktd is killed: what it set stays, until it is back or the policy ends.
    daemon.kill();
    let left = download.clamp_bytes();
    thread::sleep(Duration::from_secs(1));
    assert_eq!(download.clamp_bytes(), left);
    let daemon = Daemon::start_alone(&name(1));
    wait_for(|| download.clamp_bytes() != left);
    daemon.end();
    // The kernel may have raised it since.
    assert!(download.clamp_bytes() >= clamp, "its end gives it back");
    assert_eq!(bounded(1), 0);

    let daemon = Daemon::start_alone(&name(1));
    wait_for(|| download.clamp_bytes() < clamp);
    daemon.kill();
    in_netns(&name(1), "takt revert").ok();
    assert!(download.clamp_bytes() >= clamp, "so does the policy's");
    download.assert_goes_on();

    // The application's own is smaller, and stays.
    const OWN_BYTES: u32 = 8_000;
    download.set_clamp_bytes(OWN_BYTES);
    let daemon = Terminals::join_as(1, "downloads = true");
    thread::sleep(Duration::from_secs(3));
    assert_eq!((download.clamp_bytes(), bounded(1)), (OWN_BYTES, 0.into()));
    daemon.end();
}
