//! A station's network device that is cheap: TAP. Frames that the transmitter has not taken
//! wait in the device, and are dropped there when there are too many.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use super::plan::{DEVICE, Station};
use crate::experiment::error::{Result, WhileDoing};

/// Removed when it is dropped.
pub struct Tap {
    file: File,
    buffer: [u8; FRAME_BYTES_MAX],
}

/// Longer than a frame of the usual MTU, which devices here have.
const FRAME_BYTES_MAX: usize = 2048;

nix::ioctl_write_int!(tun_set_interface, b'T', 202);

/// `struct ifreq` as far as the call reads it.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    flags: u16,
    rest: [u8; 22],
}

impl Tap {
    /// Makes the device in the station's namespace.
    pub fn create(station: Station) -> Result<Self> {
        station
            .namespace()
            .run(|| tap().doing("make a station's TAP device"))
            .map(|file| Self {
                file,
                buffer: [0; FRAME_BYTES_MAX],
            })
    }

    /// Readable when there is a frame to [`take`](Self::take).
    pub fn frames(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Takes the device's next frame, which replaces what is in `frame`; false if
    /// there is none.
    pub fn take(&mut self, frame: &mut Vec<u8>) -> Result<bool> {
        match self.file.read(&mut self.buffer) {
            Ok(bytes) => {
                frame.clear();
                frame.extend_from_slice(&self.buffer[..bytes]);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error).doing("take a station's frame"),
        }
    }

    /// Passes a frame to the station; false if the station is down.
    pub fn deliver(&mut self, frame: &[u8]) -> bool {
        self.file
            .write(frame)
            .is_ok_and(|bytes| bytes == frame.len())
    }
}

fn tap() -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")?;
    let mut request = InterfaceRequest {
        name: [0; libc::IFNAMSIZ],
        flags: (libc::IFF_TAP | libc::IFF_NO_PI) as u16,
        rest: [0; 22],
    };
    request.name[..DEVICE.len()].copy_from_slice(DEVICE.as_bytes());
    // SAFETY: the call reads and writes a `struct ifreq` at the given address, which is valid.
    unsafe { tun_set_interface(file.as_raw_fd(), (&raw mut request).addr() as u64) }?;
    Ok(file)
}
