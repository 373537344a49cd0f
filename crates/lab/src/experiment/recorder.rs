//! Everything that comes out of the cable, in order: a packet socket in `b` that records each
//! frame's length and destination.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::sys::socket::{setsockopt, sockopt};

use super::error::{Result, WhileDoing};
use super::pair::{B, PEER_DEVICE};
use super::shape::ETHERNET_HEADER_BYTES;

const BATCH: usize = 64;
/// Up to the end of the ports of an IPv4 packet without options.
const HEADERS_BYTES: usize = ETHERNET_HEADER_BYTES as usize + 20 + 4;
/// Far more than arrives between two reads.
const RECEIVE_BUFFER_BYTES: usize = 64 << 20;

/// A frame on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// By the kernel's count: with the header, without the check sequence.
    pub bytes: u32,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A UDP datagram to this port.
    Datagram {
        dst_port: u16,
    },
    /// 802.3x PAUSE.
    Pause,
    Other,
}

pub struct Recorder {
    fd: OwnedFd,
    frames: Vec<Frame>,
}

impl Recorder {
    /// Records from now on.
    pub fn start() -> Result<Self> {
        let fd = B.run(|| open().doing("open a packet socket"))?;
        setsockopt(&fd, sockopt::RcvBufForce, &RECEIVE_BUFFER_BYTES).doing("set SO_RCVBUFFORCE")?;
        Ok(Self {
            fd,
            frames: Vec::new(),
        })
    }

    /// Takes what has arrived since the last read.
    pub fn look(&mut self) -> Result<()> {
        let mut headers = [[0u8; HEADERS_BYTES]; BATCH];
        let mut parts = headers.each_mut().map(|header| libc::iovec {
            iov_base: header.as_mut_ptr().cast(),
            iov_len: HEADERS_BYTES,
        });
        // SAFETY: zeroes are a valid mmsghdr.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        for (message, part) in messages.iter_mut().zip(&mut parts) {
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        loop {
            // MSG_TRUNC: returns the whole length of a truncated datagram.
            // SAFETY: the given number of messages, each of one part that lives here.
            let count = unsafe {
                libc::recvmmsg(
                    self.fd.as_raw_fd(),
                    messages.as_mut_ptr(),
                    BATCH as u32,
                    libc::MSG_DONTWAIT | libc::MSG_TRUNC,
                    std::ptr::null_mut(),
                )
            };
            if count < 0 {
                let error = io::Error::last_os_error();
                return match error.kind() {
                    io::ErrorKind::WouldBlock => Ok(()),
                    io::ErrorKind::Interrupted => continue,
                    _ => Err(error).doing("read recorded frames"),
                };
            }
            // SAFETY: the kernel has written these headers, and they are not borrowed
            // elsewhere.
            // borrows them.
            let headers: &[[u8; HEADERS_BYTES]] =
                unsafe { std::slice::from_raw_parts((&raw const headers).cast(), BATCH) };
            for (header, message) in headers.iter().zip(&messages[..count as usize]) {
                self.frames.push(Frame {
                    bytes: message.msg_len,
                    kind: kind(header),
                });
            }
        }
    }

    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }
}

fn open() -> io::Result<OwnedFd> {
    let everything = (libc::ETH_P_ALL as u16).to_be();
    // SAFETY: plain system calls on memory that lives here.
    unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = OwnedFd::from_raw_fd(fd);
        let yes: libc::c_int = 1;
        let set = libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_IGNORE_OUTGOING,
            (&raw const yes).cast(),
            size_of_val(&yes) as libc::socklen_t,
        );
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = everything;
        let name = std::ffi::CString::new(PEER_DEVICE)?;
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        let bound = libc::bind(
            fd.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        );
        if set != 0 || bound != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(fd)
    }
}

fn kind(header: &[u8; HEADERS_BYTES]) -> Kind {
    const ETHERTYPE: usize = 12;
    const PROTOCOL: usize = ETHERNET_HEADER_BYTES as usize + 9;
    const DST_PORT: usize = ETHERNET_HEADER_BYTES as usize + 20 + 2;
    const UDP: u8 = 17;
    match [header[ETHERTYPE], header[ETHERTYPE + 1]] {
        [0x88, 0x08] => Kind::Pause,
        [0x08, 0x00] if header[PROTOCOL] == UDP => Kind::Datagram {
            dst_port: u16::from_be_bytes([header[DST_PORT], header[DST_PORT + 1]]),
        },
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_told_apart() {
        let mut header = [0; HEADERS_BYTES];
        assert_eq!(kind(&header), Kind::Other);
        header[12..14].copy_from_slice(&[0x88, 0x08]);
        assert_eq!(kind(&header), Kind::Pause);
        header[12..14].copy_from_slice(&[0x08, 0x00]);
        header[23] = 17;
        header[36..38].copy_from_slice(&10_001u16.to_be_bytes());
        assert_eq!(kind(&header), Kind::Datagram { dst_port: 10_001 });
    }
}
