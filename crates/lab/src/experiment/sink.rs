//! A UDP socket for each class that records when its packets arrived.

use std::io::IoSliceMut;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, MultiHeaders, recvmmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;

use super::error::{Result, WhileDoing};
use super::pair::{B, RECEIVER};
use super::shape::{Class, Shape};
use super::source::{MARK_BYTES, Mark};

/// Datagrams taken in one system call.
const BATCH: usize = 64;
/// Far more than arrives between two reads.
const RECEIVE_BUFFER_BYTES: usize = 16 << 20;

pub struct Sink {
    socket: UdpSocket,
    /// One for each flow of the class.
    records: Vec<Record>,
}

/// Everything that arrived of one flow.
#[derive(Debug, Default)]
pub struct Record {
    /// The kernel's receive timestamps, in the order of arrival.
    pub arrivals_ns: Vec<u64>,
    /// Packets that arrived after one that was sent later.
    pub reordered: u64,
    next_sequence: u32,
}

impl Record {
    fn note(&mut self, sequence: u32, at_ns: u64) {
        self.arrivals_ns.push(at_ns);
        if sequence < self.next_sequence {
            self.reordered += 1;
        } else {
            self.next_sequence = sequence + 1;
        }
    }
}

impl Sink {
    /// A bound socket for each class of `shape`, in `b`, with room for the arrivals of
    /// `duration`: growing a record would copy it, and that takes time.
    pub fn open(shape: &Shape, duration: Duration) -> Result<Vec<Self>> {
        B.run(|| {
            shape
                .classes
                .iter()
                .map(|class| {
                    Ok(Self {
                        socket: listen(class.dst_port)?,
                        records: (0..shape.flows_per_class.unwrap_or(1))
                            .map(|_| Record {
                                arrivals_ns: Vec::with_capacity(
                                    2 * expected(shape, class, duration),
                                ),
                                ..Record::default()
                            })
                            .collect(),
                    })
                })
                .collect()
        })
    }

    /// Reads one batch of what has arrived, and says whether there may be more.
    pub fn read(&mut self, reader: &mut Reader) -> Result<bool> {
        let records = &mut self.records;
        reader.read(&self.socket, &mut |mark, at_ns| {
            if let Some(record) = records.get_mut(mark.flow as usize) {
                record.note(mark.sequence, at_ns);
            }
        })
    }

    pub fn into_records(self) -> Vec<Record> {
        self.records
    }
}

/// A socket of the receiver whose packets are stamped. Call it in `b`.
pub fn listen(port: u16) -> Result<UdpSocket> {
    let socket = UdpSocket::bind((RECEIVER, port)).doing("bind a receiving socket")?;
    setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER_BYTES).doing("set SO_RCVBUFFORCE")?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true).doing("set SO_TIMESTAMPNS")?;
    Ok(socket)
}

fn expected(shape: &Shape, class: &Class, duration: Duration) -> usize {
    let bytes = class.rate_bps as f64 / 8.0 * duration.as_secs_f64();
    (bytes / f64::from(shape.frame_bytes())) as usize
}

/// Buffers for one batch. Only a datagram's mark is copied.
pub struct Reader {
    headers: MultiHeaders<()>,
    marks: [[u8; MARK_BYTES]; BATCH],
    stamps: [u64; BATCH],
}

impl Reader {
    pub fn new() -> Self {
        Self {
            headers: MultiHeaders::preallocate(BATCH, Some(cmsg_space!(TimeSpec))),
            marks: [[0; MARK_BYTES]; BATCH],
            stamps: [0; BATCH],
        }
    }

    /// Reads one batch of what has arrived: each datagram's mark, and when. Returns whether there
    /// may be more.
    pub fn read(&mut self, from: &UdpSocket, note: &mut dyn FnMut(Mark, u64)) -> Result<bool> {
        let mut vectors = self.marks.each_mut().map(|mark| [IoSliceMut::new(mark)]);
        let received = match recvmmsg(
            from.as_raw_fd(),
            &mut self.headers,
            vectors.iter_mut(),
            MsgFlags::MSG_DONTWAIT,
            None,
        ) {
            Ok(messages) => {
                let mut count = 0;
                for (at_ns, slot) in messages
                    .map(|message| arrival_ns(&message))
                    .zip(&mut self.stamps)
                {
                    *slot = at_ns;
                    count += 1;
                }
                count
            }
            Err(Errno::EAGAIN | Errno::EINTR) => 0,
            Err(errno) => return Err(errno).doing("read arrivals"),
        };
        for (mark, at_ns) in self.marks.iter().zip(&self.stamps).take(received) {
            note(Mark::from_bytes(*mark), *at_ns);
        }
        Ok(received == BATCH)
    }
}

/// By the kernel's timestamp.
pub fn arrival_ns(message: &nix::sys::socket::RecvMsg<'_, '_, ()>) -> u64 {
    message
        .cmsgs()
        .into_iter()
        .flatten()
        .find_map(|note| match note {
            ControlMessageOwned::ScmTimestampns(at) => {
                Some(at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64)
            }
            _ => None,
        })
        // The kernel stamps every datagram of a socket that asked for it.
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_packets_are_counted_once() {
        let mut record = Record::default();
        for (at_ns, sequence) in [0, 1, 3, 2, 4].into_iter().enumerate() {
            record.note(sequence, at_ns as u64);
        }
        assert_eq!(record.reordered, 1);
        assert_eq!(record.arrivals_ns.len(), 5);
    }
}
