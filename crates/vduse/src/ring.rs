//! One queue of the driver, and the frames in its buffers.

use std::io::{self, Read, Write};
use std::sync::Arc;

use virtio_queue::desc::split::Descriptor;
use virtio_queue::{DescriptorChain, Error, Queue, QueueOwnedT, QueueT};
use vm_memory::{GuestMemory, GuestMemoryMmap, Permissions};

/// `struct virtio_net_hdr_v1`, in front of every frame. All zeros except the number of buffers,
/// which is 1 in received frames.
const HEADER: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
/// Longer than any frame, since offloads are off.
const FRAME_BYTES_MAX: u64 = 65_535;

/// A buffer of the driver.
pub type Chain = DescriptorChain<Arc<GuestMemoryMmap>>;

#[derive(Debug)]
pub struct Ring(pub Queue);

pub enum Next {
    Empty,
    /// A buffer lies in unmapped memory, and stays in the queue.
    OutOfReach,
    Buffer(Chain),
}

impl Ring {
    /// Takes the driver's next buffer.
    pub fn next(&mut self, memory: &Arc<GuestMemoryMmap>) -> Result<Next, Error> {
        let Some(chain) = self.0.iter(Arc::clone(memory))?.next() else {
            return Ok(Next::Empty);
        };
        if chain.clone().all(|buffer| is_within(memory, buffer)) {
            return Ok(Next::Buffer(chain));
        }
        self.0.go_to_previous_position();
        Ok(Next::OutOfReach)
    }

    /// Returns a buffer with so many bytes written to it.
    pub fn give_back(
        &mut self,
        memory: &GuestMemoryMmap,
        head: u16,
        bytes: u32,
    ) -> Result<(), Error> {
        self.0.add_used(memory, head, bytes)
    }
}

fn is_within(memory: &GuestMemoryMmap, buffer: Descriptor) -> bool {
    let access = if buffer.is_write_only() {
        Permissions::Write
    } else {
        Permissions::Read
    };
    usize::try_from(buffer.len())
        .is_ok_and(|bytes| GuestMemory::check_range(memory, buffer.addr(), bytes, access))
}

/// Copies a buffer's frame into `frame`.
pub fn read(memory: &GuestMemoryMmap, buffer: Chain, frame: &mut Vec<u8>) -> io::Result<()> {
    frame.clear();
    let mut reader = buffer.reader(memory).map_err(io::Error::other)?;
    reader.read_exact(&mut [0; HEADER.len()])?;
    reader.take(FRAME_BYTES_MAX).read_to_end(frame)?;
    Ok(())
}

