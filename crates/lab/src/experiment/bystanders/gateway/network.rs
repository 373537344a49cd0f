//! Three hosts in a row: a sender, a gateway, a receiver. The path's delay is on the way back, so
//! that it disturbs no queue.

use std::path::Path;

use super::case::{Case, Direction};
use crate::experiment::command;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::namespace::Namespace;
use crate::experiment::root::Root;

pub const SENDER: Namespace = Namespace("sender");
const GATEWAY: Namespace = Namespace("gateway");
pub const RECEIVER: Namespace = Namespace("receiver");

pub const RECEIVER_ADDRESS: &str = "10.2.0.1";

/// The gateway's devices: from the sender, to the receiver, and behind the first.
const NEAR: &str = "near0";
const FAR: &str = "far0";
const INCOMING: &str = "ifb0";

/// It is removed when this is dropped.
pub struct Network(Direction);

impl Network {
    pub fn build(case: &Case) -> Result<Self> {
        let network = Self(case.direction);
        command::ip_batch(&format!(
            "netns add sender\nnetns add gateway\nnetns add receiver\n\
             link add eth0 netns sender type veth peer name {NEAR} netns gateway\n\
             link add {FAR} netns gateway type veth peer name eth0 netns receiver\n"
        ))?;
        let up = |device: &str, address: &str| {
            format!("addr add {address}/24 dev {device}\nlink set {device} up\n")
        };
        SENDER.run(|| {
            command::ip_batch(&format!(
                "{}route add default via 10.1.0.2\n",
                up("eth0", "10.1.0.1")
            ))?;
            offloads("eth0", case)
        })?;
        GATEWAY.run(|| {
            command::ip_batch(&(up(NEAR, "10.1.0.2") + &up(FAR, "10.2.0.2")))?;
            offloads(NEAR, case)?;
            offloads(FAR, case)?;
            std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").doing("forward packets")?;
            redirect(case.direction)
        })?;
        RECEIVER.run(|| {
            command::ip_batch(&format!(
                "{}route add default via 10.2.0.2\n",
                up("eth0", RECEIVER_ADDRESS)
            ))?;
            offloads("eth0", case)?;
            command::tc_batch(&[format!(
                "qdisc add dev eth0 root netem delay {}ms limit 100000",
                case.delay_ms
            )])
        })?;
        Ok(network)
    }

    /// The device whose egress is the link.
    pub fn device(&self) -> &'static str {
        match self.0 {
            Direction::Up => FAR,
            Direction::Down => INCOMING,
        }
    }

    pub fn shaped<'lab>(&self, takt: &'lab Path) -> Root<'lab> {
        Root::on(takt, GATEWAY, self.device())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for namespace in [SENDER, GATEWAY, RECEIVER] {
            if let Err(error) = command::run("ip", &["netns", "del", namespace.0]) {
                eprintln!("while cleaning up: {error}");
            }
        }
    }
}

/// Without offloads packets are as the wire has them, so that every scheduler sees the same.
fn offloads(device: &str, case: &Case) -> Result<()> {
    let on = if case.offloads { "on" } else { "off" };
    command::run("ethtool", &["-K", device, "tso", on, "gso", on, "gro", on]).map(drop)
}

fn redirect(direction: Direction) -> Result<()> {
    if direction == Direction::Up {
        return Ok(());
    }
    command::ip_batch(&format!(
        "link add {INCOMING} type ifb\nlink set {INCOMING} up\n"
    ))?;
    command::tc_batch(&[
        format!("qdisc add dev {NEAR} clsact"),
        format!(
            "filter add dev {NEAR} ingress matchall action mirred egress redirect dev {INCOMING}"
        ),
    ])
}
