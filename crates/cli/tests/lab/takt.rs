//! Takt's command line, and its JSON.

use std::{collections::BTreeMap, fs, os::unix::process::CommandExt, process::Command};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    keeper,
    shell::{Ran, run},
};

pub const POLICY: &str = "/lab/policy.toml";

pub fn takt(arguments: &str) -> Ran {
    run(&format!("takt {arguments}"))
}

/// For a user without privileges.
pub fn as_nobody() -> Command {
    const NOBODY: u32 = 65534;
    let mut takt = Command::new("takt");
    takt.uid(NOBODY).gid(NOBODY);
    takt
}

/// Apply this policy.
pub fn apply(policy: &str) -> Ran {
    apply_with("", policy)
}

pub fn apply_with(flags: &str, policy: &str) -> Ran {
    fs::write(POLICY, policy).unwrap();
    takt(&format!("apply {flags} {POLICY}"))
}

#[derive(Debug, Deserialize)]
pub struct Status {
    pub links: Vec<Link>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Link {
    pub device: String,
    pub backend: String,
    pub attached: bool,
    pub problem: Option<String>,
    pub conflict: Option<Conflict>,
    pub generation: u64,
    pub rate_bps: u64,
    pub rate_now_bps: u64,
    pub queued_packets: u64,
    pub receive: Option<Receive>,
    pub device_buffer: Option<DeviceBuffer>,
    pub thinning_paused_ms: Option<u64>,
    pub classes: Vec<Class>,
    pub flow_totals: FlowTotals,
    pub background: Option<Background>,
}

/// Another program's change to the device.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Conflict {
    pub found: String,
    pub by: Option<Value>,
    pub age_s: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Background {
    pub waits_for: String,
    pub held_packets: u64,
    pub held_by_tasks_ns: u64,
    pub held_by_link_ns: u64,
    pub opener_running: bool,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub struct FlowTotals {
    pub live: u64,
    pub created: u64,
}

/// How the device is kept from holding more than a frame.
#[derive(Debug, Clone, Deserialize)]
pub struct DeviceBuffer {
    pub kind: String,
}

/// The device that incoming background packets go through.
#[derive(Debug, Clone, Deserialize)]
pub struct Receive {
    pub works: bool,
}

/// Incoming packets of a class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Received {
    pub queued_packets: u64,
    pub enqueued_packets: u64,
    pub sent_packets: u64,
    pub dropped_packets: u64,
    pub flushed_packets: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Class {
    pub name: String,
    pub rate_bps: u64,
    pub flows: u64,
    pub aqm_dropped_packets: u64,
    pub aqm_marked_packets: u64,
    pub thinned_packets: u64,
    pub queued_packets: u64,
    pub enqueued_packets: u64,
    pub enqueued_bytes: u64,
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub dropped_packets: u64,
    pub flushed_packets: u64,
    pub gso_packets: u64,
    pub long_packets: u64,
    pub receive: Option<Received>,
}

impl Class {
    pub fn offered_packets(&self) -> u64 {
        self.enqueued_packets + self.dropped_packets
    }

    /// Invariants of status.
    pub fn adds_up(&self) -> bool {
        self.enqueued_packets == self.sent_packets + self.flushed_packets + self.queued_packets
    }
}

impl Link {
    #[track_caller]
    pub fn class(&self, name: &str) -> &Class {
        let class = self.classes.iter().find(|class| class.name == name);
        class.unwrap_or_else(|| panic!("no class {name} in {self:#?}"))
    }

    pub fn class_names(&self) -> Vec<&str> {
        self.classes.iter().map(|c| c.name.as_str()).collect()
    }

    /// The counters of its background traffic.
    #[track_caller]
    pub fn background(&self) -> &Background {
        let background = self.background.as_ref();
        background.unwrap_or_else(|| panic!("nothing in the background of {self:#?}"))
    }

    /// One of the counters, over all classes.
    pub fn sum(&self, counter: impl Fn(&Class) -> u64) -> u64 {
        self.classes.iter().map(counter).sum()
    }

    /// Packets sent since `before`, by class; classes that sent none are left out.
    pub fn sent_since(&self, before: &Link) -> BTreeMap<String, u64> {
        let sent = |class: &Class| class.sent_packets - before.class(&class.name).sent_packets;
        self.classes
            .iter()
            .map(|class| (class.name.clone(), sent(class)))
            .filter(|(_, packets)| *packets > 0)
            .collect()
    }
}

/// The links, and takt's exit status.
pub fn status() -> (Vec<Link>, Option<i32>) {
    let ran = takt("status --output json");
    let status: Status = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("not a status: {error}\n{ran}"));
    (status.links, ran.status)
}

/// The link of a device.
#[track_caller]
pub fn link(device: &str) -> Link {
    let (links, _) = status();
    let link = links.iter().find(|link| link.device == device);
    link.cloned()
        .unwrap_or_else(|| panic!("no link {device} in {links:#?}"))
}

/// Assert that nothing of takt is left on the host, but what a keeper keeps.
#[track_caller]
pub fn assert_no_trace() {
    let left = keeper::foreign_traces();
    assert!(left.is_empty(), "left: {left:?}");
}
