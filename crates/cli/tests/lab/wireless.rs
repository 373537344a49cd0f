//! Signals of real wireless devices, as far as a kernel without hardware has any: from the driver's
//! table of stations, or a client's own, to the stations' weights and shares.

use std::{
    net::UdpSocket,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::sys::socket::{setsockopt, sockopt::SndBufForce};
use takt_host::{
    SignalMeter,
    stations::{Station, Stations},
};

use crate::{
    flow::in_far_namespace,
    hwsim::{Air, SSID, ip, mac, near_ip},
    machine::WIRELESS,
    reporting::{Daemon, clean},
    shell::{run, run_far},
    takt::{apply, takt},
    wire::Wire,
};

/// The default.
const INTERVAL: Duration = Duration::from_millis(200);
/// Noise, which an access point's driver does not report, and which a station's does after a scan.
const NOISE_ASSUMED_DBM: i32 = -95;
const NOISE_TOLD_DBM: i32 = -92;
const DUMP: &str = "source = \"station-dump\"";

const FRAME_BYTES: usize = 1000;
const HEADERS_BYTES: usize = 42;
const BUFFER_BYTES: usize = 16 << 20;

/// 20,000 ppm for each dB, and no smoothing.
fn policy(radio: &str) -> String {
    format!(
        "[link.wlan0]\nrate = \"2mbit\"\n[[link.wlan0.class]]\nname = \"default\"\n\
         queue_packets = 1000\n[radio]\n{radio}\nsmoothing = 1\npoints = [[0, 0.0], [50, 1.0]]\n"
    )
}

fn weight_ppm(snr_db: i32) -> u32 {
    20_000 * u32::try_from(snr_db).unwrap()
}

/// The stations of wlan0. Each look costs the machine's time, since it copies the link's whole
/// memory.
struct Table(Stations);

impl Table {
    fn open() -> Self {
        Self(Stations::open("wlan0").expect("wlan0 has stations"))
    }

    fn of(&self, n: u8) -> Option<Station> {
        let its = |station: &Station| station.address.to_string() == mac(n);
        let found = self.0.list().into_iter().find(its);
        found.filter(|station| station.known)
    }

    fn has(&self, n: u8, weight_ppm: u32) -> bool {
        self.of(n)
            .is_some_and(|station| station.weight_ppm == weight_ppm)
    }

    /// How long it takes until this holds, at most that long.
    #[track_caller]
    fn until(&self, patience: Duration, what: &str, is_so: impl Fn(&Self) -> bool) -> Duration {
        let start = Instant::now();
        while !is_so(self) {
            let took = start.elapsed();
            assert!(took <= patience, "{what}: {took:?}, {:#?}", self.0.list());
            thread::sleep(patience / 40);
        }
        start.elapsed()
    }
}

#[test]
fn signals_reach_the_weights_within_two_intervals() {
    WIRELESS.run(|| {
        let air = Air::new();
        let _talk = [1, 2].map(|n| air.station_talks(n));
        air.set_signal(1, -70);
        air.set_signal(2, -70);
        apply(&policy(DUMP)).says(&["radio: taktd manages it"]).ok();
        let _daemon = Daemon::start();
        let table = Table::open();
        let same = weight_ppm(-70 - NOISE_ASSUMED_DBM);
        for n in [1, 2] {
            table.until(Duration::from_secs(3), "first heard", |table| {
                table.has(n, same)
            });
        }
        let mut longest = Duration::ZERO;
        for (turn, dbm) in [-60, -85, -50, -94]
            .into_iter()
            .cycle()
            .take(24)
            .enumerate()
        {
            // At every moment of an interval.
            thread::sleep(INTERVAL + INTERVAL / 24 * turn as u32);
            air.set_signal(1, dbm);
            let wanted = weight_ppm(dbm - NOISE_ASSUMED_DBM);
            let took = table.until(2 * INTERVAL, "changed", |table| table.has(1, wanted));
            longest = longest.max(took);
            assert!(table.has(2, same), "{:?}", table.of(2));
        }
        println!("of 24 changes the slowest took {longest:?}");
        // By the station's transmit power.
        air.set_signal(2, -80);
        run_far("iw dev wlan2 set txpower fixed 1500").ok();
        let wanted = weight_ppm(-80 + 15 - NOISE_ASSUMED_DBM);
        table.until(2 * INTERVAL, "more power", |table| table.has(2, wanted));

        let status = takt("status --output json").json();
        let stations = status["links"][0]["radio"]["stations"].as_array().unwrap();
        let shown = stations.iter().find(|station| station["address"] == mac(2));
        assert_eq!(shown.unwrap()["weight_ppm"], wanted, "{status}");
    });
}

#[test]
fn a_weight_shares_the_air() {
    WIRELESS.run(|| {
        let air = Air::new();
        let talk = [1, 2].map(|n| air.station_talks(n));
        air.set_signal(1, NOISE_ASSUMED_DBM + 40);
        air.set_signal(2, NOISE_ASSUMED_DBM + 10);
        apply(&policy(DUMP)).ok();
        let _daemon = Daemon::start();
        let table = Table::open();
        table.until(Duration::from_secs(3), "heard", |table| {
            table.has(1, weight_ppm(40)) && table.has(2, weight_ppm(10))
        });
        drop(talk);
        let senders = [1, 2].map(|n| {
            let sender = UdpSocket::bind((near_ip(n), 0)).unwrap();
            setsockopt(&sender, SndBufForce, &BUFFER_BYTES).unwrap();
            for _ in 0..990 {
                let payload = [0; FRAME_BYTES - HEADERS_BYTES];
                sender.send_to(&payload, (ip(n), 9)).unwrap();
            }
            sender
        });
        let [first, second] = received_in(Duration::from_secs(3));
        // 250 frames a second in all.
        assert!(first + second > 700, "{first} and {second}");
        assert!(first.abs_diff(4 * second) <= 10, "{first} and {second}");
        drop(senders);
    });
}

/// The packets that came out at each station's end of the air while this time passed.
fn received_in(time: Duration) -> [u64; 2] {
    let received = |n: u8| {
        let shown = run_far(&format!("ip -s -j link show dev wlan{n}")).json();
        shown[0]["stats64"]["rx"]["packets"].as_u64().unwrap()
    };
    let before = [1, 2].map(received);
    thread::sleep(time);
    let after = [1, 2].map(received);
    [0, 1].map(|at| after[at] - before[at])
}

#[test]
fn a_station_that_leaves_decays_and_is_forgotten() {
    WIRELESS.run(|| {
        let air = Air::new();
        let _talk = air.station_talks(1);
        let talk = air.station_talks(2);
        air.set_signal(1, -70);
        air.set_signal(2, -60);
        apply(&policy(DUMP)).ok();
        let _daemon = Daemon::start();
        let table = Table::open();
        let [stays, leaves] = [-70, -60].map(|dbm| weight_ppm(dbm - NOISE_ASSUMED_DBM));
        table.until(Duration::from_secs(3), "heard", |table| {
            table.has(1, stays) && table.has(2, leaves)
        });
        // As long as it is associated it keeps the signal of its last frame.
        drop(talk);
        thread::sleep(Duration::from_secs(5));
        assert!(table.has(2, leaves), "{:?}", table.of(2));

        air.leave(2);
        let below =
            |ppm| move |table: &Table| table.of(2).is_some_and(|station| station.weight_ppm < ppm);
        table.until(2 * INTERVAL, "missed", below(leaves));
        table.until(20 * INTERVAL, "decayed", below(10_000));
        table.until(Duration::from_secs(61), "forgotten", |table| {
            table.of(2).is_none()
        });
        assert!(table.has(1, stays), "{:?}", table.of(1));

        let _talk = air.station_talks(2);
        air.join(2);
        table.until(2 * INTERVAL, "back", |table| table.has(2, leaves));
    });
}

#[test]
fn a_client_reports_what_its_own_device_hears() {
    WIRELESS.run(|| {
        let air = Air::new();
        let talk = air.access_point_talks(1);
        air.set_signal(0, -70);
        clean();
        apply(&policy("key_file = \"radio.key\"")).ok();
        let _daemon = Daemon::start();
        let table = Table::open();
        let _client = Daemon::start_client_of(&format!(
            "report_to = \"{}:7641\"\ndevice = \"wlan1\"\n",
            near_ip(1)
        ));
        let wanted = |dbm| weight_ppm(dbm - NOISE_TOLD_DBM);
        table.until(Duration::from_secs(5), "first heard", |table| {
            table.has(1, wanted(-70))
        });
        for (turn, dbm) in (1..).zip([-85, -60, -90, -50, -70]) {
            thread::sleep(2 * INTERVAL + INTERVAL / 5 * turn);
            let before = table.of(1).unwrap().weight_ppm;
            air.set_signal(0, dbm);
            // The average of the interval that it comes in.
            table.until(2 * INTERVAL, "changed", |table| !table.has(1, before));
            table.until(2 * INTERVAL, "settled", |table| table.has(1, wanted(dbm)));
        }

        // Its device is removed, and comes back as another one of that name.
        drop(talk);
        run_far("iw dev wlan1 del").ok();
        thread::sleep(Duration::from_secs(1));
        run_far("iw phy#1 interface add wlan1 type managed").ok();
        air.join(1);
        let _talk = air.access_point_talks(1);
        air.set_signal(0, -55);
        table.until(Duration::from_secs(5), "as another", |table| {
            table.has(1, wanted(-55))
        });
        run_far("takt revert").ok();
    });
}

#[test]
fn doctor_says_that_packets_wait_below_the_qdisc() {
    WIRELESS.run(|| {
        let _air = Air::new();
        // It does while Takt is attached there, too.
        apply(&policy(DUMP)).ok();
        let advice = ["packets wait", "shape a little below what the air carries"];
        let said = takt("doctor").says(&advice);
        let lines = said.stdout.lines();
        let below: Vec<&str> = lines.filter(|line| line.starts_with("  below")).collect();
        assert!(
            matches!(&below[..], [line] if line.contains("wlan0")),
            "{said}"
        );
        assert!(!run("tc qdisc show dev wlan0").stdout.contains("noqueue"));
    });
}

#[test]
fn a_wire_tells_no_signals() {
    WIRELESS.run(|| {
        let _wire = Wire::new(1);
        apply(&policy(DUMP).replace("wlan0", "near1")).ok();
        let taktd = Command::new("timeout")
            .args(["1", "taktd"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&taktd.stderr);
        let expected = "taktd: warning: radio: near1 reports no signal: it is not a wireless \
             device\n";
        assert_eq!(said, expected);
    });
}

#[test]
fn a_network_is_known_by_its_name() {
    WIRELESS.run(|| {
        let air = Air::new();
        let ssid = || in_far_namespace(|| SignalMeter::open("wlan1").unwrap().ssid().unwrap());
        assert_eq!(ssid().as_deref(), Some(SSID.as_bytes()));
        air.leave(1);
        assert_eq!(ssid(), None);
        air.join(1);
        assert_eq!(ssid().as_deref(), Some(SSID.as_bytes()));
    });
}
