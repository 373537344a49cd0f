//! Packet sockets: recording the frames that come out of a wire, and sending frames of any kind
//! into it.

use std::{
    ffi::CString,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use crate::{flow::in_far_namespace, wire::Wire};

pub const PAUSE: [u8; 2] = [0x88, 0x08];

/// A frame that came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Header included, check sequence not.
    pub bytes: usize,
    /// The first of them.
    pub start: Vec<u8>,
}

impl Frame {
    pub fn ethertype(&self) -> [u8; 2] {
        [self.start[12], self.start[13]]
    }
}

/// Everything that comes out at the far end of a wire, from now on.
pub struct Recorder(OwnedFd);

impl Recorder {
    pub fn new(wire: &Wire) -> Self {
        const ALL: u16 = libc::ETH_P_ALL as u16;
        let socket = in_far_namespace(|| bound(&wire.far, ALL));
        let room: libc::c_int = 64 << 20;
        set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, room);
        set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1);
        Self(socket)
    }

    /// The frames that have come out since the last call.
    pub fn frames(&self) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let mut start = vec![0; 64];
            // SAFETY: the buffer is as long as said.
            let bytes = unsafe {
                libc::recv(
                    self.0.as_raw_fd(),
                    start.as_mut_ptr().cast(),
                    start.len(),
                    libc::MSG_DONTWAIT | libc::MSG_TRUNC,
                )
            };
            match usize::try_from(bytes) {
                Ok(bytes) => frames.push(Frame { bytes, start }),
                Err(_) => return frames,
            }
        }
    }
}

/// Sends a frame of CAN, which has 16 bytes in the kernel.
pub fn send_can(device: &str) {
    const ETH_P_CAN: u16 = 0x000c;
    let socket = bound(device, ETH_P_CAN);
    let mut frame = [0u8; 16];
    // Its identifier and its length.
    (frame[0], frame[4]) = (0x23, 8);
    send(&socket, &frame);
}

/// Sends a frame out of the near end, marked if `mark` is not 0.
pub fn send_frame(wire: &Wire, frame: &[u8], mark: u32) {
    let socket = bound(&wire.near, 0);
    set(
        &socket,
        libc::SOL_SOCKET,
        libc::SO_MARK,
        mark as libc::c_int,
    );
    send(&socket, frame);
}

fn send(socket: &OwnedFd, frame: &[u8]) {
    // SAFETY: the buffer is as long as said.
    let sent = unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
    assert_eq!(sent, frame.len() as isize, "{}", io::Error::last_os_error());
}

fn bound(device: &str, protocol: u16) -> OwnedFd {
    let name = CString::new(device).unwrap();
    // SAFETY: plain system calls on memory that lives here; zeroes are a valid
    // address.
    unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0);
        assert!(fd >= 0, "{}", io::Error::last_os_error());
        let socket = OwnedFd::from_raw_fd(fd);
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        let size = size_of_val(&address) as libc::socklen_t;
        let done = libc::bind(fd, (&raw const address).cast(), size);
        assert_eq!(done, 0, "{}", io::Error::last_os_error());
        socket
    }
}

fn set(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) {
    // SAFETY: the kernel reads one int.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}
