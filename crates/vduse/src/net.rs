//! The device's side of virtio-net.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;

use nix::sys::eventfd::{EfdFlags, EventFd};
use virtio_bindings::virtio_config::VIRTIO_CONFIG_S_DRIVER_OK;
use virtio_queue::{Queue, QueueT};
use vm_memory::GuestMemoryMmap;

use crate::abi::{self, VqEventfd, VqInfo};
use crate::error::{Error, Result};
use crate::memory;
use crate::message::{Answer, MESSAGE_BYTES, Question, Request};
use crate::ring::{self, Chain, Next, Ring};

/// Descriptors of the ring of received frames.
pub(crate) const RECEIVE_RING: u16 = 128;
/// virtio-net stops its queue when fewer descriptors are free than a packet in the most pieces
/// needs, 19: with this ring when it holds 13 frames.
pub const SHORTEST_RING: u16 = 32;
const TO_DRIVER: usize = 0;
const FROM_DRIVER: usize = 1;

/// A network device whose hardware is this process. No call here waits.
#[derive(Debug)]
pub struct NetDevice {
    name: String,
    file: File,
    kicks: EventFd,
    transmit_ring: u16,
    /// Present while the driver works.
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    memory: Arc<GuestMemoryMmap>,
    rings: [Ring; 2],
}

/// A frame that the device has taken from its driver. It counts as in the hardware until it is
/// [finished](NetDevice::finish).
#[derive(Debug)]
#[must_use]
pub struct Taken(u16);

