//! On which devices PAUSE frames from the host reach the wire, and on which they are filtered.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use serde::Serialize;

use crate::{
    error::Error,
    link::LinkError,
    os::{
        OsError,
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
    let socket = control_socket().map_err(LinkError::driver_socket)?;
    Ok(devices
        .into_iter()
        .filter(|device| device.hardware == libc::ARPHRD_ETHER)
        .map(|device| {
            let driver = driver(&socket, &device.name).unwrap_or_default();
            let (pause_frames, why) = judge(&driver);
            Verdict {
                flow_control: flow_control(&socket, &device.name),
                device: device.name,
                driver,
                pause_frames,
                why,
            }
        })
        .collect())
}

fn judge(driver: &str) -> (PauseFrames, &'static str) {
    match driver {
        "veth" => (
            PauseFrames::Pass,
            "they come out at the other end, which throws them away",
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
            "try it: they should show up at the other end of the cable (ethtool -S, rx pause)",
        ),
    }
}

fn control_socket() -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed; the result is checked and owned.
    unsafe {
        match libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) {
            fd if fd < 0 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

const GET_DRIVER: u32 = 0x03;
const GET_PAUSE: u32 = 0x12;

/// `struct ethtool_drvinfo`; the fields after the driver's name are not read.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// `struct ethtool_pauseparam`
#[repr(C)]
#[derive(Default)]
struct PauseParameters {
    command: u32,
    autoneg: u32,
    rx: u32,
    tx: u32,
}

fn driver(socket: &OwnedFd, device: &str) -> Option<String> {
    let mut info = DriverInfo {
        command: GET_DRIVER,
        driver: [0; 32],
        rest: [0; 160],
    };
    // SAFETY: the struct is the one that this command fills in.
    unsafe { ethtool(socket, device, &mut info) }.then(|| {
        let end = info.driver.iter().position(|byte| *byte == 0);
        String::from_utf8_lossy(&info.driver[..end.unwrap_or(info.driver.len())]).into_owned()
    })
}

fn flow_control(socket: &OwnedFd, device: &str) -> Option<FlowControl> {
    let mut found = PauseParameters {
        command: GET_PAUSE,
        ..PauseParameters::default()
    };
    // SAFETY: as above.
    unsafe { ethtool(socket, device, &mut found) }.then_some(FlowControl {
        negotiated: found.autoneg != 0,
        rx: found.rx != 0,
        tx: found.tx != 0,
    })
}

/// Whether the device's driver answered.
///
/// # Safety
/// `T` is the struct of the command that its first field names.
unsafe fn ethtool<T>(socket: &OwnedFd, device: &str, argument: &mut T) -> bool {
    // SAFETY: zeroes are a valid ifreq; the name is cut to leave its last zero;
    // the kernel writes no more than a T.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        let name = device.bytes().take(libc::IFNAMSIZ - 1);
        for (to, from) in request.ifr_name.iter_mut().zip(name) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = std::ptr::from_mut(argument).cast();
        libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) == 0
    }
}
