//! TCP connections of the traffic file: each has a thread that writes, and one that reads.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::thread::JoinHandle;
use std::time::Duration;

use takt_policy::traffic::Kind;
use takt_sim::Setup;

use super::start;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::pair::{A, B, RECEIVER};
use crate::experiment::round_trip::RoundTrip;
use crate::experiment::traffic::receive_clock_ns;

const PIECE_BYTES: usize = 64 << 10;
/// Ethernet, IPv4, and TCP with timestamps.
const HEADER_BYTES: u64 = 14 + 20 + 32;

/// Connections that send.
pub struct Transfers {
    readers: Vec<(u32, JoinHandle<Result<u64>>)>,
}

/// What arrived within the window.
#[derive(Debug, Default)]
pub struct Transferred(BTreeMap<u32, u64>);

impl Transferred {
    /// Of a source, as the wire counts.
    pub fn bytes(&self, source: u32) -> u64 {
        self.0.get(&source).copied().unwrap_or(0)
    }
}

/// The round trip of the traffic's first connection; `None` without any.
pub fn round_trip(setup: &Setup) -> Result<Option<RoundTrip>> {
    let rtt = setup
        .traffic
        .sources
        .iter()
        .find_map(|source| match source.kind {
            Kind::Tcp(connection) => Some(connection.rtt_ns),
            _ => None,
        });
    rtt.map(|rtt_ns| RoundTrip::of(Duration::from_nanos(rtt_ns)))
        .transpose()
}

/// Connects, and has all of them send from this moment on and for this long.
pub fn start(setup: &Setup, begin_ns: u64, duration_ns: u64) -> Result<Transfers> {
    let mut readers = Vec::new();
    let window_ns = begin_ns + setup.traffic.measure_after_ns..begin_ns + duration_ns;
    for (flow, &source) in setup.flows.iter().zip(&setup.sources) {
        let of = &setup.traffic.sources[source as usize];
        let Kind::Tcp(_) = of.kind else {
            continue;
        };
        let port = flow.key.dst_port;
        let listener = B.run(|| TcpListener::bind((RECEIVER, port)).doing("bind a listener"))?;
        let sender = A.run(|| TcpStream::connect((RECEIVER, port)).doing("connect"))?;
        let (receiver, _) = listener.accept().doing("accept a connection")?;
        let until_ns = window_ns.end;
        std::thread::spawn(move || write(sender, begin_ns, until_ns));
        let window_ns = window_ns.clone();
        let payload_bytes = u64::from(of.frame_bytes) - HEADER_BYTES;
        let frame_bytes = u64::from(of.frame_bytes);
        let read = move || {
            let payload = read(receiver, &window_ns)?;
            Ok(payload * frame_bytes / payload_bytes)
        };
        readers.push((source, std::thread::spawn(read)));
    }
    Ok(Transfers { readers })
}

impl Transfers {
    pub fn finish(self) -> Result<Transferred> {
        let mut transferred = Transferred::default();
        for (source, reader) in self.readers {
            let bytes = match reader.join() {
                Ok(result) => result?,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            *transferred.0.entry(source).or_default() += bytes;
        }
        Ok(transferred)
    }
}

/// An error here shows as missing bytes at the reader.
fn write(mut to: TcpStream, begin_ns: u64, until_ns: u64) {
    let piece = vec![0; PIECE_BYTES];
    if start::sleep_until(begin_ns).is_err() {
        return;
    }
    while receive_clock_ns().is_ok_and(|now_ns| now_ns < until_ns) && to.write_all(&piece).is_ok() {
    }
}

fn read(mut from: TcpStream, window_ns: &Range<u64>) -> Result<u64> {
    const PATIENCE: Duration = Duration::from_secs(5);
    from.set_read_timeout(Some(PATIENCE))
        .doing("set a timeout")?;
    let mut piece = vec![0; PIECE_BYTES];
    let mut bytes = 0;
    loop {
        let count = match from.read(&mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(count) => count as u64,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(bytes),
            Err(error) => return Err(error).doing("receive"),
        };
        if window_ns.contains(&receive_clock_ns()?) {
            bytes += count;
        }
    }
}
