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
pub const HEADERS_BYTES: usize = ETHERNET_HEADER_BYTES as usize + 20 + 4;
/// Far more than arrives between two reads.
pub const RECEIVE_BUFFER_BYTES: usize = 64 << 20;

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
        let open = || {
            let fd = packet_socket()?;
            ignore_outgoing(&fd)?;
            bind(&fd, PEER_DEVICE)?;
            Ok::<_, io::Error>(fd)
        };
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

/// Hears of nothing before it is bound.
pub fn packet_socket() -> io::Result<OwnedFd> {
    // SAFETY: a plain system call.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and no other code owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn ignore_outgoing(fd: &OwnedFd) -> io::Result<()> {
    let yes: libc::c_int = 1;
    // SAFETY: a plain system call on memory that lives here.
    let set = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_IGNORE_OUTGOING,
            (&raw const yes).cast(),
            size_of_val(&yes) as libc::socklen_t,
        )
    };
    match set {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// From now on it hears of every frame of the device, which is in the caller's namespace.
pub fn bind(fd: &OwnedFd, device: &str) -> io::Result<()> {
    let everything = (libc::ETH_P_ALL as u16).to_be();
    let name = std::ffi::CString::new(device)?;
    // SAFETY: plain system calls on memory that lives here.
    let bound = unsafe {
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = everything;
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        libc::bind(
            fd.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    };
    match bound {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

const ETHERTYPE: usize = 12;
const PROTOCOL: usize = ETHERNET_HEADER_BYTES as usize + 9;
const SRC_PORT: usize = ETHERNET_HEADER_BYTES as usize + 20;
const DST_PORT: usize = SRC_PORT + 2;
const IPV4: [u8; 2] = [0x08, 0x00];
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];
const TCP: u8 = 6;
const UDP: u8 = 17;

fn kind(header: &[u8; HEADERS_BYTES]) -> Kind {
    match ports(header) {
        _ if header[ETHERTYPE..][..2] == MAC_CONTROL => Kind::Pause,
        Some((_, dst_port)) if header[PROTOCOL] == UDP => Kind::Datagram { dst_port },
        _ => Kind::Other,
    }
}

/// The source's and the destination's, of TCP or UDP over IPv4.
pub fn ports(header: &[u8; HEADERS_BYTES]) -> Option<(u16, u16)> {
    let has_ports = header[ETHERTYPE..][..2] == IPV4 && [TCP, UDP].contains(&header[PROTOCOL]);
    let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    has_ports.then(|| (port(SRC_PORT), port(DST_PORT)))
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
        header[23] = 6;
        assert_eq!(kind(&header), Kind::Other);
        assert_eq!(ports(&header), Some((0, 10_001)));
    }
}
