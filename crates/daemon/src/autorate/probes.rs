//! Questions to reflectors, through raw sockets on the line's device.

use std::{
    collections::VecDeque,
    io::{self, IoSliceMut},
    net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::socket::{
        AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType,
        SockaddrStorage, recvmsg, sendto, setsockopt, socket, sockopt,
    },
    time::{ClockId, clock_gettime},
};
use takt_autorate::{Answer, OneWay};

use super::icmp::{Kind, Question, REPLIES_V4, REPLY_V6, Stamps, behind_header, sequence_of};

/// Answers that are read at once: more than questions are open.
const READS_MAX: usize = 64;
/// Questions whose answers are known.
const OPEN_MAX: usize = 128;
/// So many questions without an answer: the reflector is asked in the other way.
const SWITCH_AFTER: u32 = 2;
const LEN_MAX: usize = 256;
const NS_PER_MS: i64 = 1_000_000;
const NS_PER_DAY: i64 = 86_400_000 * NS_PER_MS;

/// `struct icmp_filter`, linux/icmp.h.
const ICMP_FILTER: libc::c_int = 1;
/// `struct icmp6_filter`, linux/icmpv6.h.
const ICMPV6_FILTER: libc::c_int = 1;

#[derive(Debug, Clone)]
struct Reflector {
    address: IpAddr,
    /// Asked for time stamps, not for an echo.
    stamps: bool,
    unanswered: u32,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    question: Question,
    reflector: usize,
    sent_ns: u64,
}

/// The sockets of one line.
pub(super) struct Probes {
    v4: Option<OwnedFd>,
    v6: Option<OwnedFd>,
    id: u16,
    sequence: u16,
    reflectors: Vec<Reflector>,
    open: VecDeque<Open>,
}

impl Probes {
    /// Through this device, which is called by its present name.
    pub fn open(device: &str, reflectors: &[IpAddr]) -> io::Result<Self> {
        let any = |is_v4: bool| reflectors.iter().any(|address| address.is_ipv4() == is_v4);
        Ok(Self {
            v4: any(true).then(|| raw_v4(device)).transpose()?,
            v6: any(false).then(|| raw_v6(device)).transpose()?,
            id: super::world::random() as u16,
            sequence: 0,
            reflectors: reflectors
                .iter()
                .map(|address| Reflector {
                    address: *address,
                    stamps: address.is_ipv4(),
                    unanswered: 0,
                })
                .collect(),
            open: VecDeque::new(),
        })
    }