impl NetDevice {
    pub(crate) fn new(name: String, file: File, transmit_ring: u16) -> Result<NetDevice> {
        let kicks = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC).map_err(
            |errno| Error::Device {
                action: "make the event descriptor",
                device: name.clone(),
                source: errno.into(),
            },
        )?;
        Ok(NetDevice {
            name,
            file,
            kicks,
            transmit_ring,
            running: None,
        })
    }

    /// Readable when the kernel has a request to [answer](Self::answer).
    pub fn questions(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Readable when the driver has put frames into its queue, until the next
    /// [`take`](Self::take).
    pub fn kicks(&self) -> BorrowedFd<'_> {
        self.kicks.as_fd()
    }

    /// Whether a driver works with the device.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Answers all pending requests of the kernel.
    pub fn answer(&mut self) -> Result<()> {
        loop {
            let mut bytes = [0; MESSAGE_BYTES];
            match self.file.read(&mut bytes) {
                Ok(MESSAGE_BYTES) => {}
                Ok(short) => {
                    let source = io::Error::other(format!("a question of {short} bytes"));
                    return Err(self.failed("read the questions", source));
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(self.failed("read the questions", e)),
            }
            let request = Request::parse(&bytes);
            let answer = self.answer_to(&request.question);
            // The kernel waits for an answer even where there is no good one.
            let said = answer.as_ref().map_or(Answer::Failed, |answer| *answer);
            self.file
                .write_all(&request.answered(said))
                .map_err(|e| self.failed("answer the questions", e))?;
            answer?;
        }
    }

    fn answer_to(&mut self, question: &Question) -> Result<Answer> {
        match *question {
            Question::Status(status) => {
                if u32::from(status) & VIRTIO_CONFIG_S_DRIVER_OK == 0 {
                    self.running = None;
                } else if self.running.is_none() {
                    self.running = Some(self.start()?);
                }
            }
            Question::Remap => self.remap()?,
            Question::QueueState { index } => {
                let ring = (self.running.as_ref())
                    .and_then(|running| running.rings.get(usize::try_from(index).ok()?));
                return Ok(ring.map_or(Answer::Failed, |ring| Answer::QueueState {
                    index,
                    avail_index: ring.0.next_avail(),
                }));
            }
            Question::Unknown(_) => return Ok(Answer::Failed),
        }
        Ok(Answer::Done)
    }

    fn remap(&mut self) -> Result<()> {
        if self.running.is_some() {
            let memory = Arc::new(self.map()?);
            if let Some(running) = &mut self.running {
                running.memory = memory;
            }
        }
        Ok(())
    }

    fn map(&self) -> Result<GuestMemoryMmap> {
        memory::map(&self.file).map_err(|e| self.failed("map the memory", e))
    }

    fn start(&self) -> Result<Running> {
        let memory = Arc::new(self.map()?);
        let queues = [self.queue(TO_DRIVER)?, self.queue(FROM_DRIVER)?];
        if queues.iter().all(|queue| queue.is_valid(&*memory)) {
            let rings = queues.map(Ring);
            Ok(Running { memory, rings })
        } else {
            Err(self.blame("it put a queue where there is no memory"))
        }
    }

    /// A queue of the driver, with its notifications.
    fn queue(&self, index: usize) -> Result<Queue> {
        let mut info = VqInfo {
            // The index of the queue, 0 or 1.
            index: index as u32,
            ..VqInfo::default()
        };
        // SAFETY: the structure is the one the call reads and writes.
        unsafe { abi::vq_get_info(self.file.as_raw_fd(), &mut info) }
            .map_err(|errno| self.failed("read the queues", errno.into()))?;
        let wrong = |error: virtio_queue::Error| self.blame(error);
        let size = u16::try_from(info.num).map_err(|e| self.blame(e))?;
        let length = match index {
            FROM_DRIVER => self.transmit_ring,
            _ => RECEIVE_RING,
        };
        let mut queue = Queue::new(length).map_err(wrong)?;
        queue.try_set_size(size).map_err(wrong)?;
        let address = vm_memory::GuestAddress;
        queue
            .try_set_desc_table_address(address(info.desc_addr))
            .map_err(wrong)?;
        queue
            .try_set_avail_ring_address(address(info.driver_addr))
            .map_err(wrong)?;
        queue
            .try_set_used_ring_address(address(info.device_addr))
            .map_err(wrong)?;
        queue.set_next_avail(info.avail_index);
        queue.set_next_used(info.avail_index);
        queue.set_ready(info.ready != 0);
        if index == FROM_DRIVER {
            let kick = VqEventfd {
                index: info.index,
                fd: self.kicks.as_raw_fd(),
            };
            // SAFETY: the structure is the one the call reads; the kernel keeps a
            // reference of its own to the event.
            unsafe { abi::vq_setup_kickfd(self.file.as_raw_fd(), &kick) }
                .map_err(|errno| self.failed("be told of frames", errno.into()))?;
        }
        Ok(queue)
    }

    /// Takes the driver's next frame, which replaces what is in `frame`; `None`
    /// if there is none.
    pub fn take(&mut self, frame: &mut Vec<u8>) -> Result<Option<Taken>> {
        // An empty read is fine: notifications are cleared before frames are looked for, never
        // after.
        let _ = self.kicks.read();
        let Some((memory, buffer)) = self.next(FROM_DRIVER)? else {
            return Ok(None);
        };
        let head = buffer.head_index();
        match ring::read(&memory, buffer, frame) {
            Ok(()) => Ok(Some(Taken(head))),
            Err(error) => Err(self.blame(error)),
        }
    }

    /// Returns a frame to the driver as sent or dropped. The driver may then put the next one
    /// into its queue.
    pub fn finish(&mut self, taken: Taken) -> Result<()> {
        self.give_back(FROM_DRIVER, taken.0, 0)
    }

    /// Passes a frame to the driver as received; false if the frame is lost because the driver
    /// has no buffer for it, or does not work.
    pub fn deliver(&mut self, frame: &[u8]) -> Result<bool> {
        let Some((memory, buffer)) = self.next(TO_DRIVER)? else {
            return Ok(false);
        };
        let head = buffer.head_index();
        // The driver drops a buffer without content.
        let bytes = ring::write(&memory, buffer, frame).map_err(|e| self.blame(e))?;
        self.give_back(TO_DRIVER, head, bytes)?;
        Ok(bytes != 0)
    }

    /// The next buffer in a queue of the driver, and its memory.
    fn next(&mut self, index: usize) -> Result<Option<(Arc<GuestMemoryMmap>, Chain)>> {
        let mut is_new = false;
        loop {
            let Some(Running { memory, rings }) = &mut self.running else {
                return Ok(None);
            };
            match rings[index].next(memory) {
                Ok(Next::Buffer(chain)) => return Ok(Some((Arc::clone(memory), chain))),
                Ok(Next::Empty) => return Ok(None),
                Ok(Next::OutOfReach) if is_new => {
                    return Err(self.blame("it put a frame where there is no memory"));
                }
                // The region through which frames are copied appears with the first frame,
                // without a notice from the kernel.
                Ok(Next::OutOfReach) => self.remap()?,
                Err(error) => return Err(self.blame(error)),
            }
            is_new = true;
        }
    }

    fn give_back(&mut self, index: usize, head: u16, bytes: u32) -> Result<()> {
        let Some(Running { memory, rings }) = &mut self.running else {
            // The driver is gone, and with it the buffer's queue.
            return Ok(());
        };
        if let Err(error) = rings[index].give_back(memory, head, bytes) {
            return Err(self.blame(error));
        }
        self.interrupt(index)
    }

    fn interrupt(&self, queue: usize) -> Result<()> {
        // SAFETY: the call reads the number.
        unsafe { abi::vq_inject_irq(self.file.as_raw_fd(), &(queue as u32)) }
            .map(drop)
            .map_err(|errno| self.failed("interrupt the driver", errno.into()))
    }

    fn failed(&self, action: &'static str, source: io::Error) -> Error {
        Error::Device {
            action,
            device: self.name.clone(),
            source,
        }
    }

    fn blame(&self, what: impl ToString) -> Error {
        Error::Driver {
            device: self.name.clone(),
            what: what.to_string(),
        }
    }
}
