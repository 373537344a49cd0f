//! A UDP socket for each flow that always has packets queued.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use nix::sys::socket::{SetSockOpt, setsockopt, sockopt};

use super::error::{Result, WhileDoing};
use super::pair::{A, RECEIVER, SENDER};
use super::setup::SocketOptions;
use super::shape::Shape;

nix::setsockopt_impl!(
    MaxPacingRate,
    libc::SOL_SOCKET,
    libc::SO_MAX_PACING_RATE,
    u64,
    sockopt::SetStruct<u64>
);

#[derive(Clone, Copy, Debug)]
struct MaxPacingRate;

/// IP and UDP headers.
pub const HEADER_BYTES: u32 = 20 + 8;
/// Every payload starts with its [`Mark`].
pub const MARK_BYTES: usize = 8;
/// `SO_MAX_PACING_RATE` for no limit.
const UNPACED: u64 = u64::MAX;

/// A packet's flow within its class, and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub flow: u32,
    pub sequence: u32,
}

impl Mark {
    pub fn to_bytes(self) -> [u8; MARK_BYTES] {
        (u64::from(self.flow) << 32 | u64::from(self.sequence)).to_be_bytes()
    }

    pub fn from_bytes(bytes: [u8; MARK_BYTES]) -> Self {
        let both = u64::from_be_bytes(bytes);
        Self {
            flow: (both >> 32) as u32,
            sequence: both as u32,
        }
    }
}

pub struct Source {
    socket: UdpSocket,
    next: Mark,
}

/// The result of one call of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    One,
    /// The socket's buffer is full: the flow is backlogged.
    Full,
}

impl Source {
    /// A connected socket for each flow of `shape`, in `a`. It is writable while fewer than
    /// `backlog` packets wait: the flow stays backlogged, and the scheduler never has to drop
    /// one.
    pub fn open(shape: &Shape, backlog: u32) -> Result<Vec<Self>> {
        Self::open_to(shape, backlog, |_| RECEIVER.to_owned())
    }

    /// As [`open`](Self::open), each flow of a class to the receiver that has its number.
    pub fn open_to(
        shape: &Shape,
        backlog: u32,
        receiver: impl Fn(u32) -> String + Sync,
    ) -> Result<Vec<Self>> {
        A.run(|| {
            shape
                .sockets()
                .map(|(class, flow)| {
                    let socket = UdpSocket::bind((SENDER, 0)).doing("bind a sending socket")?;
                    socket
                        .connect((receiver(flow).as_str(), class.dst_port))
                        .doing("connect a sending socket")?;
                    socket
                        .set_nonblocking(true)
                        .doing("make a sending socket non-blocking")?;
                    let source = Self {
                        socket,
                        next: Mark { flow, sequence: 0 },
                    };
                    source.keep_waiting(backlog, shape.packet_bytes)?;
                    Ok(source)
                })
                .collect()
        })
    }

    /// From now on, it keeps this many packets queued.
    pub fn keep_waiting(&self, backlog: u32, packet_bytes: u32) -> Result<()> {
        let buffer_bytes = backlog as usize * charged_bytes(packet_bytes);
        // The kernel doubles the given value, and a socket is writable while less than half of
        // that is used.
        widen(&self.socket, buffer_bytes)
    }

    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// As [`configure`].
    pub fn configure(&self, options: &SocketOptions) -> Result<()> {
        configure(&self.socket, options)
    }

    pub fn send(&mut self, payload: &mut [u8]) -> Result<Sent> {
        payload[..MARK_BYTES].copy_from_slice(&self.next.to_bytes());
        match self.socket.send(payload) {
            Ok(_) => {
                self.next.sequence += 1;
                Ok(Sent::One)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Sent::Full),
            Err(error) => Err(error).doing("send a packet"),
        }
    }

    pub fn sent(&self) -> u64 {
        u64::from(self.next.sequence)
    }

    /// Bytes of this socket that have not yet left the scheduler.
    pub fn queued_bytes(&self) -> Result<u64> {
        queued_bytes(&self.socket)
    }
}

/// Sets the options of the next scheduler, and clears those of the last.
pub fn configure(socket: &UdpSocket, options: &SocketOptions) -> Result<()> {
    // The classids in use are far below 2³¹.
    setsockopt(socket, sockopt::Priority, &(options.priority as i32)).doing("set SO_PRIORITY")?;
    pace(socket, options.pacing_bytes_per_s.unwrap_or(UNPACED))
}

/// Sets a socket's send buffer.
pub fn widen(socket: &UdpSocket, bytes: usize) -> Result<()> {
    setsockopt(socket, sockopt::SndBufForce, &bytes).doing("set SO_SNDBUFFORCE")
}

/// Has fq pace a socket.
pub fn pace(socket: &impl AsFd, bytes_per_s: u64) -> Result<()> {
    MaxPacingRate
        .set(socket, &bytes_per_s)
        .doing("set SO_MAX_PACING_RATE")
}

pub fn payload(packet_bytes: u32) -> Vec<u8> {
    vec![0; (packet_bytes - HEADER_BYTES) as usize]
}

/// What the kernel charges a socket for a packet: its allocation and the socket buffer's own
/// structures.
fn charged_bytes(packet_bytes: u32) -> usize {
    const STRUCTURES: usize = 512;
    (packet_bytes as usize + STRUCTURES).next_power_of_two() + STRUCTURES
}

/// Bytes of a socket that have not yet left the scheduler.
pub fn queued_bytes(socket: &UdpSocket) -> Result<u64> {
    use std::os::fd::AsRawFd;
    nix::ioctl_read_bad!(outq, libc::TIOCOUTQ, libc::c_int);
    let mut bytes = 0;
    // SAFETY: the descriptor is open and TIOCOUTQ writes one int.
    unsafe { outq(socket.as_raw_fd(), &mut bytes) }.doing("ask how much is queued")?;
    Ok(bytes.max(0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_the_wire() {
        let mark = Mark {
            flow: 9_999,
            sequence: u32::MAX,
        };
        assert_eq!(Mark::from_bytes(mark.to_bytes()), mark);
    }
}
