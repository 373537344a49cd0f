//! How much processor time does incoming background traffic take from a task that computes?
//!
//! Datagrams arrive at an even pace for a receiver of nice 19 while a task of ordinary
//! importance computes. The server that sends them has the lab's only processor too, with the
//! highest priority: its work, and the cable's, is part of every loss. So the same is measured
//! with the packets dropped as they come out of the cable, before the host processes them; the
//! loss beyond that is the host's own processing.

use std::net::UdpSocket;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::importance;
use super::processor::compute;
use super::receiver::Receiver;
use super::transfer::joined;
use super::upload::Port;
use crate::experiment::command;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair::{A, B, DEVICE, RECEIVER, SENDER};
use crate::experiment::shape::ETHERNET_HEADER_BYTES;
use crate::experiment::source::{self, Mark};

const RATE_BPS: u64 = 5_700_000;
const PACKET_BYTES: u32 = 1_500;
/// Packets arrive for this long before the task computes, and after.
const MARGIN: Duration = Duration::from_millis(50);

/// The task, and its work in a second without traffic.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    pub computes: Duration,
    pub alone: f64,
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Download {
    loss_percent: f64,
    /// Packets that the host's IP delivered while the task computed.
    while_computing: u64,
    sent: u64,
    received: u64,
    reordered: u64,
}

/// `runs` downloads through the contender at the host's device. `dropped_percent` is the task's
/// loss when packets are dropped at once.
pub fn measure(takt: &Path, task: Task, runs: u32, dropped_percent: f64) -> Result<Metrics> {
    let downloads = (0..runs)
        .map(|_| download(takt, task))
        .collect::<Result<Vec<_>>>()?;
    Ok(figures(&downloads, dropped_percent))
}

/// The task's mean loss while every packet is dropped at the device's ingress, to be measured
/// while nothing else is attached there.
pub fn dropped_percent(takt: &Path, task: Task, runs: u32) -> Result<f64> {
    A.run(|| {
        command::tc_batch(&[
            format!("qdisc add dev {DEVICE} clsact"),
            format!("filter add dev {DEVICE} ingress matchall action drop"),
        ])
    })?;
    let downloads: Result<Vec<_>> = (0..runs).map(|_| download(takt, task)).collect();
    let removed =
        A.run(|| command::run("tc", &["qdisc", "del", "dev", DEVICE, "clsact"]).map(drop));
    let downloads = downloads?;
    removed?;
    Ok(mean_percent(&downloads))
}

fn download(takt: &Path, task: Task) -> Result<Download> {
    let receiver = Receiver::start(takt, Port::Background.number())?;
    let duration = task.computes + 2 * MARGIN;
    let socket = B.run(|| {
        let port = Port::Background.number();
        let socket = UdpSocket::bind((RECEIVER, port)).doing("bind the server's socket")?;
        socket
            .connect((SENDER, port))
            .doing("connect the server's socket")?;
        Ok(socket)
    })?;
    let server = std::thread::spawn(move || send(&socket, duration));
    std::thread::sleep(MARGIN);
    let before = delivered()?;
    let work = compute(task.computes);
    let after = delivered()?;
    let sent = joined(server)?;
    let came = receiver.finish()?;
    Ok(Download {
        loss_percent: 100.0 * (1.0 - work / task.alone),
        while_computing: after - before,
        sent,
        received: came.packets,
        reordered: came.reordered,
    })
}

/// The server: sends a datagram whenever one is due. Returns their number.
fn send(socket: &UdpSocket, duration: Duration) -> Result<u64> {
    importance::more_than_all()?;
    let frame_bits = u64::from(PACKET_BYTES + ETHERNET_HEADER_BYTES) * 8;
    let interval = Duration::from_nanos(frame_bits * 1_000_000_000 / RATE_BPS);
    let mut payload = source::payload(PACKET_BYTES);
    let packets = duration.as_nanos().div_ceil(interval.as_nanos()) as u32;
    let started = Instant::now();
    for sequence in 0..packets {
        let due = started + interval * sequence;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let mark = Mark { flow: 0, sequence }.to_bytes();
        payload[..mark.len()].copy_from_slice(&mark);
        socket.send(&payload).doing("send a datagram")?;
    }
    Ok(packets.into())
}

/// Packets that IP has delivered to their protocol on the host so far.
fn delivered() -> Result<u64> {
    // /proc/net is the namespace of the process's first thread.
    const COUNTERS: &str = "/proc/thread-self/net/snmp";
    let unreadable = |reason: String| ExperimentError::Unreadable {
        path: COUNTERS.into(),
        reason,
    };
    let table =
        A.run(|| std::fs::read_to_string(COUNTERS).map_err(|error| unreadable(error.to_string())))?;
    parse_delivered(&table).ok_or_else(|| unreadable("no InDelivers of Ip in it".to_owned()))
}

/// The table has a line of names for each protocol, and then a line of numbers.
fn parse_delivered(table: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix("Ip:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let place = names
        .split_whitespace()
        .position(|name| name == "InDelivers")?;
    numbers.split_whitespace().nth(place)?.parse().ok()
}

fn mean_percent(downloads: &[Download]) -> f64 {
    let sum: f64 = downloads.iter().map(|one| one.loss_percent).sum();
    sum / downloads.len() as f64
}

fn figures(downloads: &[Download], dropped_percent: f64) -> Metrics {
    let percents = downloads.iter().map(|one| one.loss_percent);
    let mean = mean_percent(downloads);
    let sum = |of: fn(&Download) -> u64| downloads.iter().map(of).sum::<u64>();
    metrics([
        ("task_loss_percent", json!(mean)),
        (
            "task_loss_max_percent",
            json!(percents.fold(f64::MIN, f64::max)),
        ),
        (
            "task_loss_over_dropped_percent",
            json!(mean - dropped_percent),
        ),
        ("target_bps", json!(RATE_BPS)),
        ("packets", json!(sum(|one| one.while_computing))),
        ("packets_sent", json!(sum(|one| one.sent))),
        ("packets_lost", json!(sum(|one| one.sent - one.received))),
        ("packets_reordered", json!(sum(|one| one.reordered))),
        ("runs", json!(downloads.len())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let table = "Ip: Forwarding InReceives InDelivers OutRequests\nIp: 1 90 87 3\n\
                     Udp: InDatagrams NoPorts\nUdp: 4 5\n";
        assert_eq!(parse_delivered(table), Some(87));
        assert_eq!(parse_delivered("Udp: InDelivers\nUdp: 4\n"), None);
    }

    #[test]
    fn what_dropping_costs_is_taken_off() {
        let one = |loss_percent| Download {
            loss_percent,
            while_computing: 100,
            sent: 120,
            received: 119,
            reordered: 0,
        };
        let figures = figures(&[one(3.0), one(5.0)], 1.5);
        assert_eq!(figures["task_loss_percent"], json!(4.0));
        assert_eq!(figures["task_loss_over_dropped_percent"], json!(2.5));
        assert_eq!(figures["packets"], json!(200));
        assert_eq!(figures["packets_lost"], json!(2));
    }
}
