//! A packet at the very end of readable memory.

use std::{ffi::c_void, num::NonZeroUsize, ptr::NonNull};

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use takt_algo::sys::{self, takt_ack, takt_key, takt_segment};

const PAGE: usize = 4096;
const PAGES: NonZeroUsize = NonZeroUsize::new(2 * PAGE).unwrap();

/// Two pages, the second of which faults; the packet ends at the first one's end, or up to
/// three bytes before it, since headers begin at a multiple of four.
pub struct Guarded {
    memory: NonNull<c_void>,
    start: u64,
    end: u64,
}

impl Guarded {
    pub fn new(packet: &[u8], slack: u8) -> Self {
        assert!(packet.len() <= PAGE);
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: new memory; the second page is not used again.
        let memory = unsafe {
            let memory = mmap_anonymous(None, PAGES, protection, MapFlags::MAP_PRIVATE).unwrap();
            mprotect(memory.byte_add(PAGE), PAGE, ProtFlags::PROT_NONE).unwrap();
            memory
        };
        // SAFETY: the first page, which is not borrowed elsewhere.
        let page = unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>().as_ptr(), PAGE) };
        page.fill(slack);
        let at = PAGE - packet.len().next_multiple_of(4);
        page[at..at + packet.len()].copy_from_slice(packet);
        let start = memory.as_ptr() as u64 + at as u64;
        Self {
            memory,
            start,
            end: start + packet.len() as u64,
        }
    }

    pub fn read_key(&self, ethertype: u16, addresses: bool) -> takt_key {
        let mut key = takt_key::default();
        // SAFETY: readable from start to end; the test checks that nothing is read beyond.
        unsafe {
            sys::takt_key_read(&mut key, ethertype, self.start, self.end, addresses.into());
        }
        key
    }

    /// The packet, if it is an acknowledgement that may be thinned.
    pub fn read_ack(&self, ethertype: u16) -> Option<takt_ack> {
        let (mut ack, mut key) = (takt_ack::default(), takt_key::default());
        // SAFETY: as above.
        let may_be =
            unsafe { sys::takt_ack_read(&mut ack, &mut key, ethertype, self.start, self.end) != 0 };
        ack.next = 0;
        may_be.then_some(ack)
    }

    /// The packet, if it is a segment that is read.
    pub fn read_segment(&self, ethertype: u16) -> Option<takt_segment> {
        let (mut segment, mut key) = (takt_segment::default(), takt_key::default());
        // SAFETY: as above.
        let at = unsafe {
            sys::takt_segment_read(&mut segment, &mut key, ethertype, self.start, self.end)
        };
        segment.next = 0;
        let header = if ethertype == 0x86dd { 40 } else { 20 };
        assert!(at == 0 || at == self.start + header);
        (at != 0).then_some(segment)
    }

    /// The packet's place in a table by source or destination port.
    pub fn port_place(&self, ethertype: u16, which: u32) -> u32 {
        // SAFETY: as above.
        unsafe { sys::takt_port_read(ethertype, self.start, self.end, which) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: mapped by new with this size, and unmapped once.
        unsafe { munmap(self.memory, PAGES.get()) }.unwrap();
    }
}
