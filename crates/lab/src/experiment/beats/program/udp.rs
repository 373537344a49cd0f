//! Both ends of the network load.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use crate::experiment::beats::clock::{now_ns, sleep_until};
use crate::experiment::beats::script::{Record, Window};
use crate::experiment::error::{Result, WhileDoing};

/// The largest payload that fits a frame.
pub const PAYLOAD_BYTES: usize = 1_472;
/// How often a receiver without packets reads the clock.
const PATIENCE: Duration = Duration::from_millis(50);

/// Sends at an even pace, or without pause, until the window's end; to each address in turn.
pub fn send(
    to: &[Ipv4Addr],
    port: u16,
    rate_bytes_per_s: Option<u64>,
    window: Window,
) -> Result<Record> {
    let connected = |to: &Ipv4Addr| {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).doing("open a socket")?;
        socket.connect((*to, port)).doing("connect a socket")?;
        Ok(socket)
    };
    let sockets = to.iter().map(connected).collect::<Result<Vec<_>>>()?;
    let payload = [0; PAYLOAD_BYTES];
    let interval_ns = rate_bytes_per_s.map(|rate| PAYLOAD_BYTES as u64 * 1_000_000_000 / rate);
    let mut due_ns = now_ns();
    let mut done = 0;
    for socket in sockets.iter().cycle() {
        if now_ns() >= window.end_ns {
            break;
        }
        match socket.send(&payload) {
            Ok(bytes) if window.contains(now_ns()) => done += bytes as u64,
            // Until the receiver has opened its port, its end answers with ICMP errors.
            Err(error) if error.kind() != ErrorKind::ConnectionRefused => {
                return Err(error).doing("send a datagram");
            }
            _ => {}
        }
        if let Some(interval_ns) = interval_ns {
            due_ns += interval_ns;
            sleep_until(due_ns);
        }
    }
    Ok(Record {
        done,
        ..Record::default()
    })
}

pub fn receive(port: u16, window: Window) -> Result<Record> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).doing("open a socket")?;
    socket
        .set_read_timeout(Some(PATIENCE))
        .doing("limit how long a receiver waits")?;
    let mut buffer = [0; PAYLOAD_BYTES];
    let mut done = 0;
    while now_ns() < window.end_ns {
        match socket.recv(&mut buffer) {
            Ok(bytes) if window.contains(now_ns()) => done += bytes as u64,
            Err(error) if error.kind() != ErrorKind::WouldBlock => {
                return Err(error).doing("receive a datagram");
            }
            _ => {}
        }
    }
    Ok(Record {
        done,
        ..Record::default()
    })
}
