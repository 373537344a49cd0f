//! A house on its line: four hosts behind a gateway that translates IPv4 addresses and forwards
//! IPv6, a modem with a queue in either direction, and servers at two distances. The modem routes: a
//! bridge would hand the servers' sockets on with their packets, which no wire does.
//!
//! ```text
//! host-a … host-d ── lan0 gateway wan0 ── sub0 modem net0 ── line0 internet
//! ```
//!
//! All delay is the servers' own, before the line's downstream queue, so that it disturbs none.

use std::net::IpAddr;

use super::line::Line;
use crate::experiment::command;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::namespace::Namespace;
use crate::experiment::pair;
use crate::guest::OFFLOADS;

/// As nftables' package calls it; the host adds it to the machine.
const NFT: &str = "/add/nft";

/// The device before the modem.
pub const WAN: &str = "wan0";
/// What the line brings passes through it, where a scheduler needs a device for that.
pub const INCOMING: &str = "ifb0";
const LAN: &str = "lan0";

pub const GATEWAY: Namespace = Namespace("gateway");
const MODEM: Namespace = Namespace("modem");
pub const INTERNET: Namespace = Namespace("internet");

/// A host of the house.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    pub namespace: Namespace,
    /// The last part of its addresses.
    number: u8,
}

const fn host(name: &'static str, number: u8) -> Host {
    Host {
        namespace: Namespace(name),
        number,
    }
}

pub const A: Host = host("host-a", 10);
pub const B: Host = host("host-b", 11);
pub const C: Host = host("host-c", 12);
pub const D: Host = host("host-d", 13);
const HOSTS: [Host; 4] = [A, B, C, D];

/// A server. Each kind of traffic has one of its own, so that schedulers which look at both ends'
/// addresses can tell them apart, as they can outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// Downloads and uploads, and pings beside them.
    Near,
    /// Some of the flows.
    Far,
    Call,
    Game,
    Page,
    /// Of the host with a single flow.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Behind the gateway's one address.
    Ipv4,
    /// Every host with an address of its own.
    Ipv6,
}

impl Server {
    const ALL: [Self; 6] = [
        Self::Near,
        Self::Far,
        Self::Call,
        Self::Game,
        Self::Page,
        Self::Other,
    ];

    /// Within its network.
    fn number(self) -> u8 {
        match self {
            Self::Near => 20,
            Self::Call => 21,
            Self::Game => 22,
            Self::Page => 23,
            Self::Other => 24,
            Self::Far => 80,
        }
    }

    pub fn address(self, family: Family) -> IpAddr {
        let number = self.number();
        let address = match family {
            Family::Ipv4 => format!("198.51.100.{number}"),
            Family::Ipv6 if self == Self::Far => format!("2001:db8:80::{number}"),
            Family::Ipv6 => format!("2001:db8:20::{number}"),
        };
        address.parse().expect("an address")
    }
}

/// A distance, by its round trip without queues, and the networks of its servers.
struct Distance {
    round_trip_ms: u32,
    ipv4: &'static str,
    ipv6: &'static str,
}

const DISTANCES: [Distance; 2] = [
    Distance {
        round_trip_ms: 20,
        ipv4: "198.51.100.0/26",
        ipv6: "2001:db8:20::/64",
    },
    Distance {
        round_trip_ms: 80,
        ipv4: "198.51.100.64/26",
        ipv6: "2001:db8:80::/64",
    },
];

/// It is removed when this is dropped.
pub struct Network(());

impl Network {
    pub fn build(line: Line, offloads: bool) -> Result<Self> {
        let network = Self(());
        lay_cables()?;
        for host in HOSTS {
            host.namespace.run(|| {
                command::ip_batch(&host_script(host))?;
                settle("eth0", offloads)
            })?;
        }
        GATEWAY.run(|| {
            command::ip_batch(&gateway_script())?;
            for device in HOSTS.map(lan_port).iter().map(String::as_str) {
                settle(device, offloads)?;
            }
            settle(WAN, offloads)?;
            forward()?;
            translate()
        })?;
        MODEM.run(|| {
            command::ip_batch(MODEM_SCRIPT)?;
            settle("sub0", offloads)?;
            settle("net0", offloads)?;
            forward()?;
            command::tc_batch(&[line.down.qdisc("sub0"), line.up.qdisc("net0")])
        })?;
        INTERNET.run(|| {
            command::ip_batch(&internet_script())?;
            settle("line0", offloads)?;
            command::tc_batch(&distances())
        })?;
        Ok(network)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let hosts = HOSTS.map(|host| host.namespace);
        for namespace in [GATEWAY, MODEM, INTERNET].into_iter().chain(hosts) {
            if let Err(error) = command::run("ip", &["netns", "del", namespace.0]) {
                eprintln!("while cleaning up: {error}");
            }
        }
    }
}

fn lan_port(host: Host) -> String {
    format!("lan{}", host.number)
}

fn lay_cables() -> Result<()> {
    let mut script = String::from("netns add gateway\nnetns add modem\nnetns add internet\n");
    for host in HOSTS {
        let name = host.namespace.0;
        script += &format!(
            "netns add {name}\n\
             link add eth0 netns {name} type veth peer name {} netns gateway\n",
            lan_port(host)
        );
    }
    script += "link add wan0 netns gateway type veth peer name sub0 netns modem\n\
               link add net0 netns modem type veth peer name line0 netns internet\n";
    command::ip_batch(&script)
}

