//! On which devices PAUSE frames from the host reach the wire, and on which they are filtered.

use serde::Serialize;

use crate::{
    error::Error,
    link::LinkError,
    os::{
        OsError,
        ethtool::Ethtool,
        netlink::{Device, Netlink},
    },
};

/// What happens to PAUSE frames on a device, by its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PauseFrames {
    /// They reach the wire.
    Pass,
    /// They are filtered: the driver drops them, or the device has no wire of its own.
    #[serde(rename = "swallowed")]
    Filtered,
    /// The driver is unknown.
    Unknown,
}

/// An Ethernet device, and whether gap frames work on it.
#[derive(Debug, Serialize)]
pub struct Verdict {
    /// Its name.
    pub device: String,
    /// The driver's name; empty if it does not say.
    pub driver: String,
    /// Whether PAUSE frames reach the wire.
    pub pause_frames: PauseFrames,
    /// How that is known, and what to do.
    pub why: &'static str,
    /// The device's own flow control, if it has any.
    pub flow_control: Option<FlowControl>,
}

/// How a device and its peer pause each other (802.3x).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FlowControl {
    /// The two negotiate it when the link comes up.
    pub negotiated: bool,
    /// The device stops when its peer asks for a pause.
    pub rx: bool,
    /// The device asks its peer for pauses; a gap frame ends them.
    pub tx: bool,
}

/// Every Ethernet device of this namespace, and what is known of it.
pub(crate) fn verdicts() -> Result<Vec<Verdict>, Error> {
    let mut netlink = Netlink::open().map_err(OsError::netlink("opening a route socket"))?;
    let devices = Device::list(&mut netlink).map_err(OsError::netlink("listing devices"))?;
    let ethtool = Ethtool::open().map_err(LinkError::driver_socket)?;
    Ok(devices
        .into_iter()
        .filter(|device| device.hardware == libc::ARPHRD_ETHER)
        .map(|device| {
            let driver = ethtool.driver(&device.name).unwrap_or_default();
            let (pause_frames, why) = judge(&driver);
            Verdict {
                flow_control: flow_control(&ethtool, &device.name),
                device: device.name,
                driver,
                pause_frames,
                why,
            }
        })
        .collect())
}

fn flow_control(ethtool: &Ethtool, device: &str) -> Option<FlowControl> {
    ethtool.pause(device).map(|found| FlowControl {
        negotiated: found.autoneg != 0,
        rx: found.rx != 0,
        tx: found.tx != 0,
    })
}

fn judge(driver: &str) -> (PauseFrames, &'static str) {
    match driver {
        "veth" => (
            PauseFrames::Pass,
            "they arrive at the other end, which discards them",
        ),
        "i40e" | "ice" | "iavf" | "i40evf" => (
            PauseFrames::Filtered,
            "the driver has the hardware drop PAUSE frames that the host sends",
        ),
        "bridge"
        | "bonding"
        | "team"
        | "802.1Q VLAN Support"
        | "macvlan"
        | "ipvlan"
        | "dummy"
        | "ifb" => (
            PauseFrames::Filtered,
            "it has no wire of its own; pace the device below it",
        ),
        "tun" | "virtio_net" | "vmxnet3" | "hv_netvsc" | "vif" | "xen_netfront" | "ena" | "gve" => {
            (
                PauseFrames::Unknown,
                "it has no wire; whether they take up time on one is up to the host at its other end",
            )
        }
        _ => (
            PauseFrames::Unknown,
            "to test it, count them at the other end of the cable (ethtool -S, rx pause)",
        ),
    }
}
