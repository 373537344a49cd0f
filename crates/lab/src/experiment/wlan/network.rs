//! Everything that is not on the air: namespaces, the wire, the bridge, addresses. Devices on
//! the air belong to the radio process, and are configured here when they exist.

use std::fmt::Write;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::plan::{
    ACCESS_POINT, ACCESS_POINT_ADDRESS, ACCESS_POINT_MAC, BRIDGE, BRIDGE_MAC, DEVICE,
    PREFIX_LENGTH, SERVER, SERVER_ADDRESS, SERVER_MAC, Station, UPLINK, WIRE, shown,
};
use super::script::{Cards, Script};
use crate::experiment::card::{self, FIRST, Named};
use crate::experiment::command;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::namespace::Namespace;

/// A station's queue while its transmitter is busy.
const STATION_QUEUE_FRAMES: u32 = 50;
/// One frame on the wire, and on the air, is one packet in the queue.
const OFFLOADS_OFF: [&str; 8] = ["tx", "off", "sg", "off", "tso", "off", "gso", "off"];
const GRO_OFF: [&str; 2] = ["gro", "off"];

/// Removed when it is dropped, with all its devices.
#[must_use]
pub struct Network {
    namespaces: Vec<Namespace>,
    _first: Named,
}

impl Network {
    pub fn build(script: &Script) -> Result<Self> {
        let mut network = Self {
            namespaces: Vec::new(),
            _first: Named::first()?,
        };
        let stations = script.stations().map(Station::namespace);
        for namespace in [SERVER, ACCESS_POINT].into_iter().chain(stations) {
            command::run("ip", &["netns", "add", namespace.0])?;
            network.namespaces.push(namespace);
            namespace.run(prepare)?;
        }
        SERVER.run(|| {
            command::ip_batch(&wire(script))?;
            offloads_off(WIRE)?;
            delay_and_lose(WIRE, script.wire_delay, 0)
        })?;
        ACCESS_POINT.run(|| {
            command::ip_batch(&bridge())?;
            offloads_off(UPLINK)?;
            delay_and_lose(UPLINK, script.wire_delay, script.wire_loss_ppm)
        })?;
        Ok(network)
    }

    /// Configures the radio process's devices.
    pub fn join_radio(&self, script: &Script) -> Result<()> {
        let mut cards = vec![(ACCESS_POINT, ACCESS_POINT_MAC)];
        if script.cards == Cards::Virtio {
            cards.extend(script.stations().map(|one| (one.namespace(), one.mac())));
        }
        let mut places = String::new();
        for (owner, mac) in &cards {
            let name = card::interface(&shown(*mac))?;
            // Writing to a String cannot fail.
            let _ = writeln!(places, "link set {name} netns {} name {DEVICE}", owner.0);
        }
        FIRST.run(|| command::ip_batch(&places))?;
        for (owner, _) in cards {
            one_frame_at_a_time(owner)?;
        }
        ACCESS_POINT.run(|| {
            offloads_off(DEVICE)?;
            command::ip_batch(&format!("link set {DEVICE} master {BRIDGE} up\n"))?;
            wait_for_bridge()
        })?;
        for station in script.stations() {
            station.namespace().run(|| {
                offloads_off(DEVICE)?;
                command::ip_batch(&on_the_air(station, script.cards))
            })?;
        }
        Ok(())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for namespace in self.namespaces.iter().rev() {
            if let Err(error) = command::run("ip", &["netns", "del", namespace.0]) {
                eprintln!("while cleaning up: {error}");
            }
        }
    }
}

/// For every namespace before it has devices. IPv6 would send unasked.
fn prepare() -> Result<()> {
    for devices in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv6/conf/{devices}/disable_ipv6");
        std::fs::write(path, "1").doing("switch IPv6 off")?;
    }
    command::ip_batch("link set lo up\n")
}

/// For the server.
fn wire(script: &Script) -> String {
    let mut batch = format!(
        "link add {WIRE} address {} type veth peer name {UPLINK} netns {}\n\
         link set {WIRE} up\n\
         addr add {SERVER_ADDRESS}/{PREFIX_LENGTH} dev {WIRE}\n",
        shown(SERVER_MAC),
        ACCESS_POINT.0,
    );
    for station in script.stations() {
        // Writing to a String cannot fail.
        let _ = writeln!(
            batch,
            "neigh add {} lladdr {} nud permanent dev {WIRE}",
            station.address(),
            shown(station.mac()),
        );
    }
    batch
}