fn host_script(host: Host) -> String {
    let number = host.number;
    format!(
        "link set lo up\nlink set eth0 up\n\
         addr add 192.168.1.{number}/24 dev eth0\n\
         addr add 2001:db8:1::{number}/64 dev eth0 nodad\n\
         route add default via 192.168.1.1\n\
         route add default via 2001:db8:1::1\n"
    )
}

fn gateway_script() -> String {
    let mut script = format!("link set lo up\nlink add {LAN} type bridge\n");
    for port in HOSTS.map(lan_port) {
        script += &format!("link set {port} master {LAN}\nlink set {port} up\n");
    }
    script += &format!(
        "link set {LAN} up\nlink set {WAN} up\n\
         addr add 192.168.1.1/24 dev {LAN}\n\
         addr add 2001:db8:1::1/64 dev {LAN} nodad\n\
         addr add 203.0.113.2/24 dev {WAN}\n\
         addr add 2001:db8:ff::2/64 dev {WAN} nodad\n\
         route add default via 203.0.113.1\n\
         route add default via 2001:db8:ff::1\n\
         link add {INCOMING} type ifb\nlink set {INCOMING} up\n"
    );
    script
}

const MODEM_SCRIPT: &str = "link set sub0 up\nlink set net0 up\n\
    addr add 203.0.113.1/24 dev sub0\n\
    addr add 2001:db8:ff::1/64 dev sub0 nodad\n\
    addr add 192.0.2.1/24 dev net0\n\
    addr add 2001:db8:fe::1/64 dev net0 nodad\n\
    route add default via 192.0.2.2\n\
    route add default via 2001:db8:fe::2\n\
    route add 2001:db8:1::/64 via 2001:db8:ff::2\n";

fn internet_script() -> String {
    let mut script = String::from(
        "link set lo up\nlink set line0 up\n\
         addr add 192.0.2.2/24 dev line0\n\
         addr add 2001:db8:fe::2/64 dev line0 nodad\n\
         route add 203.0.113.0/24 via 192.0.2.1\n\
         route add 2001:db8:1::/64 via 2001:db8:fe::1\n",
    );
    for server in Server::ALL {
        let [v4, v6] = [Family::Ipv4, Family::Ipv6].map(|family| server.address(family));
        script += &format!("addr add {v4}/32 dev lo\naddr add {v6}/128 dev lo nodad\n");
    }
    script
}

/// Each server's packets wait for its distance.
fn distances() -> Vec<String> {
    let everything_else = ["0"; 16].join(" ");
    let mut lines = vec![format!(
        "qdisc add dev line0 root handle 1: prio bands 3 priomap {everything_else}"
    )];
    for (band, distance) in (2..).zip(DISTANCES) {
        lines.push(format!(
            "qdisc add dev line0 parent 1:{band} netem delay {}ms limit 100000",
            distance.round_trip_ms
        ));
        for (pref, protocol, from) in [(1, "ip", distance.ipv4), (2, "ipv6", distance.ipv6)] {
            lines.push(format!(
                "filter add dev line0 parent 1: pref {pref} protocol {protocol} flower \
                 src_ip {from} classid 1:{band}"
            ));
        }
    }
    lines
}

/// Without offloads packets are as the wire has them, so that every scheduler sees the same.
fn settle(device: &str, offloads: bool) -> Result<()> {
    let to = if offloads { "on" } else { "off" };
    let words: Vec<&str> = ["-K", device]
        .into_iter()
        .chain(OFFLOADS.iter().flat_map(|offload| [*offload, to]))
        .collect();
    command::run("ethtool", &words)?;
    // What one run learned of a path is not for the next.
    std::fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1").doing("forget paths")
}

fn forward() -> Result<()> {
    for switch in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
        std::fs::write(format!("/proc/sys/net/{switch}"), "1").doing("forward packets")?;
    }
    Ok(())
}

fn translate() -> Result<()> {
    let rules = format!(
        "add table ip nat; \
         add chain ip nat postrouting {{ type nat hook postrouting priority srcnat; }}; \
         add rule ip nat postrouting oifname {WAN} masquerade"
    );
    command::run(NFT, &[&rules]).map(drop)
}

/// Bytes so far, Ethernet headers included.
#[derive(Debug, Clone, Copy)]
pub struct Counters {
    /// Over the line, into the house.
    pub line_down: u64,
    /// Out of the house.
    pub line_up: u64,
    /// That the gateway passed on to its hosts.
    pub passed_down: u64,
}

impl Counters {
    pub fn now() -> Result<Self> {
        let [line_down, .., line_up, _] = pair::counters(GATEWAY, WAN)?;
        let [.., passed_down, _] = pair::counters(GATEWAY, LAN)?;
        Ok(Self {
            line_down,
            line_up,
            passed_down,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distance_is_for_both_families() {
        let lines = distances();
        assert_eq!(lines.len(), 1 + 2 * 3);
        assert_eq!(
            lines[6],
            "filter add dev line0 parent 1: pref 2 protocol ipv6 flower \
             src_ip 2001:db8:80::/64 classid 1:3"
        );
    }
}
