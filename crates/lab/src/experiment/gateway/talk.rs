//! Datagrams at a steady pace, from a host to a server and back: a ping, a call, a game, a flood.
//! The delay of each way is known exactly, since all namespaces have one clock.

use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::timerfd::TimerFd;
use takt_report::nearest_rank;

use super::network::{Host, INTERNET};
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::metronome;
use crate::experiment::sink::Reader;
use crate::experiment::source::{HEADER_BYTES, MARK_BYTES, Mark};
use crate::experiment::traffic::receive_clock_ns;

const PORT: u16 = 7000;
/// Far more than arrives between two reads.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;
/// The host's first datagram, which opens its way back through the gateway, has arrived by then.
const OPENING_MAX: Duration = Duration::from_secs(10);

/// What is sent, both ways at the same pace. A way of no bytes is silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    pub every: Duration,
    /// IP packets.
    pub up_bytes: u32,
    pub down_bytes: u32,
}

/// One way's packets by number: when each was sent, and how long it took if it arrived.
#[derive(Debug, Default)]
pub struct Record {
    sent_ns: Vec<u64>,
    took_ns: Vec<Option<u64>>,
}

impl Record {
    fn sent(&mut self, at_ns: u64) -> Mark {
        let sequence = self.sent_ns.len() as u32;
        self.sent_ns.push(at_ns);
        self.took_ns.push(None);
        Mark { flow: 0, sequence }
    }

    fn arrived(&mut self, mark: Mark, at_ns: u64) {
        let number = mark.sequence as usize;
        if let (Some(sent_ns), Some(took_ns)) =
            (self.sent_ns.get(number), self.took_ns.get_mut(number))
        {
            *took_ns = Some(at_ns.saturating_sub(*sent_ns));
        }
    }

    /// Those that were sent in between.
    pub fn between(&self, begin_ns: u64, end_ns: u64) -> Delays {
        let both = self.sent_ns.iter().zip(&self.took_ns);
        let within = both.filter(|(sent_ns, _)| (begin_ns..end_ns).contains(sent_ns));
        let (mut sorted_ns, mut lost) = (Vec::new(), 0);
        for (_, took_ns) in within {
            match took_ns {
                Some(took_ns) => sorted_ns.push(*took_ns),
                None => lost += 1,
            }
        }
        sorted_ns.sort_unstable();
        Delays { sorted_ns, lost }
    }
}

/// Of the packets of a while.
#[derive(Debug, PartialEq, Eq)]
pub struct Delays {
    sorted_ns: Vec<u64>,
    pub lost: u64,
}

impl Delays {
    /// By nearest rank; none if nothing arrived.
    pub fn quantile_ns(&self, per_mille: u16) -> Option<u64> {
        nearest_rank(&self.sorted_ns, per_mille)
    }

    pub fn arrived(&self) -> usize {
        self.sorted_ns.len()
    }
}

/// A socket at either end, connected to the other's address as it sees it.
pub struct Talk {
    pattern: Pattern,
    timer: TimerFd,
    host: UdpSocket,
    server: UdpSocket,
    payload: Vec<u8>,
    pub up: Record,
    pub down: Record,
}

impl Talk {
    pub fn open(from: Host, to: IpAddr, pattern: Pattern) -> Result<Self> {
        let server = INTERNET.run(|| listening(to))?;
        let host = from.namespace.run(|| {
            let everywhere = match to {
                IpAddr::V4(_) => "0.0.0.0:0",
                IpAddr::V6(_) => "[::]:0",
            };
            let socket = UdpSocket::bind(everywhere).doing("bind a host's socket")?;
            socket
                .connect((to, PORT))
                .doing("connect a host's socket")?;
            stamped(socket)
        })?;
        host.send(&[0; MARK_BYTES]).doing("open a way back")?;
        server
            .set_read_timeout(Some(OPENING_MAX))
            .doing("limit a server's patience")?;
        let (_, peer) = server
            .recv_from(&mut [0; MARK_BYTES])
            .doing("wait for a host's first datagram")?;
        server.connect(peer).doing("connect a server's socket")?;
        let longest = pattern.up_bytes.max(pattern.down_bytes);
        Ok(Self {
            pattern,
            timer: metronome::ticking(pattern.every)?,
            host,
            server,
            payload: vec![0; payload_bytes(longest)],
            up: Record::default(),
            down: Record::default(),
        })
    }

    /// What wakes it.
    pub fn timer(&self) -> &TimerFd {
        &self.timer
    }

    /// At every tick of the timer.
    pub fn tick(&mut self, reader: &mut Reader) -> Result<()> {
        self.timer.wait().doing("read a timer")?;
        let Pattern {
            up_bytes,
            down_bytes,
            ..
        } = self.pattern;
        send(&self.host, up_bytes, &mut self.up, &mut self.payload)?;
        send(&self.server, down_bytes, &mut self.down, &mut self.payload)?;
        self.read(reader)
    }

    /// Takes what has arrived; the kernel has stamped it.
    pub fn read(&mut self, reader: &mut Reader) -> Result<()> {
        for (socket, record) in [(&self.server, &mut self.up), (&self.host, &mut self.down)] {
            while reader.read(socket, &mut |mark, at_ns| record.arrived(mark, at_ns))? {}
        }
        Ok(())
    }
}

fn listening(address: IpAddr) -> Result<UdpSocket> {
    let socket = UdpSocket::bind((address, PORT)).doing("bind a server's socket")?;
    stamped(socket)
}

fn stamped(socket: UdpSocket) -> Result<UdpSocket> {
    setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER_BYTES).doing("set SO_RCVBUFFORCE")?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true).doing("set SO_TIMESTAMPNS")?;
    Ok(socket)
}

fn send(socket: &UdpSocket, bytes: u32, record: &mut Record, payload: &mut [u8]) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let mark = record.sent(receive_clock_ns()?);
    payload[..MARK_BYTES].copy_from_slice(&mark.to_bytes());
    // One that the kernel refuses, because a queue is full, is lost like any other.
    let _ = socket.send(&payload[..payload_bytes(bytes)]);
    Ok(())
}

/// Of IPv4; there are no calls over IPv6 here.
fn payload_bytes(packet_bytes: u32) -> usize {
    (packet_bytes.saturating_sub(HEADER_BYTES) as usize).max(MARK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_arrive_is_lost_in_its_own_while() {
        let mut record = Record::default();
        let marks: Vec<Mark> = (0..6).map(|at| record.sent(10 * at)).collect();
        for (number, took_ns) in [(0, 7), (1, 5), (3, 9), (4, 8)] {
            record.arrived(marks[number], 10 * number as u64 + took_ns);
        }
        let all = record.between(0, 60);
        assert_eq!((all.arrived(), all.lost), (4, 2));
        assert_eq!(all.quantile_ns(500), Some(7));
        let later = record.between(30, 50);
        assert_eq!((later.arrived(), later.lost), (2, 0));
        assert_eq!(later.quantile_ns(990), Some(9));
        assert_eq!(record.between(60, 90).quantile_ns(500), None);
    }

    #[test]
    fn strangers_are_not_counted() {
        let mut record = Record::default();
        record.arrived(
            Mark {
                flow: 0,
                sequence: 3,
            },
            1,
        );
        assert_eq!(record.between(0, 9).arrived(), 0);
    }
}
