//! The repository's examples with links, and traffic for some of their classes.

use crate::experiment::pair::DEVICE;
use crate::experiment::shape::{Class, Shape};

/// Fast classes have frames that the emulated processor can send in time.
const LONG_PACKET_BYTES: u32 = 8500;
const PACKET_BYTES: u32 = 1500;

pub struct Example {
    pub name: &'static str,
    text: &'static str,
    /// Of its links, by their devices' names. The lab's cable is the first.
    devices: &'static [&'static str],
    /// What the lab's cable is not, or its traffic has not: an access point, another address or
    /// source port; and what it says instead.
    adapted: &'static [(&'static str, &'static str)],
    overhead_bytes: u32,
    packet_bytes: u32,
    /// Destination ports of the cable's classes that have traffic, and the rate that each gets.
    loads: &'static [(u16, u64)],
}

pub const EXAMPLES: [Example; 10] = [
    Example {
        name: "media-server",
        text: include_str!("../../../../../examples/media-server.toml"),
        devices: &["eth0"],
        adapted: &[],
        overhead_bytes: 24,
        packet_bytes: LONG_PACKET_BYTES,
        loads: &[(16384, 20_000_000), (5004, 400_000_000)],
    },
    Example {
        name: "home-gateway",
        text: include_str!("../../../../../examples/home-gateway.toml"),
        devices: &["wan0"],
        adapted: &[],
        overhead_bytes: 22,
        packet_bytes: PACKET_BYTES,
        // Not the calls: backends differ in whether they borrow before others' guarantees.
        loads: &[(27000, 10_000_000), (53, 4_000_000), (9999, 25_000_000)],
    },
    Example {
        name: "tenants",
        text: include_str!("../../../../../examples/tenants.toml"),
        devices: &["eth0"],
        adapted: &[("10.1.0.0/16", "10.0.0.0/16")],
        overhead_bytes: 24,
        packet_bytes: LONG_PACKET_BYTES,
        loads: &[(5004, 400_000_000)],
    },
    Example {
        name: "two-ports",
        text: include_str!("../../../../../examples/two-ports.toml"),
        devices: &["lan0", "fiber0.100"],
        adapted: &[("src_port = 4433", "dst_port = 4433")],
        overhead_bytes: 0,
        packet_bytes: PACKET_BYTES,
        loads: &[(4433, 2_500_000), (9999, 97_500_000)],
    },
    Example {
        name: "per-flow",
        text: include_str!("../../../../../examples/per-flow.toml"),
        devices: &["eth0"],
        adapted: &[("src_port = 8080", "dst_port = 8080")],
        overhead_bytes: 0,
        packet_bytes: PACKET_BYTES,
        loads: &[(8080, 400_000)],
    },
    Example {
        name: "laptop",
        text: include_str!("../../../../../examples/laptop.toml"),
        devices: &["wlan0"],
        adapted: &[],
        overhead_bytes: 0,
        packet_bytes: PACKET_BYTES,
        loads: &[(9999, 5_500_000)],
    },
    Example {
        name: "radio-gateway",
        text: include_str!("../../../../../examples/radio-gateway.toml"),
        devices: &["eth1"],
        adapted: &[],
        overhead_bytes: 0,
        packet_bytes: PACKET_BYTES,
        loads: &[(9999, 20_000_000)],
    },
    Example {
        name: "crowd-gateway",
        text: include_str!("../../../../../examples/crowd-gateway.toml"),
        devices: &["eth1"],
        adapted: &[],
        overhead_bytes: 0,
        packet_bytes: PACKET_BYTES,
        loads: &[(5001, 20_000_000)],
    },
    Example {
        name: "gap",
        text: include_str!("../../../../../examples/gap.toml"),
        devices: &["eth0"],
        // More gap frames than this the emulated processor cannot send.
        adapted: &[("rate = \"1gbit\"", "rate = \"200mbit\"")],
        overhead_bytes: 24,
        packet_bytes: PACKET_BYTES,
        loads: &[(5001, 100_000_000)],
    },
    Example {
        name: "wifi-media-gateway",
        text: include_str!("../../../../../examples/wifi-media-gateway.toml"),
        devices: &["wlan0", "eth0"],
        adapted: &[("\"station-dump\"", "\"none\"")],
        overhead_bytes: 0,
        packet_bytes: PACKET_BYTES,
        loads: &[(5004, 1_500_000), (9999, 18_500_000)],
    },
];

impl Example {
    /// For devices that the lab has.
    pub fn policy(&self) -> String {
        let adapted = self
            .adapted
            .iter()
            .fold(self.text.to_owned(), |text, (from, to)| {
                text.replace(from, to)
            });
        adapted.replace(self.devices[0], DEVICE)
    }

    /// The links' devices in the lab.
    pub fn devices(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(DEVICE).chain(self.others())
    }

    /// What rows call each link, in the same order: the example, and its device where there are
    /// several.
    pub fn cases(&self) -> impl Iterator<Item = String> {
        self.devices.iter().map(|device| match self.devices.len() {
            1 => self.name.to_owned(),
            _ => format!("{}/{device}", self.name),
        })
    }

    /// Those that the lab does not have.
    pub fn others(&self) -> impl Iterator<Item = &'static str> {
        self.devices[1..].iter().copied()
    }

    pub fn mtu_bytes(&self) -> u32 {
        self.packet_bytes
    }

    /// What the link's rate counts of a packet.
    pub fn charged_bytes(&self) -> u32 {
        self.shape().frame_bytes() + self.overhead_bytes
    }

    pub fn shape(&self) -> Shape {
        let class = |(dst_port, rate_bps): &(u16, u64)| Class {
            name: dst_port.to_string(),
            dst_port: *dst_port,
            rate_bps: *rate_bps,
        };
        Shape {
            packet_bytes: self.packet_bytes,
            classes: self.loads.iter().map(class).collect(),
            ..Shape::udp([])
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_example_with_links_is_here() {
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
        let mut with_links = Vec::new();
        for entry in fs::read_dir(examples).expect("the examples") {
            let path = entry.expect("an example").path();
            if path.is_dir() {
                continue;
            }
            let text = fs::read_to_string(&path).expect("a text");
            if text.lines().any(|line| line.starts_with("[link.")) {
                with_links.push(path.file_stem().expect("a name").to_owned());
            }
        }
        with_links.sort();
        let mut known: Vec<_> = EXAMPLES.iter().map(|example| example.name).collect();
        known.sort_unstable();
        assert_eq!(with_links, known);
    }

    #[test]
    fn adaptations_and_devices_are_found() {
        for example in &EXAMPLES {
            for (from, _) in example.adapted {
                assert!(example.text.contains(from), "{}: {from}", example.name);
            }
            let policy = example.policy();
            for device in example.devices() {
                let plain = format!("[link.{device}]");
                let quoted = format!("[link.\"{device}\"]");
                let is_there = policy.contains(&plain) || policy.contains(&quoted);
                assert!(is_there, "{}: {device}", example.name);
            }
        }
    }
}
