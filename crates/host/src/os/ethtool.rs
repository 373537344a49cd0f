//! What drivers say of their devices (`SIOCETHTOOL`).

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use serde::Serialize;

const GET_DRIVER: u32 = 0x03;
const GET_PAUSE: u32 = 0x12;
const GET_TSO: u32 = 0x1e;
const GET_GSO: u32 = 0x23;
const GET_GRO: u32 = 0x2b;

/// Asks the drivers of this thread's network namespace.
pub(crate) struct Ethtool(OwnedFd);

/// Which packets of several frames a device has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Offloads {
    /// It cuts TCP's itself.
    pub tso: bool,
    /// The kernel cuts them, after the qdisc.
    pub gso: bool,
    /// The kernel merges what it receives.
    pub gro: bool,
}

/// `struct ethtool_value`
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

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
pub(crate) struct PauseParameters {
    command: u32,
    pub autoneg: u32,
    pub rx: u32,
    pub tx: u32,
}

impl Ethtool {
    pub fn open() -> io::Result<Self> {
        // SAFETY: no memory is passed; the result is checked and owned.
        unsafe {
            match libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) {
                fd if fd < 0 => Err(io::Error::last_os_error()),
                fd => Ok(Self(OwnedFd::from_raw_fd(fd))),
            }
        }
    }

    /// The name of a device's driver.
    pub fn driver(&self, device: &str) -> Option<String> {
        let mut info = DriverInfo {
            command: GET_DRIVER,
            driver: [0; 32],
            rest: [0; 160],
        };
        // SAFETY: the struct is the one that this command fills in.
        unsafe { self.ask(device, &mut info) }.then(|| {
            let end = info.driver.iter().position(|byte| *byte == 0);
            String::from_utf8_lossy(&info.driver[..end.unwrap_or(info.driver.len())]).into_owned()
        })
    }

    /// A device's own flow control.
    pub fn pause(&self, device: &str) -> Option<PauseParameters> {
        let mut found = PauseParameters {
            command: GET_PAUSE,
            ..PauseParameters::default()
        };
        // SAFETY: as above.
        unsafe { self.ask(device, &mut found) }.then_some(found)
    }

    /// `None`: the device is gone.
    pub fn offloads(&self, device: &str) -> Option<Offloads> {
        Some(Offloads {
            tso: self.flag(device, GET_TSO)?,
            gso: self.flag(device, GET_GSO)?,
            gro: self.flag(device, GET_GRO)?,
        })
    }

    fn flag(&self, device: &str, command: u32) -> Option<bool> {
        let mut value = Value { command, data: 0 };
        // SAFETY: as above.
        unsafe { self.ask(device, &mut value) }.then_some(value.data != 0)
    }

    /// Whether the device's driver answered.
    ///
    /// # Safety
    /// `T` is the struct of the command that its first field names.
    unsafe fn ask<T>(&self, device: &str, argument: &mut T) -> bool {
        // SAFETY: zeroes are a valid ifreq; the name is cut to leave its last zero;
        // the kernel writes no more than a T.
        unsafe {
            let mut request: libc::ifreq = std::mem::zeroed();
            let name = device.bytes().take(libc::IFNAMSIZ - 1);
            for (to, from) in request.ifr_name.iter_mut().zip(name) {
                *to = from as libc::c_char;
            }
            request.ifr_ifru.ifru_data = std::ptr::from_mut(argument).cast();
            libc::ioctl(self.0.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) == 0
        }
    }
}
