//! Anonymous memory, and the system calls that change it. All of it is locked, as the whole program
//! is, so it has its pages from the beginning.

use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use libc::c_void;
use nix::errno::Errno;
use nix::sys::mman::{
    MRemapFlags, MapFlags, MmapAdvise, ProtFlags, madvise, mlock, mmap_anonymous, mprotect, mremap,
    munlock, munmap,
};

pub const ROOM_BYTES: usize = 4 << 20;
const PAGE_BYTES: usize = 4096;

/// Unmapped when it is dropped.
pub struct Pages {
    at: NonNull<c_void>,
    bytes: usize,
}

impl Pages {
    pub fn map(bytes: usize) -> io::Result<Self> {
        let length = NonZeroUsize::new(bytes).ok_or(Errno::EINVAL)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at = unsafe { mmap_anonymous(None, length, access, MapFlags::MAP_PRIVATE) }?;
        Ok(Self { at, bytes })
    }

    pub fn lock_again(&mut self) -> io::Result<()> {
        // SAFETY: the range is this mapping.
        unsafe { munlock(self.at, self.bytes) }?;
        // SAFETY: as above.
        Ok(unsafe { mlock(self.at, self.bytes) }?)
    }

    pub fn protect_and_back(&mut self) -> io::Result<()> {
        for access in [
            ProtFlags::PROT_READ,
            ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
        ] {
            // SAFETY: the range is this mapping, which is not used meanwhile.
            unsafe { mprotect(self.at, self.bytes, access) }?;
        }
        Ok(())
    }

    /// To twice its size, maybe elsewhere.
    pub fn grow_and_back(&mut self) -> io::Result<()> {
        for bytes in [2 * self.bytes, self.bytes] {
            let moves = MRemapFlags::MREMAP_MAYMOVE;
            // SAFETY: the range is this mapping, to which there are no references.
            self.at = unsafe { mremap(self.at, self.bytes, bytes, moves, None) }?;
            self.bytes = bytes;
        }
        Ok(())
    }

    pub fn drop_and_touch(&mut self) -> io::Result<()> {
        // Locked pages cannot be dropped.
        // SAFETY: the range is this mapping.
        unsafe { munlock(self.at, self.bytes) }?;
        // SAFETY: as above; the memory holds nothing.
        unsafe { madvise(self.at, self.bytes, MmapAdvise::MADV_DONTNEED) }?;
        for page in (0..self.bytes).step_by(PAGE_BYTES) {
            // SAFETY: within the mapping, which may be written.
            unsafe { self.at.cast::<u8>().add(page).write_volatile(1) };
        }
        Ok(())
    }

    pub fn ask_residence(&mut self) -> io::Result<()> {
        let mut resident = vec![0; self.bytes / PAGE_BYTES];
        // SAFETY: the range is this mapping, and there is a byte for each page.
        let done = unsafe { libc::mincore(self.at.as_ptr(), self.bytes, resident.as_mut_ptr()) };
        Ok(Errno::result(done).map(drop)?)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // It fails only if it is not mapped.
        // SAFETY: the range is this mapping, which nothing uses any more.
        let _ = unsafe { munmap(self.at, self.bytes) };
    }
}