/// Copies a frame into a buffer; returns the bytes written, 0 if it is too long.
pub fn write(memory: &GuestMemoryMmap, buffer: Chain, frame: &[u8]) -> io::Result<u32> {
    let mut writer = buffer.writer(memory).map_err(io::Error::other)?;
    if writer.available_bytes() < HEADER.len() + frame.len() {
        return Ok(0);
    }
    writer.write_all(&HEADER)?;
    writer.write_all(frame)?;
    u32::try_from(writer.bytes_written()).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use virtio_bindings::virtio_ring::{VRING_DESC_F_NEXT, VRING_DESC_F_WRITE};
    use virtio_queue::desc::RawDescriptor;
    use virtio_queue::mock::MockSplitQueue;
    use vm_memory::{Bytes, GuestAddress};

    const LENGTH: u16 = 16;
    const DATA: u64 = 0x1_0000;
    const END: u64 = 0x2_0000;

    fn memory() -> Arc<GuestMemoryMmap> {
        let ranges = [(GuestAddress(0), END as usize)];
        Arc::new(GuestMemoryMmap::from_ranges(&ranges).unwrap())
    }

    /// A queue with one buffer in pieces, each with an address and a length.
    fn ring(memory: &GuestMemoryMmap, pieces: &[(u64, u32)], flags: u32) -> Ring {
        let driver = MockSplitQueue::new(memory, LENGTH);
        let last = pieces.len() - 1;
        let descriptors: Vec<_> = (0..)
            .zip(pieces)
            .map(|(index, &(address, bytes))| {
                let more = if usize::from(index) < last {
                    VRING_DESC_F_NEXT
                } else {
                    0
                };
                let flags = (flags | more) as u16;
                RawDescriptor::from(Descriptor::new(address, bytes, flags, index + 1))
            })
            .collect();
        driver.build_desc_chain(&descriptors).unwrap();
        Ring(driver.create_queue().unwrap())
    }

    fn buffer(ring: &mut Ring, memory: &Arc<GuestMemoryMmap>) -> Chain {
        match ring.next(memory).unwrap() {
            Next::Buffer(chain) => chain,
            Next::Empty => panic!("no buffer"),
            Next::OutOfReach => panic!("out of reach"),
        }
    }

    proptest! {
        #[test]
        fn a_frame_in_pieces_is_read_whole(
            frame in proptest::collection::vec(any::<u8>(), 1..2000),
            cut in 1_usize..2000,
        ) {
            let memory = memory();
            let bytes = [&HEADER[..], &frame].concat();
            let cut = cut.min(bytes.len() - 1);
            memory.write_slice(&bytes[..cut], GuestAddress(DATA)).unwrap();
            memory.write_slice(&bytes[cut..], GuestAddress(DATA + 0x1000)).unwrap();
            let pieces = [(DATA, cut as u32), (DATA + 0x1000, (bytes.len() - cut) as u32)];
            let mut ring = ring(&memory, &pieces, 0);
            let mut got = vec![1, 2, 3];
            read(&memory, buffer(&mut ring, &memory), &mut got).unwrap();
            prop_assert_eq!(got, frame);
            prop_assert!(matches!(ring.next(&memory).unwrap(), Next::Empty));
        }

        #[test]
        fn a_frame_is_written_behind_a_header_or_not_at_all(
            frame in proptest::collection::vec(any::<u8>(), 0..2000),
            room in 1_u32..2000,
        ) {
            let memory = memory();
            let mut ring = ring(&memory, &[(DATA, room)], VRING_DESC_F_WRITE);
            let written = write(&memory, buffer(&mut ring, &memory), &frame).unwrap();
            let wanted = [&HEADER[..], &frame].concat();
            let mut got = vec![0; written as usize];
            memory.read_slice(&mut got, GuestAddress(DATA)).unwrap();
            if wanted.len() <= room as usize {
                prop_assert_eq!(got, wanted)
            } else {
                prop_assert!(got.is_empty())
            }
        }
    }

    #[test]
    fn a_buffer_out_of_reach_stays_where_it_is() {
        let memory = memory();
        let mut ring = ring(&memory, &[(DATA, 64), (END - 4, 64)], 0);
        for _ in 0..3 {
            assert!(matches!(ring.next(&memory).unwrap(), Next::OutOfReach));
        }
        // What was there, and a page behind it.
        let ranges = [(GuestAddress(0), END as usize), (GuestAddress(END), 4096)];
        let grown = Arc::new(GuestMemoryMmap::from_ranges(&ranges).unwrap());
        let mut copy = vec![0; END as usize];
        memory.read_slice(&mut copy, GuestAddress(0)).unwrap();
        grown.write_slice(&copy, GuestAddress(0)).unwrap();
        assert_eq!(buffer(&mut ring, &grown).head_index(), 0);
    }

    #[test]
    fn a_buffer_given_back_counts_as_used() {
        let memory = memory();
        let mut ring = ring(&memory, &[(DATA, 64)], 0);
        let head = buffer(&mut ring, &memory).head_index();
        ring.give_back(&memory, head, 7).unwrap();
        assert_eq!(
            ring.0
                .used_idx(&*memory, std::sync::atomic::Ordering::Relaxed)
                .unwrap()
                .0,
            1
        );
        assert!(ring.give_back(&memory, LENGTH, 0).is_err());
    }

    #[test]
    fn a_frame_without_a_header_is_an_error() {
        let memory = memory();
        let mut ring = ring(&memory, &[(DATA, 5)], 0);
        assert!(read(&memory, buffer(&mut ring, &memory), &mut Vec::new()).is_err());
    }
}
