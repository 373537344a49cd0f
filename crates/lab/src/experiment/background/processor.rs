//! How much processor time does the background take from a task that computes, and how long
//! does it wait once that task rests?
//!
//! A task of ordinary importance computes without end on the host. Meanwhile an upload whose
//! data is already in the socket would continue by itself: every acknowledgement releases
//! packets, on top of the task. The task's loss is counted in its own work, against the same
//! task with no traffic at all. The far end of the wire is on this processor, too: with the
//! gate open it is part of the loss, with the gate closed nothing arrives there.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use serde_json::json;
use takt_report::{Row, nearest_rank};

use super::contender::Contender;
use super::download;
use super::importance;
use super::program::{Program, Upload};
use super::tasks::Tasks;
use super::upload::{self, Marking, Port, Server, WRITE_BYTES};
use super::wire::Wire;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair::{self, A, DEVICE, RECEIVER};
use crate::experiment::root::Root;
use crate::experiment::setup::Qdisc;
use crate::experiment::shape::Shape;
use crate::experiment::sink::{Reader, Sink};
use crate::experiment::traffic::receive_clock_ns;

const RATE_BPS: u64 = 20_000_000;
/// All of an upload fits into the sender's buffer, and into the receiver's.
const BUFFER_BYTES: usize = 32 << 20;
const STEADY_BYTES: u64 = 500_000;
/// The task computes for this long, and the upload would take longer.
const COMPUTES: Duration = Duration::from_secs(1);
const COMPUTES_SHORT: Duration = Duration::from_millis(250);
const UPLOAD_BYTES: u64 = STEADY_BYTES + RATE_BPS / 8 * 3 / 2;

/// With a task that computes, rests, and computes again.
const SPELL: Duration = Duration::from_millis(20);
/// Datagrams that wait while the gate is closed.
const WAITING_BYTES: usize = 64 * 2_304;
const DATAGRAM_BYTES: usize = 1_472;

/// The contender at the host's end of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peer {
    Like(Contender),
    /// Takt with the gate left open.
    Ungated,
}

impl Peer {
    const ALL: [Self; 5] = [
        Self::Like(Contender::Fifo),
        Self::Like(Contender::Priority),
        Self::Like(Contender::Tasks),
        Self::Ungated,
        Self::Like(Contender::Takt),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Like(contender) => contender.name(),
            Self::Ungated => "takt-open",
        }
    }

    fn qdisc(self) -> Qdisc {
        match self {
            Self::Like(Contender::Takt) => Qdisc::Takt(policy("sender")),
            Self::Ungated => Qdisc::Takt(policy("open")),
            Self::Like(contender) => contender.qdisc(RATE_BPS),
        }
    }

    fn marking(self) -> Marking {
        match self {
            Self::Like(contender) => contender.marking(),
            Self::Ungated => Marking::default(),
        }
    }

    /// Whether it treats incoming packets; the others are like FIFO.
    fn downloads(self) -> bool {
        self == Self::Like(Contender::Fifo) || self == Self::Ungated || self.has_gate()
    }

    fn has_gate(self) -> bool {
        self == Self::Like(Contender::Takt)
    }
}

/// All traffic to and from the server is in the background.
fn policy(gate: &str) -> String {
    format!(
        "[link.{DEVICE}]\nrate = \"{RATE_BPS}bit\"\n\
         \n[[link.{DEVICE}.class]]\nname = \"backup\"\nmatch = [{{ dst = \"{RECEIVER}\" }}]\n\
         priority = \"background\"\ngate = \"{gate}\"\n"
    )
}

pub fn run(takt: &Path, short: bool) -> Result<Vec<Row>> {
    let runs = if short { 1 } else { 5 };
    let spells = if short { 20 } else { 100 };
    let computes = if short { COMPUTES_SHORT } else { COMPUTES };
    let alone = compute(computes);
    let task = download::Task { computes, alone };
    let dropped_percent = download::dropped_percent(takt, task, runs)?;
    let mut rows = Vec::new();
    let mut root = Root::new(takt);
    for peer in Peer::ALL
        .into_iter()
        .filter(|peer| !(short && *peer == Peer::Ungated))
    {
        let row = |case: &str, metrics| Row {
            scheduler: peer.name().to_owned(),
            case: case.to_owned(),
            metrics,
        };
        root.attach(peer.name(), &peer.qdisc())?;
        eprintln!("background: {}, busy-upload", peer.name());
        {
            let wire = Wire::build()?;
            wire.set_rate(RATE_BPS)?;
            let server = Server::start(Some(BUFFER_BYTES))?;
            let _tasks = (peer == Peer::Like(Contender::Tasks))
                .then(Tasks::start)
                .transpose()?;
            let losses = (0..runs)
                .map(|_| upload(takt, &server, peer, computes, alone))
                .collect::<Result<Vec<_>>>()?;
            rows.push(row("busy-upload", Loss::metrics(&losses)));
        }
        if peer.downloads() {
            eprintln!("background: {}, busy-download", peer.name());
            let figures = download::measure(takt, task, runs, dropped_percent)?;
            rows.push(row("busy-download", figures));
        }
        if peer.has_gate() {
            for (case, next) in [("wait-for-idle", Next::Idle), ("wait-for-less", Next::Less)] {
                eprintln!("background: {}, {case}", peer.name());
                rows.push(row(case, waits(takt, next, spells)?));
            }
        }
    }
    root.detach()?;
    Ok(rows)
}

