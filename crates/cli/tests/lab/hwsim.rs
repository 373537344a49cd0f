//! The kernel's simulated radios (mac80211_hwsim): an access point here, and two stations in
//! namespace b, each in a network of its own. Every frame arrives, with the signal that the test
//! sets.

use std::{
    fs,
    net::UdpSocket,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::{
    flow::in_far_namespace,
    shell::{run, run_far},
    takt::{assert_no_trace, takt},
};

/// They come along to machines with wireless devices.
pub const HOSTAPD: &str = "/usr/sbin/hostapd";
pub const IW: &str = "/usr/sbin/iw";

pub const SSID: &str = "takt";
const CHANNEL_MHZ: &str = "2412";
const CONFIG: &str = "/lab/hostapd.conf";
/// Far below what is sent over the air beside it.
const CHATTER_PERIOD: Duration = Duration::from_millis(10);
const CHATTER_PORT: u16 = 9;

/// An access point, wlan0, that both stations are associated with.
pub struct Air {
    hostapd: Child,
    _deaf: UdpSocket,
}

impl Air {
    pub fn new() -> Self {
        claim();
        let config = format!("interface=wlan0\nssid={SSID}\nhw_mode=g\nchannel=1\n");
        fs::write(CONFIG, config).unwrap();
        run("ip link set wlan0 up").ok();
        let hostapd = Command::new("hostapd")
            .arg(CONFIG)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let air = Self {
            hostapd,
            // A socket, so that the stations' datagrams are not answered with ICMP errors.
            _deaf: UdpSocket::bind(("0.0.0.0", CHATTER_PORT)).unwrap(),
        };
        let is_on = || run("iw dev wlan0 info").stdout.contains(SSID);
        assert!((0..50).any(|_| is_on() || pause()), "no access point");
        run("iw dev wlan0 set txpower fixed 0").ok();
        for n in [1, 2] {
            run(&format!("ip addr add {}/24 dev wlan0", near_ip(n))).ok();
            air.join(n);
        }
        air
    }

    /// A station associates, gets its address and sends with a transmit power of zero: the signal
    /// that is set is the one that arrives.
    pub fn join(&self, n: u8) {
        let (far, near) = (ip(n), near_ip(n));
        for line in [
            format!("ip link set wlan{n} addrgenmode none up"),
            format!("iw dev wlan{n} connect -w {SSID} {CHANNEL_MHZ}"),
            format!("iw dev wlan{n} set txpower fixed 0"),
            format!("ip addr replace {far}/24 dev wlan{n}"),
            format!(
                "ip neigh replace {near} lladdr {} nud permanent dev wlan{n}",
                mac(0)
            ),
        ] {
            run_far(&line).ok();
        }
        let station = mac(n);
        run(&format!(
            "ip neigh replace {far} lladdr {station} nud permanent dev wlan0"
        ))
        .ok();
    }

    pub fn leave(&self, n: u8) {
        run_far(&format!("iw dev wlan{n} disconnect")).ok();
    }

    /// Sets the signal with which others receive the station, or the access point, which is 0: −100
    /// to −1 dBm.
    pub fn set_signal(&self, n: u8, dbm: i32) {
        let file = format!("/sys/kernel/debug/ieee80211/phy{n}/hwsim/rx_rssi");
        // The file takes negative numbers only in their 64-bit form.
        let value = i64::from(dbm).cast_unsigned().to_string();
        fs::write(file, value).unwrap();
    }

    /// A signal is that of the last frame: the station sends all the time.
    pub fn station_talks(&self, n: u8) -> Chatter {
        let socket = in_far_namespace(|| UdpSocket::bind((ip(n), 0)).unwrap());
        Chatter::new(socket, &near_ip(n))
    }

    /// The same from the access point to a station.
    pub fn access_point_talks(&self, n: u8) -> Chatter {
        Chatter::new(UdpSocket::bind((near_ip(n), 0)).unwrap(), &ip(n))
    }
}

/// Reverts takt and takes the radios down, whatever the test's outcome.
impl Drop for Air {
    fn drop(&mut self) {
        let reverted = takt("revert");
        let _ = self.hostapd.kill();
        let _ = self.hostapd.wait();
        let qdisc = run("tc qdisc show dev wlan0");
        run("ip addr flush dev wlan0");
        run("ip link set wlan0 down");
        for n in [1, 2] {
            run_far(&format!("ip addr flush dev wlan{n}"));
            run_far(&format!("ip link set wlan{n} down"));
        }
        if thread::panicking() {
            run("rm -rf /run/takt /sys/fs/bpf/takt");
        } else {
            reverted.ok();
            assert!(qdisc.stdout.starts_with("qdisc noqueue"), "{qdisc}");
            assert_no_trace();
        }
    }
}

/// A frame every now and then, until this is dropped.
pub struct Chatter {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Chatter {
    fn new(socket: UdpSocket, to: &str) -> Self {
        socket.connect((to, CHATTER_PORT)).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let thread = thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                // The receiver may be absent at present.
                let _ = socket.send(&[0]);
                thread::sleep(CHATTER_PERIOD);
            }
        });
        Self {
            over,
            thread: Some(thread),
        }
    }
}

impl Drop for Chatter {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The radio's number in mac80211_hwsim, of a station, or of the access point, which is 0.
pub fn mac(n: u8) -> String {
    format!("02:00:00:00:{n:02x}:00")
}

pub fn ip(n: u8) -> String {
    format!("10.9.{n}.2")
}

/// The access point's, to that station.
pub fn near_ip(n: u8) -> String {
    format!("10.9.{n}.1")
}

/// The kernel made the radios in the namespace that it started with. Radios that a test has moved
/// stay.
fn claim() {
    if run("ip link show wlan0").status == Some(0) {
        return;
    }
    for (n, namespace) in ["a", "b", "b"].into_iter().enumerate() {
        // Its oldest thread is still there.
        run(&format!(
            "nsenter --net=/proc/2/ns/net iw phy#{n} set netns name {namespace}"
        ))
        .ok();
    }
}

fn pause() -> bool {
    thread::sleep(Duration::from_millis(100));
    false
}
