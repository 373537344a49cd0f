//! linux/vduse.h, as far as a network device needs it.

use nix::libc::c_char;

pub const NAME_BYTES: usize = 256;
/// The last byte is NUL.
pub const NAME_BYTES_MAX: usize = NAME_BYTES - 1;
/// The only alignment that the kernel accepts.
pub const VQ_ALIGN: u32 = 4096;
/// `enum vduse_req_type`.
pub const GET_VQ_STATE: u32 = 0;
pub const SET_STATUS: u32 = 1;
pub const UPDATE_IOTLB: u32 = 2;
pub const RESULT_OK: u32 = 0;
pub const RESULT_FAILED: u32 = 1;

/// `struct vduse_dev_config` without the configuration space that follows it.
#[repr(C)]
pub struct DevConfig {
    pub name: [c_char; NAME_BYTES],
    pub vendor_id: u32,
    pub device_id: u32,
    pub features: u64,
    pub vq_num: u32,
    pub vq_align: u32,
    pub reserved: [u32; 13],
    pub config_size: u32,
}

/// `struct vduse_iotlb_entry`.
#[repr(C)]
#[derive(Default)]
pub struct IotlbEntry {
    pub offset: u64,
    pub start: u64,
    pub last: u64,
    pub perm: u8,
}

/// `struct vduse_vq_config`.
#[repr(C)]
#[derive(Default)]
pub struct VqConfig {
    pub index: u32,
    pub max_size: u16,
    pub reserved: [u16; 13],
}

/// `struct vduse_vq_info`, of a split ring.
#[repr(C)]
#[derive(Default)]
pub struct VqInfo {
    pub index: u32,
    pub num: u32,
    pub desc_addr: u64,
    pub driver_addr: u64,
    pub device_addr: u64,
    pub avail_index: u16,
    pub packed: [u16; 3],
    pub ready: u8,
}

/// `struct vduse_vq_eventfd`.
#[repr(C)]
pub struct VqEventfd {
    pub index: u32,
    pub fd: i32,
}

const MAGIC: u8 = 0x81;

nix::ioctl_write_ptr!(create_dev, MAGIC, 0x02, DevConfig);
nix::ioctl_write_ptr!(destroy_dev, MAGIC, 0x03, [c_char; NAME_BYTES]);
nix::ioctl_readwrite!(iotlb_get_fd, MAGIC, 0x10, IotlbEntry);
nix::ioctl_write_ptr!(vq_setup, MAGIC, 0x14, VqConfig);
nix::ioctl_readwrite!(vq_get_info, MAGIC, 0x15, VqInfo);
nix::ioctl_write_ptr!(vq_setup_kickfd, MAGIC, 0x16, VqEventfd);
nix::ioctl_write_ptr!(vq_inject_irq, MAGIC, 0x17, u32);

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes are part of the ioctls' numbers.
    #[test]
    fn structures_have_the_kernels_sizes() {
        assert_eq!(size_of::<DevConfig>(), 336);
        assert_eq!(size_of::<IotlbEntry>(), 32);
        assert_eq!(size_of::<VqConfig>(), 32);
        assert_eq!(size_of::<VqInfo>(), 48);
        assert_eq!(size_of::<VqEventfd>(), 8);
    }
}
