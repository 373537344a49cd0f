//! Wires: veth pairs that a test makes for itself.

use std::thread;

use serde_json::Value;

use crate::{
    shell::{run, run_far},
    takt::{assert_no_trace, takt},
};

/// The near end is here, 10.N.0.1/24 and fd0N::1/64; the far end is in
/// namespace b, 10.N.0.2/24 and fd0N::2/64.
pub struct Wire {
    number: u8,
    pub near: String,
    pub far: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Near,
    Far,
}

/// Counters of a wire's far end, or of a qdisc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    pub packets: u64,
    pub bytes: u64,
}

const OFFLOADS_OFF: &str = "tx off rx off sg off tso off gso off gro off";

impl Wire {
    pub fn new(number: u8) -> Self {
        let wire = Self {
            number,
            near: format!("near{number}"),
            far: format!("far{number}"),
        };
        wire.make();
        wire
    }

    /// Also used to restore a removed wire.
    pub fn make(&self) {
        let Self { number, near, far } = self;
        let [near_mac, far_mac] = [End::Near, End::Far].map(|end| self.mac(end));
        run(&format!(
            "ip link add {near} address {near_mac} type veth peer name {far} netns b address {far_mac}"
        ))
        .ok();
        for (end, host) in [(End::Near, 1), (End::Far, 2)] {
            let (netns, device) = (end.netns(), self.device(end));
            run(&format!(
                "ip netns exec {netns} ethtool -K {device} {OFFLOADS_OFF}"
            ))
            .ok();
            run(&format!(
                "ip -n {netns} link set {device} addrgenmode none up"
            ))
            .ok();
            self.add_address(end, "", &format!("10.{number}.0.{host}/24"));
            self.add_address(end, "", &format!("fd{number:02}::{host}/64"));
        }
    }

    /// Gives an end, or its VLAN device (`.7`), an address that the other end need not resolve.
    pub fn add_address(&self, end: End, vlan: &str, address: &str) {
        let (netns, device) = (end.netns(), self.device(end));
        let (peer_netns, peer) = (end.other().netns(), self.device(end.other()));
        let (host, _) = address.split_once('/').expect("a prefix length");
        let mac = self.mac(end);
        run(&format!(
            "ip -n {netns} addr add {address} dev {device}{vlan} nodad"
        ))
        .ok();
        run(&format!(
            "ip -n {peer_netns} neigh replace {host} lladdr {mac} nud permanent dev {peer}{vlan}"
        ))
        .ok();
    }

    /// Makes a VLAN device on either end.
    pub fn add_vlan(&self, id: u8, options: &str) {
        for end in [End::Near, End::Far] {
            let (netns, device) = (end.netns(), self.device(end));
            run(&format!(
                "ip -n {netns} link add link {device} name {device}.{id} type vlan id {id} {options}"
            ))
            .ok();
            run(&format!("ip -n {netns} link set {device}.{id} up")).ok();
        }
    }

    fn device(&self, end: End) -> &str {
        match end {
            End::Near => &self.near,
            End::Far => &self.far,
        }
    }

    pub fn mac(&self, end: End) -> String {
        let last = match end {
            End::Near => 1,
            End::Far => 2,
        };
        format!("02:00:00:00:{:02x}:0{last}", self.number)
    }

    pub fn far_v4(&self) -> String {
        format!("10.{}.0.2", self.number)
    }

    pub fn near_v4(&self) -> String {
        format!("10.{}.0.1", self.number)
    }

    pub fn near_v6(&self) -> String {
        format!("fd{:02}::1", self.number)
    }

    pub fn far_v6(&self) -> String {
        format!("fd{:02}::2", self.number)
    }

    /// What `tc` shows of the near end's root qdisc, without counters.
    pub fn root_qdisc(&self) -> String {
        let shown = run(&format!("tc qdisc show dev {}", self.near)).ok();
        let line = shown.lines().find(|line| line.contains(" root "));
        let mut words: Vec<&str> = line.unwrap_or("").split_whitespace().collect();
        if let Some(at) = words.iter().position(|word| *word == "refcnt") {
            words.drain(at..at + 2);
        }
        words.join(" ")
    }

    /// The packets that the near end's root qdisc has sent, dropped and still holds.
    pub fn root_statistics(&self) -> Value {
        let shown = run(&format!("tc -s -j qdisc show dev {} root", self.near)).json();
        shown[0].clone()
    }

    /// The near end's limit of segments per packet.
    pub fn gso_max_segs(&self) -> u64 {
        let shown = run(&format!("ip -d -j link show dev {}", self.near)).json();
        shown[0]["gso_max_segs"].as_u64().expect("a number")
    }

    /// Counters of received packets at the far end.
    pub fn received(&self) -> Count {
        let shown = run_far(&format!("ip -s -j link show dev {}", self.far)).json();
        let count = |what: &str| shown[0]["stats64"]["rx"][what].as_u64().expect("a number");
        Count {
            packets: count("packets"),
            bytes: count("bytes"),
        }
    }

    /// Assert that packets get through.
    #[track_caller]
    pub fn assert_passes(&self) {
        run(&format!("ping -c 1 -W 1 {}", self.far_v4())).ok();
    }
}

impl End {
    fn netns(self) -> &'static str {
        match self {
            End::Near => "a",
            End::Far => "b",
        }
    }

    fn other(self) -> Self {
        match self {
            End::Near => End::Far,
            End::Far => End::Near,
        }
    }
}

/// Reverts takt, whatever the test's outcome, and removes the wire.
impl Drop for Wire {
    fn drop(&mut self) {
        let reverted = takt("revert");
        // A test may have removed it itself.
        run(&format!("ip link del {}", self.near));
        if thread::panicking() {
            // Let the next test start afresh.
            run("rm -rf /run/takt /sys/fs/bpf/takt");
        } else {
            reverted.ok();
            assert_no_trace();
        }
    }
}
