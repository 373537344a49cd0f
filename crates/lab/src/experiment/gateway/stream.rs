//! Bulk TCP flows between hosts and servers: as much as they can.

use std::io::{ErrorKind, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, setsockopt, sockopt};

use super::network::{Host, INTERNET};
use crate::experiment::error::{Result, WhileDoing};

const PORT: u16 = 5001;
/// Written, and taken, at once.
pub const PIECE_BYTES: usize = 256 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    Up,
    Down,
}

pub struct Stream {
    pub direction: Direction,
    sender: TcpStream,
    receiver: TcpStream,
    /// So far.
    pub received_bytes: u64,
}

impl Stream {
    /// The host connects, in either direction of the traffic.
    pub fn open(direction: Direction, from: Host, to: IpAddr) -> Result<Self> {
        let listener =
            INTERNET.run(|| TcpListener::bind((to, PORT)).doing("listen for a bulk flow"))?;
        let host = from
            .namespace
            .run(|| TcpStream::connect((to, PORT)).doing("connect a bulk flow"))?;
        let (server, _) = listener.accept().doing("accept a bulk flow")?;
        for socket in [&host, &server] {
            socket
                .set_nonblocking(true)
                .doing("make a bulk flow non-blocking")?;
            // Closed, it is gone, with all that it still had to send.
            let at_once = libc::linger {
                l_onoff: 1,
                l_linger: 0,
            };
            setsockopt(socket, sockopt::Linger, &at_once).doing("set SO_LINGER")?;
        }
        let (sender, receiver) = match direction {
            Direction::Up => (host, server),
            Direction::Down => (server, host),
        };
        Ok(Self {
            direction,
            sender,
            receiver,
            received_bytes: 0,
        })
    }

    pub fn sender(&self) -> &TcpStream {
        &self.sender
    }

    pub fn receiver(&self) -> &TcpStream {
        &self.receiver
    }

    /// Fills what room there is.
    pub fn write(&mut self, piece: &[u8]) -> Result<()> {
        match self.sender.write(piece) {
            Ok(_) => Ok(()),
            Err(e) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&e.kind()) => Ok(()),
            Err(error) => Err(error).doing("send a bulk flow"),
        }
    }

    /// Takes what has arrived, without a look at it.
    pub fn read(&mut self, piece: &mut [u8]) -> Result<()> {
        match recv(self.receiver.as_raw_fd(), piece, MsgFlags::MSG_TRUNC) {
            Ok(bytes) => {
                self.received_bytes += bytes as u64;
                Ok(())
            }
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno).doing("receive a bulk flow"),
        }
    }
}