/// Work done in a second, by a task that runs alone for that time.
pub fn compute(duration: Duration) -> f64 {
    let started = Instant::now();
    let mut units = 0_u64;
    while started.elapsed() < duration {
        fill();
        units += 1;
    }
    units as f64 / started.elapsed().as_secs_f64()
}

/// A unit of work. Not `spin_loop()`: its instruction is one nanosecond like any other, but
/// costs the emulator a thousand.
pub fn fill() {
    const STEPS: u64 = 2_000;
    for step in 0..STEPS {
        std::hint::black_box(step);
    }
}

/// The task's loss, and the background's progress in the same time.
struct Loss {
    percent: f64,
    frames: u64,
}

impl Loss {
    fn metrics(losses: &[Self]) -> Metrics {
        let percents = losses.iter().map(|loss| loss.percent);
        let frames: u64 = losses.iter().map(|loss| loss.frames).sum();
        let mean = percents.clone().sum::<f64>() / losses.len() as f64;
        metrics([
            ("task_loss_percent", json!(mean)),
            (
                "task_loss_max_percent",
                json!(percents.fold(f64::MIN, f64::max)),
            ),
            ("target_bps", json!(RATE_BPS)),
            ("packets", json!(frames)),
            ("runs", json!(losses.len())),
        ])
    }
}

fn upload(
    takt: &Path,
    server: &Server,
    peer: Peer,
    computes: Duration,
    alone: f64,
) -> Result<Loss> {
    let reception = server.expect(Port::Background, UPLOAD_BYTES, STEADY_BYTES)?;
    let socket = upload::open(Marking {
        buffer_bytes: Some(BUFFER_BYTES),
        ..peer.marking()
    })?;
    let port = Port::Background.number();
    let program = Program::start(takt, socket, Upload::new(port, UPLOAD_BYTES, WRITE_BYTES))?;
    reception.wait_early()?;
    let before = pair::received()?;
    let work = compute(computes);
    let after = pair::received()?;
    reception.wait_whole()?;
    reception.finish()?;
    program.finish()?;
    Ok(Loss {
        percent: 100.0 * (1.0 - work / alone),
        frames: after.frames - before.frames,
    })
}

/// The processor's work while the task rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Idle,
    /// A task that is less important than the background.
    Less,
}

/// From the moment when the task rests to the first packet at the other end of the cable, by
/// the kernel's receive timestamps.
fn waits(takt: &Path, next: Next, spells: u32) -> Result<Metrics> {
    let shape = Shape::udp([RATE_BPS]);
    let mut sinks = Sink::open(&shape, 2 * SPELL * spells)?;
    let socket = A.run(|| {
        let socket = socket(
            AddressFamily::Inet,
            SockType::Datagram,
            SockFlag::SOCK_CLOEXEC,
            None,
        )
        .doing("open a socket")?;
        nix::sys::socket::setsockopt(
            &socket,
            nix::sys::socket::sockopt::SndBufForce,
            &(WAITING_BYTES / 2),
        )
        .doing("set SO_SNDBUFFORCE")?;
        Ok(socket)
    })?;
    let port = shape.classes[0].dst_port;
    let _program = Program::start(takt, socket, Upload::new(port, u64::MAX, DATAGRAM_BYTES))?;
    let over = Arc::new(AtomicBool::new(false));
    let filler = (next == Next::Less).then(|| {
        let over = Arc::clone(&over);
        std::thread::spawn(move || {
            importance::less_than_all()?;
            while !over.load(Ordering::Relaxed) {
                fill();
            }
            Ok::<_, crate::experiment::error::ExperimentError>(())
        })
    });
    std::thread::sleep(10 * SPELL);
    let mut rests_ns = Vec::new();
    let mut reader = Reader::new();
    for spell in 0..spells {
        compute(SPELL + super::offset(spell) / 20);
        rests_ns.push(receive_clock_ns()?);
        std::thread::sleep(SPELL);
        while sinks[0].read(&mut reader)? {}
    }
    over.store(true, Ordering::Relaxed);
    if let Some(filler) = filler {
        super::transfer::joined(filler)?;
    }
    while sinks[0].read(&mut reader)? {}
    let arrivals_ns: Vec<u64> = sinks
        .remove(0)
        .into_records()
        .into_iter()
        .flat_map(|record| record.arrivals_ns)
        .collect();
    Ok(wait_metrics(&rests_ns, &arrivals_ns))
}

fn wait_metrics(rests_ns: &[u64], arrivals_ns: &[u64]) -> Metrics {
    let mut waits_ns: Vec<u64> = rests_ns
        .iter()
        .filter_map(|rest_ns| {
            let next = arrivals_ns.partition_point(|at_ns| at_ns < rest_ns);
            Some(arrivals_ns.get(next)? - rest_ns)
        })
        .collect();
    waits_ns.sort_unstable();
    metrics([
        ("wait_p50_ns", json!(nearest_rank(&waits_ns, 500))),
        ("wait_p99_ns", json!(nearest_rank(&waits_ns, 990))),
        ("wait_max_ns", json!(waits_ns.last())),
        ("target_bps", json!(RATE_BPS)),
        ("runs", json!(waits_ns.len())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_the_next_arrival() {
        let metrics = wait_metrics(&[100, 200, 300], &[90, 150, 210, 220]);
        assert_eq!(metrics["wait_max_ns"], json!(50));
        assert_eq!(metrics["wait_p50_ns"], json!(10));
        assert_eq!(metrics["runs"], json!(2));
    }
}