    pub fn ask(&mut self, number: usize, now_ns: u64) -> io::Result<()> {
        let Some(reflector) = self.reflectors.get_mut(number) else {
            return Ok(());
        };
        if reflector.unanswered >= SWITCH_AFTER && reflector.address.is_ipv4() {
            reflector.stamps = !reflector.stamps;
            reflector.unanswered = 0;
        }
        reflector.unanswered += 1;
        let kind = match reflector.address {
            IpAddr::V4(_) if reflector.stamps => Kind::Stamps,
            IpAddr::V4(_) => Kind::EchoV4,
            IpAddr::V6(_) => Kind::EchoV6,
        };
        self.sequence = self.sequence.wrapping_add(1);
        let question = Question {
            kind,
            id: self.id,
            sequence: self.sequence,
            secret: super::world::random(),
        };
        let to = to(reflector.address);
        let socket = match kind {
            Kind::EchoV6 => &self.v6,
            Kind::EchoV4 | Kind::Stamps => &self.v4,
        };
        if self.open.len() >= OPEN_MAX {
            self.open.pop_front();
        }
        self.open.push_back(Open {
            question,
            reflector: number,
            sent_ns: now_ns,
        });
        let Some(socket) = socket else {
            return Ok(());
        };
        let sent = sendto(
            socket.as_raw_fd(),
            &question.bytes(),
            &SockaddrStorage::from(to),
            MsgFlags::MSG_DONTWAIT,
        );
        match sent {
            // No answer will come: that is how a line looks that is down.
            Ok(_) | Err(Errno::ENETUNREACH | Errno::EHOSTUNREACH | Errno::ENETDOWN) => Ok(()),
            Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::EPERM | Errno::EADDRNOTAVAIL) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Those that have come, by a clock on which it is `now_ns`.
    pub fn answers(&mut self, now_ns: u64) -> Vec<Answer> {
        let mut answers = Vec::new();
        for is_v4 in [true, false] {
            for _ in 0..READS_MAX {
                let socket = if is_v4 { &self.v4 } else { &self.v6 };
                let Some(socket) = socket else {
                    break;
                };
                let mut buffer = [0; LEN_MAX];
                let Some((bytes, from, ago_ns)) = receive(socket, &mut buffer) else {
                    break;
                };
                let packet = &buffer[..bytes];
                let message = if is_v4 {
                    behind_header(packet)
                } else {
                    Some(packet)
                };
                let heard_ns = now_ns.saturating_sub(ago_ns);
                answers.extend(message.and_then(|message| self.settle(message, from, heard_ns)));
            }
        }
        answers
    }

    fn settle(&mut self, message: &[u8], from: IpAddr, heard_ns: u64) -> Option<Answer> {
        let sequence = sequence_of(message, self.id)?;
        let mut open = self.open.iter();
        let at = open.position(|open| open.question.sequence == sequence)?;
        let open = self.open[at];
        let reflector = self.reflectors.get_mut(open.reflector)?;
        if reflector.address != from {
            return None;
        }
        let stamps = open.question.is_answered_by(message)?;
        self.open.remove(at);
        reflector.unanswered = 0;
        // The clocks of arrival and of asking are different ones.
        let heard_ns = heard_ns.max(open.sent_ns + 1);
        Some(Answer {
            reflector: open.reflector,
            sent_ns: open.sent_ns,
            heard_ns,
            one_way: stamps.map(|stamps| one_way(&stamps, open.sent_ns, heard_ns)),
        })
    }
}

/// The ways of a packet, by the reflector's time of day and this host's clock, whose difference is
/// anything, and the same all the time.
fn one_way(stamps: &Stamps, sent_ns: u64, heard_ns: u64) -> OneWay {
    let of_day = |ns: u64| (ns % NS_PER_DAY as u64) as i64;
    let theirs = |ms: u32| i64::from(ms) * NS_PER_MS;
    OneWay {
        up_ns: within_a_day(theirs(stamps.received_ms) - of_day(sent_ns)),
        down_ns: within_a_day(of_day(heard_ns) - theirs(stamps.sent_ms)),
    }
}

/// The same time of day, at most half a day from 0.
fn within_a_day(ns: i64) -> i64 {
    (ns + NS_PER_DAY / 2).rem_euclid(NS_PER_DAY) - NS_PER_DAY / 2
}

fn to(address: IpAddr) -> SocketAddr {
    match address {
        IpAddr::V4(v4) => SocketAddrV4::new(v4, 0).into(),
        IpAddr::V6(v6) => SocketAddrV6::new(v6, 0, 0, 0).into(),
    }
}

/// A packet, its sender, and how long ago it came; `None`: there is none.
fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> Option<(usize, IpAddr, u64)> {
    let mut control = nix::cmsg_space!(libc::timespec);
    let mut into = [IoSliceMut::new(buffer)];
    let received = recvmsg::<SockaddrStorage>(
        socket.as_raw_fd(),
        &mut into,
        Some(&mut control),
        MsgFlags::MSG_DONTWAIT,
    )
    .ok()?;
    let stamp = received.cmsgs().ok()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(Duration::from(stamp)),
        _ => None,
    });
    let address = received.address?;
    let v4 = address.as_sockaddr_in().map(|from| IpAddr::V4(from.ip()));
    let from = v4.or_else(|| Some(IpAddr::V6(address.as_sockaddr_in6()?.ip())))?;
    let now = clock_gettime(ClockId::CLOCK_REALTIME).map(Duration::from);
    let ago = now
        .ok()
        .zip(stamp)
        .map(|(now, stamp)| now.saturating_sub(stamp));
    let ago_ns = ago.map_or(0, |ago| u64::try_from(ago.as_nanos()).unwrap_or(u64::MAX));
    Some((received.bytes, from, ago_ns))
}

fn raw_v4(device: &str) -> io::Result<OwnedFd> {
    let socket = raw(AddressFamily::Inet, SockProtocol::Icmp, device)?;
    let heard = REPLIES_V4.iter().fold(0u32, |bits, kind| bits | 1 << kind);
    filter(&socket, libc::SOL_RAW, ICMP_FILTER, &[!heard])?;
    Ok(socket)
}

fn raw_v6(device: &str) -> io::Result<OwnedFd> {
    let socket = raw(AddressFamily::Inet6, SockProtocol::IcmpV6, device)?;
    let mut blocked = [u32::MAX; 8];
    blocked[usize::from(REPLY_V6) / 32] &= !(1 << (REPLY_V6 % 32));
    filter(&socket, libc::IPPROTO_ICMPV6, ICMPV6_FILTER, &blocked)?;
    Ok(socket)
}

fn raw(family: AddressFamily, protocol: SockProtocol, device: &str) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(family, SockType::Raw, flags, protocol)?;
    setsockopt(&socket, sockopt::BindToDevice, &device.into())?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    Ok(socket)
}

/// Hear only some types of messages: a host may get many.
fn filter(
    socket: &OwnedFd,
    level: libc::c_int,
    name: libc::c_int,
    blocked: &[u32],
) -> io::Result<()> {
    // SAFETY: the kernel reads at most this many bytes of a slice that lives.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            blocked.as_ptr().cast(),
            size_of_val(blocked) as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_differences_of_the_time_of_day() {
        let ms = NS_PER_MS;
        assert_eq!(within_a_day(5 * ms), 5 * ms);
        assert_eq!(within_a_day(NS_PER_DAY - ms), -ms);
        assert_eq!(within_a_day(-NS_PER_DAY + ms), ms);
        let stamps = Stamps {
            received_ms: 86_399_999,
            sent_ms: 0,
        };
        // Past midnight, on both clocks.
        let (sent_ns, heard_ns) = ((NS_PER_DAY - 11 * ms) as u64, (NS_PER_DAY + 10 * ms) as u64);
        let way = one_way(&stamps, sent_ns, heard_ns);
        assert_eq!((way.up_ns, way.down_ns), (10 * ms, 10 * ms));
    }
}
