//! Wires: veth pairs that a test makes for itself.

use std::{fs, thread};

use serde_json::Value;

use crate::{
    shell::{run, run_command, run_far},
    takt::takt,
};

/// The near end is here, 10.N.0.1/24 and fd0N::1/64; the far end is in
/// namespace b, 10.N.0.2/24 and fd0N::2/64.
pub struct Wire {
    number: u8,
    pub near: String,
    pub far: String,
}

/// What has come out at a wire's far end, or is known to a qdisc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    pub packets: u64,
    pub bytes: u64,
}

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

    /// Also used to plug in a wire again that was taken away.
    pub fn make(&self) {
        let Self { number, near, far } = self;
        let [near_mac, far_mac] = [1, 2].map(|end| format!("02:00:00:00:{number:02x}:0{end}"));
        run(&format!(
            "ip link add {near} address {near_mac} type veth peer name {far} netns b address {far_mac}"
        ))
        .ok();
        for (netns, device, end, peer, peer_mac) in [
            ("a", near, 1, 2, far_mac),
            ("b", far, 2, 1, near_mac),
        ] {
            run(&format!("ip netns exec {netns} ethtool -K {device} tx off rx off sg off tso off gso off gro off")).ok();
            let script = format!(
                "link set {device} addrgenmode none up
                 addr add 10.{number}.0.{end}/24 dev {device}
                 addr add fd{number:02}::{end}/64 dev {device} nodad
                 neigh add 10.{number}.0.{peer} lladdr {peer_mac} nud permanent dev {device}
                 neigh add fd{number:02}::{peer} lladdr {peer_mac} nud permanent dev {device}
                "
            );
            let file = "/lab/wire";
            fs::write(file, script).unwrap();
            run(&format!("ip -n {netns} -batch {file}")).ok();
        }
    }

    pub fn near_v4(&self) -> String {
        format!("10.{}.0.1", self.number)
    }

    pub fn far_v4(&self) -> String {
        format!("10.{}.0.2", self.number)
    }

    pub fn far_v6(&self) -> String {
        format!("fd{:02}::2", self.number)
    }

    /// What `tc` shows of the near end's root qdisc, without what changes by
    /// itself.
    pub fn root_qdisc(&self) -> String {
        let shown = run(&format!("tc qdisc show dev {}", self.near)).ok();
        let line = shown.lines().find(|line| line.contains(" root "));
        let mut words: Vec<&str> = line.unwrap_or("").split_whitespace().collect();
        if let Some(at) = words.iter().position(|word| *word == "refcnt") {
            words.drain(at..at + 2);
        }
        words.join(" ")
    }

    /// What the near end's root qdisc has sent, dropped and still holds.
    pub fn root_statistics(&self) -> Value {
        let shown = run(&format!("tc -s -j qdisc show dev {} root", self.near)).json();
        shown[0].clone()
    }

    /// The near end's limit of segments per packet.
    pub fn gso_max_segs(&self) -> u64 {
        let shown = run(&format!("ip -d -j link show dev {}", self.near)).json();
        shown[0]["gso_max_segs"].as_u64().expect("a number")
    }

    /// What the far end has received.
    pub fn received(&self) -> Count {
        let shown = run_far(&format!("ip -s -j link show dev {}", self.far)).json();
        let count = |what: &str| shown[0]["stats64"]["rx"][what].as_u64().expect("a number");
        Count {
            packets: count("packets"),
            bytes: count("bytes"),
        }
    }

    /// That packets get through.
    #[track_caller]
    pub fn assert_passes(&self) {
        run(&format!("ping -c 1 -W 1 {}", self.far_v4())).ok();
    }
}

/// Takes takt away, whatever became of the test, and the wire.
impl Drop for Wire {
    fn drop(&mut self) {
        let reverted = takt("revert");
        run_command(std::process::Command::new("ip").args(["link", "del", &self.near]));
        if thread::panicking() {
            // Let the next test start afresh.
            let _ = run_command(
                std::process::Command::new("sh")
                    .args(["-c", "rm -rf /run/takt /sys/fs/bpf/takt*"]),
            );
        } else {
            assert!(reverted.status == Some(0), "{reverted}");
            crate::takt::assert_no_trace();
        }
    }
}
