//! The bystander: a datagram now and then, and how long its answer takes.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::network::RECEIVER_ADDRESS;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::namespace::Namespace;

const PORT: u16 = 7;
const INTERVAL: Duration = Duration::from_millis(20);
/// An answer that takes longer is lost.
const PATIENCE: Duration = Duration::from_secs(2);
/// As a ping of 56 bytes.
const BYTES: usize = 64;

/// Answers every datagram until it is dropped.
pub struct Echo {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    pub fn start(namespace: Namespace) -> Result<Self> {
        let socket = namespace.run(|| {
            let socket = UdpSocket::bind(("0.0.0.0", PORT)).doing("answer datagrams")?;
            socket
                .set_read_timeout(Some(INTERVAL))
                .doing("answer datagrams")?;
            Ok(socket)
        })?;
        let done = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&done);
        let thread = std::thread::spawn(move || {
            let mut datagram = [0; BYTES];
            while !ended.load(Ordering::Relaxed) {
                if let Ok((bytes, from)) = socket.recv_from(&mut datagram) {
                    // A lost answer counts as lost.
                    let _ = socket.send_to(&datagram[..bytes], from);
                }
            }
        });
        Ok(Self {
            done,
            thread: Some(thread),
        })
    }

    pub fn address(&self) -> SocketAddr {
        format!("{RECEIVER_ADDRESS}:{PORT}")
            .parse()
            .expect("an address and a port")
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Round trips, shortest first.
pub struct Pings {
    times_ns: Vec<u64>,
    pub lost: usize,
}

impl Pings {
    /// The time that this part of the answered ones took at most; 0 if there are none.
    pub fn percentile_ns(&self, percent: usize) -> u64 {
        let last = self.times_ns.len().saturating_sub(1);
        let at = (self.times_ns.len() * percent).div_ceil(100);
        self.times_ns
            .get(at.saturating_sub(1).min(last))
            .copied()
            .unwrap_or(0)
    }

    pub fn answered(&self) -> usize {
        self.times_ns.len()
    }
}

/// Sends for so long, in this thread's network namespace.
pub fn probe(to: SocketAddr, duration: Duration) -> Result<Pings> {
    let socket = UdpSocket::bind("0.0.0.0:0").doing("send datagrams")?;
    socket.connect(to).doing("send datagrams")?;
    let (mut sent, mut times_ns) = (BTreeMap::new(), Vec::new());
    let started = Instant::now();
    let (mut number, mut due) = (0_u64, started);
    while started.elapsed() < duration + PATIENCE {
        let now = Instant::now();
        if now >= due && started.elapsed() < duration {
            let mut datagram = [0; BYTES];
            datagram[..8].copy_from_slice(&number.to_be_bytes());
            sent.insert(number, Instant::now());
            socket.send(&datagram).doing("send datagrams")?;
            number += 1;
            due += INTERVAL;
        }
        let wait = due
            .saturating_duration_since(now)
            .clamp(Duration::from_micros(100), INTERVAL);
        socket
            .set_read_timeout(Some(wait))
            .doing("wait for answers")?;
        let mut datagram = [0; BYTES];
        if socket.recv(&mut datagram).is_ok_and(|bytes| bytes == BYTES) {
            let mut answered = [0; 8];
            answered.copy_from_slice(&datagram[..8]);
            if let Some(at) = sent.remove(&u64::from_be_bytes(answered)) {
                times_ns.push(at.elapsed().as_nanos() as u64);
            }
        }
    }
    times_ns.sort_unstable();
    Ok(Pings {
        times_ns,
        lost: sent.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_what_was_answered() {
        let pings = Pings {
            times_ns: (1..=200).collect(),
            lost: 3,
        };
        assert_eq!(pings.percentile_ns(50), 100);
        assert_eq!(pings.percentile_ns(99), 198);
        assert_eq!(pings.percentile_ns(100), 200);
        let none = Pings {
            times_ns: Vec::new(),
            lost: 1,
        };
        assert_eq!(none.percentile_ns(99), 0);
    }
}
