//! The lab's two namespaces and the virtual cable between them.

use super::command;
use super::error::{ExperimentError, Result};
use super::namespace::Namespace;
use crate::guest::OFFLOADS;

/// The sending device, in namespace `a`; every scheduler is attached to it.
pub const DEVICE: &str = "va";
pub const SENDER: &str = "10.0.0.1";
pub const RECEIVER: &str = "10.0.0.2";

/// The receiving device, in namespace `b`.
pub const PEER_DEVICE: &str = "vb";
/// A locally administered address that no device in the lab has.
const ABSENT_MAC: &str = "02:00:00:00:00:fe";

/// The sending end.
pub const A: Namespace = Namespace("a");
/// The receiving end.
pub const B: Namespace = Namespace("b");

/// Frames and bytes that came out of the cable in `b`, by the device's counters: Ethernet
/// header included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    pub bytes: u64,
    pub frames: u64,
}

/// Packets that the sending device has sent and received, by its counters: a segmented one counts
/// as one, with one Ethernet header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchanged {
    pub sent_bytes: u64,
    pub sent_packets: u64,
    pub received_packets: u64,
}

/// Sets both ends' MTU for as long as the result lives.
pub fn with_mtu(bytes: u32) -> Result<Setting> {
    Setting::make("mtu", bytes, 1500)
}

/// TCP sends one frame at a time for as long as the result lives, under every scheduler: with
/// segments of 64 KB that are split afterwards, pacing would have no effect.
pub fn with_single_frames() -> Result<Setting> {
    Setting::make("gso_max_segs", 1, 65535)
}

/// Both ends segment, merge and check as devices of today do, for as long as the result lives.
pub fn with_offloads() -> Result<Offloads> {
    let offloads = Offloads;
    switch_offloads("on")?;
    Ok(offloads)
}

/// Frames to the receiver carry an address that is not its own for as long as the result lives,
/// so its IP layer drops them at once. That is the cheapest and steadiest end of a packet: no
/// filter, no socket, no ICMP error.
pub fn drop_on_arrival() -> Result<Misled> {
    let hardware = B.run(|| hardware_address(PEER_DEVICE))?;
    let misled = Misled { hardware };
    neighbour(ABSENT_MAC)?;
    Ok(misled)
}

pub fn received() -> Result<Received> {
    let [bytes, frames, ..] = counters(B, PEER_DEVICE)?;
    Ok(Received { bytes, frames })
}

pub fn exchanged() -> Result<Exchanged> {
    let [_, received_packets, .., sent_bytes, sent_packets] = counters(A, DEVICE)?;
    Ok(Exchanged {
        sent_bytes,
        sent_packets,
        received_packets,
    })
}

/// A line's numbers: received bytes and packets are the first two, sent ones the last two.
const COUNTERS: usize = 10;

pub(super) fn counters(namespace: Namespace, device: &str) -> Result<[u64; COUNTERS]> {
    // /proc/net is the namespace of the process's first thread.
    const TABLE: &str = "/proc/thread-self/net/dev";
    let unreadable = |reason: String| ExperimentError::Unreadable {
        path: TABLE.into(),
        reason,
    };
    let table = namespace
        .run(|| std::fs::read_to_string(TABLE).map_err(|error| unreadable(error.to_string())))?;
    parse_counters(&table, device)
        .ok_or_else(|| unreadable(format!("no counters of {device} in it")))
}

fn parse_counters(table: &str, device: &str) -> Option<[u64; COUNTERS]> {
    let line = table
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'))?;
    let numbers = line.split_whitespace().map_while(|word| word.parse().ok());
    let numbers: Vec<u64> = numbers.take(COUNTERS).collect();
    numbers.try_into().ok()
}

fn hardware_address(device: &str) -> Result<String> {
    let links = command::run("ip", &["-json", "link", "show", "dev", device])?;
    serde_json::from_str::<serde_json::Value>(&links)
        .ok()
        .and_then(|links| Some(links.get(0)?.get("address")?.as_str()?.to_owned()))
        .ok_or_else(|| ExperimentError::Output {
            command: format!("ip -json link show dev {device}"),
            reason: "no address in it".to_owned(),
        })
}

/// The lab's neighbour entries are permanent, so that no ARP frame ever passes through the
/// scheduler under test; this one stays permanent.
fn neighbour(hardware: &str) -> Result<()> {
    let words = [
        "neigh",
        "replace",
        RECEIVER,
        "lladdr",
        hardware,
        "dev",
        DEVICE,
        "nud",
        "permanent",
    ];
    A.run(|| command::run("ip", &words).map(drop))
}

/// The sender uses a wrong address until this is dropped.
#[must_use]
pub struct Misled {
    hardware: String,
}

impl Drop for Misled {
    fn drop(&mut self) {
        if let Err(error) = neighbour(&self.hardware) {
            eprintln!("while cleaning up: {error}");
        }
    }
}

/// Off again when this is dropped.
#[must_use]
pub struct Offloads;

impl Drop for Offloads {
    fn drop(&mut self) {
        if let Err(error) = switch_offloads("off") {
            eprintln!("while cleaning up: {error}");
        }
    }
}

fn switch_offloads(to: &str) -> Result<()> {
    for (namespace, device) in [(A, DEVICE), (B, PEER_DEVICE)] {
        let words: Vec<&str> = ["-K", device]
            .into_iter()
            .chain(OFFLOADS.iter().flat_map(|offload| [offload, to]))
            .collect();
        namespace.run(|| command::run("ethtool", &words).map(drop))?;
    }
    Ok(())
}

/// A setting of both ends, restored when this is dropped.
#[must_use]
pub struct Setting {
    key: &'static str,
    before: u32,
}

impl Setting {
    fn make(key: &'static str, value: u32, before: u32) -> Result<Self> {
        let setting = Self { key, before };
        set(key, value)?;
        Ok(setting)
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        if let Err(error) = set(self.key, self.before) {
            eprintln!("while cleaning up: {error}");
        }
    }
}

fn set(key: &str, value: u32) -> Result<()> {
    let value = value.to_string();
    for (namespace, device) in [(A, DEVICE), (B, PEER_DEVICE)] {
        namespace.run(|| command::run("ip", &["link", "set", device, key, &value]))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_device() {
        let table = "Inter-|   Receive                |  Transmit\n \
                     face |bytes    packets errs drop|bytes\n    \
                     lo:       0       0    0    0 0 0 0 0 0 0 0\n    \
                     vb:  302800     200    0    0 0 0 0 0 6600 100 0\n";
        assert_eq!(
            parse_counters(table, "vb"),
            Some([302_800, 200, 0, 0, 0, 0, 0, 0, 6600, 100])
        );
        assert_eq!(parse_counters(table, "v"), None);
    }
}
