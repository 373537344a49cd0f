//! A task for each priority queue, built from the facilities of current Linux without copying
//! packets to user space.
//!
//! Each priority has a veth pair of its own on the host, and each end of it a
//! kernel thread that processes what arrives there (threaded NAPI). Packets are
//! routed into their priority's pair by port, and redirected from its far end to
//! the real device; acknowledgements go the other way through the same pair.
//! The background's threads have the priority of the background's program.
//!
//! NAPI on a veth comes with GRO, which is prevented from merging by a size that nothing fits.
//! A packet that passes a veth is taken from its socket's account: TCP small queues have no
//! effect then, and more of a connection's window waits in its priority's queue.

use crate::experiment::command;
use crate::experiment::error::Result;
use crate::experiment::pair::{A, DEVICE, RECEIVER, SENDER};

use super::far_end;
use super::importance;
use super::upload::Port;

/// The Ethernet addresses of both ends of the cable, which the network sets.
const HOST_ADDRESS: &str = "02:00:00:00:00:0a";
const SERVER_ADDRESS: &str = "02:00:00:00:00:0b";

/// One priority's pair of devices.
struct Queue {
    /// The host's IP layer sends and receives here.
    near: &'static str,
    far: &'static str,
    port: Port,
    /// Of routes and of rules.
    table: &'static str,
    /// The packet's priority before it passed the pair.
    priority: &'static str,
    nice: i32,
}

const QUEUES: [Queue; 2] = [
    Queue {
        near: "fg-near",
        far: "fg-far",
        port: Port::Foreground,
        table: "101",
        priority: "0:0",
        nice: 0,
    },
    Queue {
        near: "bg-near",
        far: "bg-far",
        port: Port::Background,
        table: "102",
        priority: "0:2",
        nice: super::BACKGROUND_NICE,
    },
];

/// Removed when this is dropped.
pub struct Tasks(());

impl Tasks {
    pub fn start() -> Result<Self> {
        let tasks = Self(());
        A.run(|| {
            command::tc_batch(&[format!("qdisc add dev {DEVICE} clsact")])?;
            QUEUES.iter().try_for_each(Queue::build)
        })?;
        Ok(tasks)
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        let removed = A.run(|| {
            command::tc_batch(&[format!("qdisc del dev {DEVICE} clsact")])?;
            QUEUES.iter().try_for_each(Queue::remove)
        });
        if let Err(error) = removed {
            eprintln!("while cleaning up: {error}");
        }
    }
}

impl Queue {
    fn build(&self) -> Result<()> {
        let Self {
            near,
            far,
            table,
            priority,
            ..
        } = self;
        let port = self.port.number();
        ip(&format!(
            "link add {near} address {HOST_ADDRESS} type veth peer name {far}"
        ))?;
        for device in [near, far] {
            ethtool(&format!("-K {device} tx on rx on"))?;
            far_end::polled(device)?;
            ip(&format!("link set {device} addrgenmode none up"))?;
        }
        ip(&format!(
            "neigh add {RECEIVER} lladdr {SERVER_ADDRESS} dev {near} nud permanent"
        ))?;
        ip(&format!(
            "route add {RECEIVER} dev {near} src {SENDER} table {table}"
        ))?;
        ip(&format!("rule add ipproto 6 dport {port} lookup {table}"))?;
        command::tc_batch(&[
            format!("qdisc add dev {far} clsact"),
            format!(
                "filter add dev {far} ingress matchall action skbedit priority {priority} pipe \
                 action mirred egress redirect dev {DEVICE}"
            ),
            format!(
                "filter add dev {DEVICE} ingress protocol ip u32 match ip sport {port} 0xffff \
                 action mirred egress redirect dev {far}"
            ),
        ])?;
        for device in [near, far] {
            importance::nice(far_end::threaded(A, device)?, self.nice)?;
        }
        Ok(())
    }

    fn remove(&self) -> Result<()> {
        let port = self.port.number();
        ip(&format!(
            "rule del ipproto 6 dport {port} lookup {}",
            self.table
        ))?;
        ip(&format!("link del {}", self.near))
    }
}

fn ip(words: &str) -> Result<()> {
    let words: Vec<&str> = words.split_whitespace().collect();
    command::run("ip", &words).map(drop)
}

fn ethtool(words: &str) -> Result<()> {
    let words: Vec<&str> = words.split_whitespace().collect();
    command::run("ethtool", &words).map(drop)
}
