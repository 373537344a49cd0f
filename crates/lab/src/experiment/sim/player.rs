//! Sends a schedule from one thread, and reads arrivals in the pauses.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use nix::sys::prctl;
use takt_sim::Setup;

use super::delivery::Delivery;
use super::schedule::Due;
use super::start;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::pair::{A, B, RECEIVER, SENDER};
use crate::experiment::sink::{Reader, listen};
use crate::experiment::source::{HEADER_BYTES, MARK_BYTES, Mark, pace, queued_bytes, widen};
use crate::experiment::traffic::receive_clock_ns;

/// Reading arrivals takes less than this.
const PAUSE_NS: u64 = 300_000;
/// More than any case has in its queues.
const SEND_BUFFER_BYTES: usize = 64 << 20;
const ETHERNET_BYTES: u32 = 14;
/// A queue that does not shrink for this long is stuck.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(30);

/// Plays it through the pair, from this moment on.
pub fn play(setup: &Setup, schedule: &[Due], begin_ns: u64) -> Result<Vec<Delivery>> {
    prctl::set_timerslack(1).doing("ask for exact timers")?;
    let senders = senders(setup, schedule)?;
    let receivers = receivers(setup, schedule)?;
    let mut reader = Reader::new();
    let mut deliveries: Vec<Delivery> = Vec::with_capacity(schedule.len());
    let mut read = |deliveries: &mut Vec<Delivery>| {
        for socket in &receivers {
            let mut note = |mark: Mark, at_ns: u64| {
                if let Some(one) = deliveries.get_mut(mark.sequence as usize) {
                    one.arrived_ns = Some(at_ns.saturating_sub(begin_ns));
                }
            };
            while reader.read(socket, &mut note)? {}
        }
        Ok::<(), ExperimentError>(())
    };
    let longest = schedule.iter().map(|due| due.bytes).max().unwrap_or(0);
    let mut payload = vec![0; longest as usize];
    for (due, sequence) in schedule.iter().zip(0..) {
        let at_ns = begin_ns + due.at_ns;
        if receive_clock_ns()? + PAUSE_NS < at_ns {
            read(&mut deliveries)?;
        }
        start::sleep_until(at_ns)?;
        let mark = Mark {
            flow: due.flow,
            sequence,
        };
        payload[..MARK_BYTES].copy_from_slice(&mark.to_bytes());
        let sent_ns = receive_clock_ns()? - begin_ns;
        let bytes = due.bytes - ETHERNET_BYTES - HEADER_BYTES;
        let socket = &senders[&due.flow];
        socket
            .send(&payload[..bytes as usize])
            .doing("send a packet")?;
        deliveries.push(Delivery {
            flow: due.flow,
            bytes: due.bytes,
            sent_ns,
            arrived_ns: None,
        });
    }
    drain(&senders)?;
    read(&mut deliveries)?;
    Ok(deliveries)
}

/// A connected socket for each flow, with the rate that the simulator's has.
fn senders(setup: &Setup, schedule: &[Due]) -> Result<BTreeMap<u32, UdpSocket>> {
    let mut flows: Vec<u32> = schedule.iter().map(|due| due.flow).collect();
    flows.sort_unstable();
    flows.dedup();
    A.run(|| {
        flows
            .into_iter()
            .map(|at| {
                let flow = &setup.flows[at as usize];
                let socket = UdpSocket::bind((SENDER, 0)).doing("bind a sending socket")?;
                socket
                    .connect((RECEIVER, flow.key.dst_port))
                    .doing("connect a sending socket")?;
                widen(&socket, SEND_BUFFER_BYTES)?;
                if flow.pacing_bps > 0 {
                    pace(&socket, flow.pacing_bps / 8)?;
                }
                Ok((at, socket))
            })
            .collect()
    })
}

/// A socket for each port.
fn receivers(setup: &Setup, schedule: &[Due]) -> Result<Vec<UdpSocket>> {
    let port = |due: &Due| setup.flows[due.flow as usize].key.dst_port;
    let mut ports: Vec<u16> = schedule.iter().map(port).collect();
    ports.sort_unstable();
    ports.dedup();
    B.run(|| ports.into_iter().map(listen).collect())
}

fn drain(senders: &BTreeMap<u32, UdpSocket>) -> Result<()> {
    let started = Instant::now();
    loop {
        let queued = senders.values().map(queued_bytes);
        let queued_bytes: u64 = queued.sum::<Result<u64>>()?;
        if queued_bytes == 0 {
            return Ok(());
        }
        if started.elapsed() > DRAIN_TIME_MAX {
            return Err(ExperimentError::Stuck {
                queued_bytes,
                waited_s: DRAIN_TIME_MAX.as_secs(),
            });
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
