//! Servers on hosts of their own, a switch, and the client behind the switch's one port. The switch
//! routes: a bridge would hand the servers' sockets on with their packets, which no wire does.
//!
//! ```text
//! servers: s1 … s8 ── h1 … h8 :switch: p0 ── c0 :client
//! ```

use std::net::Ipv4Addr;

use serde_json::Value;

use super::case::{FRAME_BYTES, PORT_BPS};
use crate::experiment::command;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::namespace::Namespace;

pub const SERVERS: Namespace = Namespace("servers");
pub const CLIENT: Namespace = Namespace("client");
const SWITCH: Namespace = Namespace("switch");

/// The client's device, before its wire.
pub const CLIENT_DEVICE: &str = "c0";
const PORT_DEVICE: &str = "p0";
/// Where the buffer is, below the rate.
const BELOW: &str = "1:1";
/// Of a round trip without queues, what the wires take.
const ROUND_TRIP_US: u32 = 1_000;

/// The host's device, by its number from 1 on.
pub fn server_device(host: usize) -> String {
    format!("s{host}")
}

/// Likewise its address.
pub fn server_address(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 30, 0, host as u8)
}

/// The buffer of the switch's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    pub packets: u64,
    /// Packets that find more than so many are marked.
    pub marks_beyond: Option<u64>,
}

impl Buffer {
    /// As a queue below the port's rate. The kernel has a number for each kind.
    fn qdisc(self) -> String {
        let Self { packets, .. } = self;
        match self.marks_beyond {
            None => format!("10: pfifo limit {packets}"),
            // It drops nothing itself, and marks by the time that this many take.
            Some(marked) => {
                let ns = marked * FRAME_BYTES * 8 * 1_000_000_000 / PORT_BPS;
                let us = ns / 1000;
                format!("20: codel limit {packets} target 100s interval 1000s ce_threshold {us}us")
            }
        }
    }
}

/// What the port did until now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortCounts {
    pub dropped: u64,
    pub marked: u64,
}

impl PortCounts {
    pub fn since(self, earlier: Self) -> Self {
        Self {
            dropped: self.dropped - earlier.dropped,
            marked: self.marked - earlier.marked,
        }
    }
}

/// It is removed when this is dropped.
#[must_use]
pub struct Network(());

impl Network {
    pub fn build(hosts: usize) -> Result<Self> {
        let network = Self(());
        command::ip_batch(&cables(hosts))?;
        let scripts = [
            (CLIENT, client_script()),
            (SWITCH, switch_script(hosts)),
            (SERVERS, servers_script(hosts)),
        ];
        for (namespace, script) in scripts {
            namespace.run(|| {
                // IPv6 would send unasked.
                set("ipv6/conf/all/disable_ipv6", 1)?;
                set("ipv6/conf/default/disable_ipv6", 1)?;
                set("ipv4/ip_forward", 1)?;
                // What one connection learned of a path is not for the next.
                set("ipv4/tcp_no_metrics_save", 1)?;
                command::ip_batch(&script)
            })?;
        }
        SWITCH.run(|| command::tc_batch(&distances(hosts)))?;
        Ok(network)
    }

    /// The port's rate, with this buffer. Where it marks, connections to come heed that.
    pub fn set_buffer(&self, buffer: Buffer) -> Result<()> {
        let ecn = u8::from(buffer.marks_beyond.is_some());
        for namespace in [CLIENT, SERVERS] {
            namespace.run(|| set("ipv4/tcp_ecn", ecn))?;
        }
        let port = format!(
            "qdisc replace dev {PORT_DEVICE} root handle 1: {}",
            wire(PORT_BPS)
        );
        let below = format!(
            "qdisc replace dev {PORT_DEVICE} parent {BELOW} handle {}",
            buffer.qdisc()
        );
        SWITCH.run(|| command::tc_batch(&[port, below]))
    }

    pub fn port_counts(&self) -> Result<PortCounts> {
        const WORDS: [&str; 6] = ["-s", "-json", "qdisc", "show", "dev", PORT_DEVICE];
        let shown = SWITCH.run(|| command::run("tc", &WORDS))?;
        counts(&shown).ok_or_else(|| ExperimentError::Output {
            command: format!("tc {}", WORDS.join(" ")),
            reason: "no queue of the port in it".to_owned(),
        })
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for namespace in [SERVERS, SWITCH, CLIENT] {
            if let Err(error) = command::run("ip", &["netns", "del", namespace.0]) {
                eprintln!("while cleaning up: {error}");
            }
        }
    }
}

