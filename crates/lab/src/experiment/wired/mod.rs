//! A wire with a speed between the lab's two namespaces, beside the cable that is always there.
//!
//! The devices at its ends are virtio-net's, driven by the kernel: a frame stays in the driver's
//! ring until the wire has carried it, and a driver whose ring is full, or who has more bytes on
//! their way than the kernel lets it (BQL), stops its queue. So packets wait in the qdisc for as
//! long as the wire takes, whatever its speed is; a veth stops no queue.
//!
//! [`script`] is what the process is told, [`player`] that process, [`process`] its other side.
//! Both directions go at once, each at a speed of its own. PAUSE frames are carried like others,
//! and stop nothing.

mod player;
mod process;
mod script;

use std::path::Path;

pub use self::player::play_from_stdin;
pub(super) use self::script::{Counts, Speed, Way};

use self::process::Process;
use self::script::{End, Order, Script};
use super::card::{self, FIRST, Named};
use super::command;
use super::error::{Result, WhileDoing};
use super::namespace::Namespace;
use super::pair::{A, B, RECEIVER, SENDER};

/// The sending device, in the namespace `a`.
pub const DEVICE: &str = "la";
/// The receiving one, in `b`.
pub const PEER_DEVICE: &str = "lb";

struct Side {
    namespace: Namespace,
    device: &'static str,
    address: &'static str,
    /// On the bus.
    name: &'static str,
    mac: [u8; 6],
}

const SIDES: [Side; 2] = [
    Side {
        namespace: A,
        device: DEVICE,
        address: SENDER,
        name: "takt-near",
        mac: [2, 0, 0, 0, 2, 1],
    },
    Side {
        namespace: B,
        device: PEER_DEVICE,
        address: RECEIVER,
        name: "takt-far",
        mac: [2, 0, 0, 0, 2, 2],
    },
];

/// The addresses of the cable's ends lead over it. Removed, with its devices, when this is dropped.
#[must_use]
pub struct Wired {
    process: Process,
    _first: Named,
}

impl Wired {
    /// Frames back take no time. Frames of TCP to `port` are counted apart.
    pub fn build(takt: &Path, transmit_ring: u16, speed: Speed, port: u16) -> Result<Self> {
        let first = Named::first()?;
        let end = |side: &Side, speed| End {
            name: side.name.to_owned(),
            mac: side.mac,
            transmit_ring,
            speed,
        };
        let script = Script {
            ends: [end(&SIDES[0], speed), end(&SIDES[1], Speed::Fixed(0))],
            port,
        };
        let wired = Self {
            process: Process::start(takt, &script)?,
            _first: first,
        };
        for (side, other) in [(0, 1), (1, 0)] {
            join(&SIDES[side], &SIDES[other])?;
        }
        Ok(wired)
    }

    /// The speed from the sending device on.
    pub fn set_speed(&mut self, speed: Speed) -> Result<()> {
        self.process.order(&Order::Speed(0, speed)).map(drop)
    }

    /// What has gone over it until now.
    pub fn counts(&mut self) -> Result<Counts> {
        self.process.order(&Order::Count)
    }

    /// The zero of its clock, in CLOCK_MONOTONIC.
    pub fn began_ns(&self) -> u64 {
        self.process.began_ns
    }
}

/// A route to the one other host is enough, and goes with its device.
fn join(side: &Side, other: &Side) -> Result<()> {
    let shown = |mac: [u8; 6]| mac.map(|byte| format!("{byte:02x}")).join(":");
    let found = card::interface(&shown(side.mac))?;
    let (namespace, device) = (side.namespace.0, side.device);
    FIRST.run(|| {
        command::ip_batch(&format!(
            "link set {found} netns {namespace} name {device}\n"
        ))
    })?;
    side.namespace.run(|| {
        // IPv6 would send unasked.
        let ipv6 = format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6");
        std::fs::write(ipv6, "1").doing("switch IPv6 off")?;
        command::ip_batch(&format!(
            "link set {device} gso_max_segs 1 up\n\
             neigh add {} lladdr {} nud permanent dev {device}\n\
             route add {}/32 dev {device} src {}\n",
            other.address,
            shown(other.mac),
            other.address,
            side.address,
        ))
    })
}
