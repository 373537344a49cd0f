//! Datagrams at regular times, to one station.

use std::io::ErrorKind;
use std::net::UdpSocket;

use nix::sys::socket::{setsockopt, sockopt};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::pattern::{Stream, UDP_HEADER_BYTES};
use crate::experiment::beats::{exact_timers, now_ns, sleep_until};
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::record::{PATIENCE, Record, Window};
use crate::experiment::wlan::{SERVER, SERVER_ADDRESS, Station};

const PORT: u16 = 5004;
/// Each begins with its time of sending.
const STAMP_BYTES: usize = 8;
/// A sender has fewer datagrams than this in its own socket.
const BUFFER_BYTES: usize = 4 << 20;

/// Opens the stream's sockets: sender and receiver.
pub fn open(station: Station) -> Result<(UdpSocket, UdpSocket)> {
    let receiver = station
        .namespace()
        .run(|| UdpSocket::bind((station.address(), PORT)).doing("bind a station's socket"))?;
    receiver
        .set_read_timeout(Some(PATIENCE))
        .doing("limit a station's patience")?;
    setsockopt(&receiver, sockopt::RcvBufForce, &BUFFER_BYTES).doing("set SO_RCVBUFFORCE")?;
    let sender = SERVER.run(|| {
        let sender = UdpSocket::bind((SERVER_ADDRESS, 0)).doing("bind the server's socket")?;
        sender
            .connect((station.address(), PORT))
            .doing("connect the server's socket")?;
        Ok(sender)
    })?;
    Ok((sender, receiver))
}

/// Sends until the window is over; returns how many were sent within it.
pub fn send(socket: &UdpSocket, stream: Stream, window: Window, seed: u64) -> Result<u64> {
    exact_timers()?;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let interval_ns = stream.interval.as_nanos() as u64;
    let jitter_ns = stream.jitter.as_nanos() as u64;
    let mut payload = vec![0; stream.payload_bytes];
    // Streams start at different times.
    let mut due_ns = now_ns() + random.random_range(0..interval_ns);
    let mut sent = 0;
    while due_ns < window.end_ns {
        sleep_until(due_ns + random.random_range(0..=2 * jitter_ns));
        let at_ns = now_ns();
        payload[..STAMP_BYTES].copy_from_slice(&at_ns.to_be_bytes());
        socket.send(&payload).doing("send a datagram")?;
        sent += u64::from(window.contains(at_ns));
        due_ns += interval_ns;
    }
    Ok(sent)
}

/// Receives until the window is over and nothing arrives any more.
pub fn receive(socket: &UdpSocket, window: Window) -> Result<Record> {
    let mut record = Record::new(window);
    let mut payload = [0; 2048];
    loop {
        match socket.recv(&mut payload) {
            Ok(bytes) => {
                let at_ns = now_ns();
                record.received(window, at_ns, bytes + UDP_HEADER_BYTES);
                if let Some(stamp) = payload[..bytes].first_chunk() {
                    let sent_ns = u64::from_be_bytes(*stamp);
                    if window.contains(sent_ns) {
                        record.delays_ns.push(at_ns.saturating_sub(sent_ns));
                    }
                }
            }
            Err(e) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&e.kind()) => {
                if window.is_over() {
                    return Ok(record);
                }
            }
            Err(error) => return Err(error).doing("receive a datagram"),
        }
    }
}