/// A wire's speed. Two frames at once: with one, a late timer would cost rate for good.
pub fn wire(bps: u64) -> String {
    let (burst, limit) = (2 * FRAME_BYTES, 10_000 * FRAME_BYTES);
    format!("tbf rate {bps}bit burst {burst} limit {limit}")
}

fn counts(shown: &str) -> Option<PortCounts> {
    let qdiscs: Value = serde_json::from_str(shown).ok()?;
    let buffer = { qdiscs.as_array()?.iter() }.find(|qdisc| qdisc["parent"] == BELOW)?;
    Some(PortCounts {
        dropped: buffer["drops"].as_u64()?,
        marked: buffer["ce_mark"].as_u64().unwrap_or_default(),
    })
}

fn set(switch: &str, to: u8) -> Result<()> {
    std::fs::write(format!("/proc/sys/net/{switch}"), to.to_string()).doing("set up a network")
}

fn cables(hosts: usize) -> String {
    let mut script = String::from("netns add servers\nnetns add switch\nnetns add client\n");
    script += "link add c0 netns client address 02:00:00:00:40:01 type veth \
               peer name p0 netns switch address 02:00:00:00:40:02\n";
    for host in 1..=hosts {
        script += &format!(
            "link add s{host} netns servers address {} type veth \
             peer name h{host} netns switch address {}\n",
            server_mac(host),
            switch_mac(host)
        );
    }
    script
}

fn server_mac(host: usize) -> String {
    format!("02:00:00:00:41:{host:02x}")
}

fn switch_mac(host: usize) -> String {
    format!("02:00:00:00:42:{host:02x}")
}

fn client_script() -> String {
    "link set c0 up\naddr add 10.31.0.2/24 dev c0\n\
     neigh add 10.31.0.1 lladdr 02:00:00:00:40:02 nud permanent dev c0\n\
     route add default via 10.31.0.1\n"
        .to_owned()
}

fn switch_script(hosts: usize) -> String {
    let mut script = String::from(
        "link set p0 up\naddr add 10.31.0.1/24 dev p0\n\
         neigh add 10.31.0.2 lladdr 02:00:00:00:40:01 nud permanent dev p0\n",
    );
    for host in 1..=hosts {
        let address = server_address(host);
        script += &format!(
            "link set h{host} up\nroute add {address}/32 dev h{host}\n\
             neigh add {address} lladdr {} nud permanent dev h{host}\n",
            server_mac(host)
        );
    }
    script
}

/// A host's packets leave by its own device. One frame at a time: a buffer holds frames.
fn servers_script(hosts: usize) -> String {
    let mut script = String::from("link set lo up\n");
    for host in 1..=hosts {
        let address = server_address(host);
        script += &format!(
            "link set s{host} gso_max_segs 1 up\naddr add {address}/32 dev s{host}\n\
             neigh add 10.31.0.2 lladdr {} nud permanent dev s{host}\n\
             route add 10.31.0.2/32 dev s{host} table {host}\n\
             rule add from {address} lookup {host}\n",
            switch_mac(host)
        );
    }
    script
}

/// Requests and acknowledgements take all of the time, so that it delays no answers in the switch.
fn distances(hosts: usize) -> Vec<String> {
    let distance =
        |host| format!("qdisc add dev h{host} root netem delay {ROUND_TRIP_US}us limit 100000");
    (1..=hosts).map(distance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marking_buffer_is_as_long_as_the_other() {
        let buffer = Buffer {
            packets: 32,
            marks_beyond: None,
        };
        assert_eq!(buffer.qdisc(), "10: pfifo limit 32");
        let marking = Buffer {
            marks_beyond: Some(16),
            ..buffer
        };
        let qdisc = marking.qdisc();
        assert!(qdisc.starts_with("20: codel limit 32 "), "{qdisc}");
        assert!(qdisc.ends_with(" ce_threshold 1937us"), "{qdisc}");
    }

    #[test]
    fn the_buffer_counts_and_not_the_rate() {
        let shown = r#"[{"kind":"tbf","root":true,"drops":9},
                        {"kind":"codel","parent":"1:1","drops":7,"ce_mark":3}]"#;
        let both = PortCounts {
            dropped: 7,
            marked: 3,
        };
        assert_eq!(counts(shown), Some(both));
        assert_eq!(counts("[]"), None);
    }
}
