//! A packet socket on one device, and the signals that end a recording.

use std::{
    io::{self, IoSliceMut},
    os::fd::{AsFd, AsRawFd},
    time::Duration,
};

use nix::{
    cmsg_space,
    errno::Errno,
    libc,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
        socket::{
            AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol,
            SockType, SockaddrLike, bind, recvmsg, setsockopt, socket, sockopt,
        },
        time::TimeSpec,
    },
};

use super::{RecordError, device};

/// Headers of a packet are not longer.
const CAPTURED_BYTES: usize = 256;
/// Waiting packets: a tenth of a second at a gigabit.
const BUFFER_BYTES: usize = 16 << 20;
/// The loopback device has the same headers.
const WITH_ETHERNET: [u16; 2] = [libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK];

/// What came next.
pub(super) enum Event<'a> {
    Packet {
        /// By the host's clock.
        at_ns: u64,
        /// Of the whole frame.
        bytes: u32,
        captured: &'a [u8],
    },
    /// Nothing, and the time is over.
    Nothing,
    /// SIGINT or SIGTERM.
    Signal,
    /// The device is down or was removed.
    Gone,
}

/// The packets of a device.
pub(super) struct Packets {
    socket: std::os::fd::OwnedFd,
    signals: SignalFd,
    incoming: bool,
    mtu_bytes: u32,
    missed: u32,
    buffer: [u8; CAPTURED_BYTES],
}

impl Packets {
    pub fn open(device: &str, incoming: bool) -> Result<Self, RecordError> {
        let unknown = || RecordError::NoDevice(device.to_owned());
        let found = device::find(device).ok_or_else(unknown)?;
        if !WITH_ETHERNET.contains(&found.hardware) {
            return Err(RecordError::NotEthernet(device.to_owned()));
        }
        let mut ends = SigSet::empty();
        ends.add(Signal::SIGINT);
        ends.add(Signal::SIGTERM);
        ends.thread_block().map_err(io::Error::from)?;
        let signals = SignalFd::with_flags(&ends, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK);
        Ok(Self {
            socket: listen(found.index)?,
            signals: signals.map_err(io::Error::from)?,
            incoming,
            mtu_bytes: found.mtu_bytes,
            missed: 0,
            buffer: [0; CAPTURED_BYTES],
        })
    }

    /// The longest packet that the device sends.
    pub fn mtu_bytes(&self) -> u32 {
        self.mtu_bytes
    }

    /// Packets that found no room in the socket's buffer.
    pub fn missed(&self) -> u64 {
        self.missed.into()
    }

    /// The next event within this time.
    pub fn next(&mut self, within: Duration) -> Result<Event<'_>, RecordError> {
        let ends = std::time::Instant::now() + within;
        loop {
            let left = ends.saturating_duration_since(std::time::Instant::now());
            if self.is_signalled()? {
                return Ok(Event::Signal);
            }
            if left.is_zero() {
                return Ok(Event::Nothing);
            }
            match self.receive() {
                Ok(Some((at_ns, bytes))) => {
                    let captured = &self.buffer[..CAPTURED_BYTES.min(bytes as usize)];
                    return Ok(Event::Packet {
                        at_ns,
                        bytes,
                        captured,
                    });
                }
                Ok(None) => {}
                Err(Errno::EAGAIN) => self.wait(left)?,
                Err(Errno::EINTR) => {}
                Err(Errno::ENETDOWN | Errno::ENXIO | Errno::ENODEV) => return Ok(Event::Gone),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }

    fn is_signalled(&mut self) -> Result<bool, RecordError> {
        let read = self.signals.read_signal().map_err(io::Error::from)?;
        Ok(read.is_some())
    }

    fn wait(&self, left: Duration) -> Result<(), RecordError> {
        let mut ready = [
            PollFd::new(self.socket.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        // A millisecond more, so that the time is over then.
        let ms = u16::try_from(left.as_millis() + 1).unwrap_or(u16::MAX);
        match poll(&mut ready, PollTimeout::from(ms)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    /// A packet's time and length, if it goes the way that is recorded.
    fn receive(&mut self) -> Result<Option<(u64, u32)>, Errno> {
        let mut parts = [IoSliceMut::new(&mut self.buffer)];
        let mut space = cmsg_space!(TimeSpec, u32);
        let flags = MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT;
        let received =
            recvmsg::<LinkAddr>(self.socket.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
        let mut at_ns = 0;
        for message in received.cmsgs()? {
            match message {
                ControlMessageOwned::ScmTimestampns(time) => {
                    let seconds = u64::try_from(time.tv_sec()).unwrap_or_default();
                    at_ns = seconds * 1_000_000_000 + time.tv_nsec() as u64;
                }
                ControlMessageOwned::RxqOvfl(missed) => self.missed = missed,
                _ => {}
            }
        }
        let leaves = received
            .address
            .is_some_and(|from| from.pkttype() == libc::PACKET_OUTGOING);
        let bytes = u32::try_from(received.bytes).unwrap_or(u32::MAX);
        Ok((leaves != self.incoming).then_some((at_ns, bytes)))
    }
}

/// A socket for all packets of this device.
fn listen(index: u32) -> Result<std::os::fd::OwnedFd, RecordError> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    // Without a protocol it receives nothing before it is bound to the device.
    let opened = socket(
        AddressFamily::Packet,
        SockType::Raw,
        flags,
        None::<SockProtocol>,
    );
    let socket = opened.map_err(|error| match error {
        Errno::EPERM | Errno::EACCES => RecordError::NotAllowed,
        error => io::Error::from(error).into(),
    })?;
    let set = || -> Result<(), Errno> {
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(&socket, sockopt::RxqOvfl, &1)?;
        // Without CAP_NET_ADMIN it is what the host allows.
        setsockopt(&socket, sockopt::RcvBufForce, &BUFFER_BYTES)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &BUFFER_BYTES))?;
        bind(socket.as_raw_fd(), &address(index)?)
    };
    set().map_err(io::Error::from)?;
    Ok(socket)
}

/// All protocols of this device.
fn address(index: u32) -> Result<LinkAddr, Errno> {
    let raw = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: i32::try_from(index).map_err(|_| Errno::EINVAL)?,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = size_of_val(&raw) as libc::socklen_t;
    // SAFETY: the address and its length belong together, and its family says what it is.
    let address = unsafe { LinkAddr::from_raw((&raw const raw).cast(), Some(length)) };
    address.ok_or(Errno::EINVAL)
}
