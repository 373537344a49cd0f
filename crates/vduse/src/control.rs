//! Making and removing devices.

use std::ffi::c_char;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use nix::libc::O_NONBLOCK;
use virtio_bindings::virtio_config::{VIRTIO_F_ACCESS_PLATFORM, VIRTIO_F_VERSION_1};
use virtio_bindings::virtio_ids::VIRTIO_ID_NET;
use virtio_bindings::virtio_net::VIRTIO_NET_F_MAC;

use crate::abi::{self, DevConfig, NAME_BYTES, VqConfig};
use crate::error::{Error, Result};
use crate::net::{NetDevice, RECEIVE_RING, SHORTEST_RING};

/// The parameters of a network device.
#[derive(Debug, Clone)]
pub struct NetConfig {
    /// The device's name on the vDPA bus; the interface gets another.
    pub name: String,
    /// The device's own address.
    pub mac: [u8; 6],
    /// How many frames the driver's transmit ring has descriptors for, a power of two.
    /// [`SHORTEST_RING`] is the least of use.
    pub transmit_ring: u16,
}

/// `/dev/vduse/control`.
#[derive(Debug)]
pub struct Control(File);

/// The argument of the create call; the configuration space follows it.
#[repr(C)]
struct NetDevConfig {
    head: DevConfig,
    mac: [u8; 6],
    /// `status`, `max_virtqueue_pairs` and `mtu` of `struct virtio_net_config`, which need
    /// features that the device does not have.
    unused: [u8; 6],
}

impl Control {
    /// The module's control file.
    pub fn open() -> Result<Control> {
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/vduse/control");
        open.map(Control).map_err(Error::Control)
    }

    /// Makes a network device with one queue each way and without offloads, so that every frame
    /// is one that goes over the air as it is.
    pub fn create_net(&self, config: &NetConfig) -> Result<NetDevice> {
        let lifetime = |source: io::Error| Error::Lifetime {
            action: "created",
            device: config.name.clone(),
            source,
        };
        let request = NetDevConfig {
            head: DevConfig {
                name: c_name(&config.name)?,
                vendor_id: 0,
                device_id: VIRTIO_ID_NET,
                features: 1 << VIRTIO_F_VERSION_1
                    | 1 << VIRTIO_F_ACCESS_PLATFORM
                    | 1 << VIRTIO_NET_F_MAC,
                // One each way.
                vq_num: 2,
                vq_align: abi::VQ_ALIGN,
                reserved: [0; 13],
                config_size: (size_of::<NetDevConfig>() - size_of::<DevConfig>()) as u32,
            },
            mac: config.mac,
            unused: [0; 6],
        };
        // SAFETY: the call reads the head and `config_size` bytes after it, all of
        // which are in `request`.
        unsafe { abi::create_dev(self.0.as_raw_fd(), (&raw const request).cast()) }
            .map_err(|errno| lifetime(errno.into()))?;
        let file = open_device(&config.name).map_err(lifetime)?;
        for (index, max_size) in (0..).zip([RECEIVE_RING, config.transmit_ring]) {
            let queue = VqConfig {
                index,
                max_size,
                reserved: [0; 13],
            };
            // SAFETY: the call reads the structure, which is its own.
            unsafe { abi::vq_setup(file.as_raw_fd(), &queue) }
                .map_err(|errno| lifetime(errno.into()))?;
        }
        NetDevice::new(config.name.clone(), file, config.transmit_ring)
    }

    /// Opens a device whose process has ended; `None` if there is none of this name. It
    /// transfers no frames any more: this is for removing it from the bus.
    pub fn adopt_net(&self, name: &str) -> Result<Option<NetDevice>> {
        c_name(name)?;
        match open_device(name) {
            Ok(file) => NetDevice::new(name.to_owned(), file, SHORTEST_RING).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Lifetime {
                action: "opened",
                device: name.to_owned(),
                source,
            }),
        }
    }

    /// Removes a device that is not on the bus and not open in any process.
    pub fn destroy(&self, name: &str) -> Result<()> {
        let c_name = c_name(name)?;
        // SAFETY: the call reads the name, all of its 256 bytes.
        unsafe { abi::destroy_dev(self.0.as_raw_fd(), &c_name) }
            .map(drop)
            .map_err(|errno| Error::Lifetime {
                action: "removed",
                device: name.to_owned(),
                source: errno.into(),
            })
    }
}

fn open_device(name: &str) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(O_NONBLOCK)
        .open(format!("/dev/vduse/{name}"))
}

fn c_name(name: &str) -> Result<[c_char; NAME_BYTES]> {
    let bytes = name.as_bytes();
    if !(1..=abi::NAME_BYTES_MAX).contains(&bytes.len()) || bytes.iter().any(|b| b"/\0".contains(b))
    {
        return Err(Error::Name {
            name: name.to_owned(),
        });
    }
    let mut c_name = [0; NAME_BYTES];
    for (to, from) in c_name.iter_mut().zip(bytes) {
        *to = from.cast_signed();
    }
    Ok(c_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_files_name() {
        for bad in ["", "a/b", "a\0b", &"x".repeat(256)] {
            assert!(matches!(c_name(bad), Err(Error::Name { .. })), "{bad}");
        }
        let name = c_name("ap0").expect("is a name");
        assert_eq!(name[..4], [97, 112, 48, 0]);
    }

    #[test]
    fn the_configuration_space_follows_the_head_directly() {
        assert_eq!(std::mem::offset_of!(NetDevConfig, mac), 336);
    }
}
