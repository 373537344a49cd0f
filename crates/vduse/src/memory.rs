//! The memory of the driver's rings and frames.
//!
//! The driver uses I/O addresses. The kernel keeps the rings in regions of their own, and
//! copies frames through one large region.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use vm_memory::mmap::MmapRegionBuilder;
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap, GuestRegionMmap};

use crate::abi;

/// Maps every region.
pub fn map(device: &File) -> io::Result<GuestMemoryMmap> {
    let mut regions = Vec::new();
    let mut from = 0;
    while let Some((region, last)) = first_from(device, from)? {
        regions.push(region);
        match last.checked_add(1) {
            Some(next) => from = next,
            None => break,
        }
    }
    GuestMemoryMmap::from_regions(regions).map_err(io::Error::other)
}

/// The first region that has addresses from `from` on, and its last address.
fn first_from(device: &File, from: u64) -> io::Result<Option<(GuestRegionMmap, u64)>> {
    let mut entry = abi::IotlbEntry {
        start: from,
        last: u64::MAX,
        ..abi::IotlbEntry::default()
    };
    // SAFETY: the call reads and writes this structure, which outlives it.
    let descriptor = match unsafe { abi::iotlb_get_fd(device.as_raw_fd(), &mut entry) } {
        // SAFETY: the call returns a descriptor that this process owns.
        Ok(descriptor) => unsafe { OwnedFd::from_raw_fd(descriptor) },
        Err(Errno::EINVAL) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    let bytes = entry
        .last
        .checked_sub(entry.start)
        .and_then(|less_one| usize::try_from(less_one).ok()?.checked_add(1))
        .ok_or_else(|| io::Error::other("a region of no size"))?;
    let region = MmapRegionBuilder::new(bytes)
        .with_mmap_prot(libc::PROT_READ | libc::PROT_WRITE)
        .with_mmap_flags(libc::MAP_SHARED)
        .with_file_offset(FileOffset::new(File::from(descriptor), entry.offset))
        .build()
        .map_err(io::Error::other)?;
    let region = GuestRegionMmap::new(region, GuestAddress(entry.start))
        .ok_or_else(|| io::Error::other("a region that wraps around"))?;
    Ok(Some((region, entry.last)))
}