/// For the access point. It learns no addresses: with two ports, every frame from one goes out
/// at the other.
fn bridge() -> String {
    format!(
        "link add {BRIDGE} address {} type bridge stp_state 0 mcast_snooping 0\n\
         link set {BRIDGE} up\n\
         addr add {ACCESS_POINT_ADDRESS}/{PREFIX_LENGTH} dev {BRIDGE}\n\
         link set {UPLINK} master {BRIDGE} up\n",
        shown(BRIDGE_MAC),
    )
}

/// For a station.
fn on_the_air(station: Station, cards: Cards) -> String {
    let device = match cards {
        Cards::Tap => format!(
            "link set {DEVICE} address {} txqueuelen {STATION_QUEUE_FRAMES}\n",
            shown(station.mac())
        ),
        Cards::Virtio => String::new(),
    };
    format!(
        "{device}link set {DEVICE} up\n\
         addr add {}/{PREFIX_LENGTH} dev {DEVICE}\n\
         neigh add {SERVER_ADDRESS} lladdr {} nud permanent dev {DEVICE}\n\
         neigh add {ACCESS_POINT_ADDRESS} lladdr {} nud permanent dev {DEVICE}\n",
        station.address(),
        shown(SERVER_MAC),
        shown(BRIDGE_MAC),
    )
}

fn offloads_off(device: &str) -> Result<()> {
    let words: Vec<&str> = ["-K", device]
        .into_iter()
        .chain(OFFLOADS_OFF)
        .chain(GRO_OFF)
        .collect();
    command::run("ethtool", &words).map(drop)
}

/// The driver takes the next frame when it has the last one back: its byte limit is zero, and
/// one frame is always allowed.
fn one_frame_at_a_time(owner: Namespace) -> Result<()> {
    // `ip netns exec` shows the namespace's devices in /sys.
    let set = format!("echo 0 > /sys/class/net/{DEVICE}/queues/tx-0/byte_queue_limits/limit_max");
    let words = ["netns", "exec", owner.0, "sh", "-c", &set];
    command::run("ip", &words).map(drop)
}

/// A port forwards once the kernel has noticed that its device has a carrier, which may take a
/// second.
fn wait_for_bridge() -> Result<()> {
    const TIME_MAX: Duration = Duration::from_secs(10);
    const LOOK: Duration = Duration::from_millis(20);
    const WORDS: [&str; 6] = ["-json", "-details", "link", "show", "master", BRIDGE];
    let started = Instant::now();
    while !all_forward(&command::run("ip", &WORDS)?) {
        if started.elapsed() > TIME_MAX {
            return Err(ExperimentError::Output {
                command: format!("ip {}", WORDS.join(" ")),
                reason: format!("a port does not forward after {TIME_MAX:?}"),
            });
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Both ports of the bridge do.
fn all_forward(ports: &str) -> bool {
    let ports: Value = serde_json::from_str(ports).unwrap_or_default();
    let forwards = |port: &&Value| port["linkinfo"]["info_slave_data"]["state"] == "forwarding";
    ports
        .as_array()
        .into_iter()
        .flatten()
        .filter(forwards)
        .count()
        == 2
}

fn delay_and_lose(device: &str, delay: Duration, loss_ppm: u32) -> Result<()> {
    if delay.is_zero() && loss_ppm == 0 {
        return Ok(());
    }
    // More than any experiment has in flight.
    const FRAMES: u32 = 100_000;
    let us = delay.as_micros();
    let loss = match loss_ppm {
        0 => String::new(),
        _ => format!(" loss random {}%", f64::from(loss_ppm) / 1e4),
    };
    command::tc_batch(&[format!(
        "qdisc replace dev {device} root netem delay {us}us limit {FRAMES}{loss}"
    )])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_works_when_both_its_ports_do() {
        let port =
            |state: &str| format!(r#"{{"linkinfo":{{"info_slave_data":{{"state":"{state}"}}}}}}"#);
        let ports = |states: [&str; 2]| format!("[{}]", states.map(port).join(","));
        assert!(all_forward(&ports(["forwarding", "forwarding"])));
        assert!(!all_forward(&ports(["forwarding", "disabled"])));
        assert!(!all_forward(&format!("[{}]", port("forwarding"))));
        assert!(!all_forward(""));
    }
}
