//! The background beside a foreground whose processor is the bottleneck, not its wire.
//!
//! LP-LBE's figure 7 compares how packets are processed: by a task for each priority, by software
//! interrupts, and by software interrupts that yield to more important tasks. It shows only where
//! the processor is short: the foreground's program computes before it writes, and the wire would
//! carry more. The tasks here receive ([`threads`]); what they send leaves from the task that
//! sends it, without a second device on the way. The far end has [threads](super::far_end) of its
//! own, whose work is taken off.
//!
//! Figures 10 to 12 are about cost: [`energy`] is a model, and the slope is what a KB more of the
//! foreground costs the host.

mod contender;
mod energy;
mod figures;
mod threads;

use std::path::Path;
use std::time::Duration;

use takt_report::Row;

use self::contender::{Contender, Wire};
use self::threads::Threads;
use super::far_end::{self, FarEnd};
use super::processor;
use super::tasks::Tasks;
use super::transfer::{Background, Foreground, Stage, Transfer, Way};
use super::upload::{Marking, Server};
use super::work::Observer;
use crate::experiment::command;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::pair::{self, A, B, DEVICE, PEER_DEVICE};
use crate::experiment::root::Root;

/// The background's acknowledgements wait here under [`Contender::Threads`].
const SECOND_DEVICE: &str = "va2";
const SECOND_PEER_DEVICE: &str = "vb2";
const ROUND_TRIP: Duration = Duration::from_millis(2);
/// All of an upload fits into the sender's buffer.
const BUFFER_BYTES: usize = 32 << 20;
/// What the server lets be on its way, 16 MB/s: with the background's data in its buffer, its
/// program has nothing left to do when the foreground starts.
const WINDOW_BYTES: usize = 32 << 10;
/// Written at once by the foreground.
const PIECE_BYTES: usize = 4_000;

/// Uploads of a size, `runs` times.
struct Case {
    name: &'static str,
    wire: Wire,
    /// Time that the foreground computes for a KB.
    compute_us: f64,
    way: Way,
    background_bytes: u64,
    /// The foreground starts when these have arrived.
    steady_bytes: u64,
    nice: i32,
    sizes_kb: &'static [u64],
}

/// The foreground makes 12.5 KB a millisecond at most, its wire would take all of them.
const ON_A_FAST_WIRE: Case = Case {
    name: "processor",
    wire: Wire::Fast {
        rate_bps: 1_000_000_000,
    },
    compute_us: 80.0,
    way: Way::Up,
    background_bytes: 4_000_000,
    steady_bytes: 500_000,
    nice: super::BACKGROUND_NICE,
    sizes_kb: &[10, 50, 100, 200, 300],
};

/// Figure 12: the wire is the bottleneck, and the background has 500 KB.
const ON_A_SLOW_WIRE: Case = Case {
    name: "cost",
    wire: Wire::Slow {
        rate_bps: 5_700_000,
    },
    compute_us: 0.0,
    background_bytes: 500_000,
    steady_bytes: 100_000,
    ..ON_A_FAST_WIRE
};

const CASES: [Case; 5] = [
    ON_A_FAST_WIRE,
    Case {
        name: "processor-equal",
        nice: 0,
        sizes_kb: &[100, 300],
        ..ON_A_FAST_WIRE
    },
    Case {
        name: "processor-download",
        way: Way::Down,
        sizes_kb: &[100, 300],
        ..ON_A_FAST_WIRE
    },
    ON_A_SLOW_WIRE,
    // A wire of today.
    Case {
        name: "cost-100mbit",
        wire: Wire::Slow {
            rate_bps: 100_000_000,
        },
        ..ON_A_SLOW_WIRE
    },
];

pub fn run(takt: &Path, short: bool) -> Result<Vec<Row>> {
    let runs = if short { 3 } else { 10 };
    let _single_frames = pair::with_single_frames()?;
    let _far = Far::build()?;
    let far_end = FarEnd::of_devices(B, &[PEER_DEVICE, SECOND_PEER_DEVICE])?;
    A.run(|| far_end::polled(DEVICE))?;
    let observer = Observer::new(far_end)?;
    let server = Server::start(Some(WINDOW_BYTES))?.at_once();
    let unit_us = 1e6 / processor::compute(Duration::from_millis(250));
    let mut rows = Vec::new();
    for case in &CASES {
        let lab = Lab {
            takt,
            case,
            server: &server,
            observer: &observer,
            units: (case.compute_us * PIECE_BYTES as f64 / 1_000.0 / unit_us) as u32,
            runs,
        };
        rows.extend(lab.measure(short)?);
    }
    Ok(rows)
}

/// A case's means, at one size.
struct Seen {
    size_kb: u64,
    transfers: Vec<Transfer>,
}

struct Lab<'lab> {
    takt: &'lab Path,
    case: &'lab Case,
    server: &'lab Server,
    observer: &'lab Observer,
    /// The foreground's work before each piece.
    units: u32,
    runs: u32,
}

impl Lab<'_> {
    fn measure(&self, short: bool) -> Result<Vec<Row>> {
        let sizes_kb = if short {
            &self.case.sizes_kb[self.case.sizes_kb.len() - 2..]
        } else {
            self.case.sizes_kb
        };
        let all = Contender::ALL
            .into_iter()
            .map(|contender| Ok((contender, self.contender(contender, sizes_kb)?)))
            .collect::<Result<Vec<_>>>()?;
        Ok(figures::rows(self.case, &all))
    }

    fn contender(&self, contender: Contender, sizes_kb: &[u64]) -> Result<Vec<Seen>> {
        let Case { wire, nice, .. } = *self.case;
        let mut root = Root::new(self.takt);
        root.attach(contender.name(), &contender.qdisc(wire))?;
        let _threads = (contender == Contender::Threads)
            .then(|| Threads::start(nice))
            .transpose()?;
        let _tasks = (contender == Contender::Tasks)
            .then(Tasks::start)
            .transpose()?;
        let stage = Stage {
            foreground: Foreground {
                piece: PIECE_BYTES,
                units: self.units,
            },
            background: contender.has_background().then_some(Background {
                marking: Marking {
                    buffer_bytes: Some(BUFFER_BYTES),
                    ..contender.marking()
                },
                way: self.case.way,
                bytes: self.case.background_bytes,
                steady_bytes: self.case.steady_bytes,
                nice,
            }),
            server: self.server,
            observer: self.observer,
            takt: self.takt,
        };
        // The first connections pay for cold caches.
        stage.transfer(10_000, Duration::ZERO)?;
        let seen = sizes_kb
            .iter()
            .map(|size_kb| {
                eprintln!(
                    "background: {}, {}-{size_kb}kb",
                    contender.name(),
                    self.case.name
                );
                let transfers = (0..self.runs)
                    .map(|run| stage.transfer(size_kb * 1_000, super::offset(run) / 20))
                    .collect::<Result<Vec<_>>>()?;
                Ok(Seen {
                    size_kb: *size_kb,
                    transfers,
                })
            })
            .collect();
        root.detach()?;
        seen
    }
}

/// The way to the server: a second cable for packets that come back, and a delay on both.
struct Far(());

impl Far {
    fn build() -> Result<Self> {
        command::run(
            "ip",
            &[
                "link",
                "add",
                SECOND_DEVICE,
                "netns",
                A.0,
                "type",
                "veth",
                "peer",
                "name",
                SECOND_PEER_DEVICE,
                "netns",
                B.0,
            ],
        )?;
        let far = Self(());
        for (namespace, device) in [(A, SECOND_DEVICE), (B, SECOND_PEER_DEVICE)] {
            namespace.run(|| {
                command::run("ip", &["link", "set", device, "addrgenmode", "none", "up"]).map(drop)
            })?;
        }
        A.run(|| {
            // What comes back on the second cable is not what would go there.
            for key in ["all", SECOND_DEVICE] {
                std::fs::write(format!("/proc/sys/net/ipv4/conf/{key}/rp_filter"), "0")
                    .doing("accept packets from both cables")?;
            }
            Ok(())
        })?;
        let us = ROUND_TRIP.as_micros();
        B.run(|| {
            std::fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1")
                .doing("let connections forget")?;
            let lines = [PEER_DEVICE, SECOND_PEER_DEVICE].map(|device| {
                format!("qdisc replace dev {device} root netem delay {us}us limit 10000")
            });
            command::tc_batch(&lines)
        })?;
        Ok(far)
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let removed = A
            .run(|| command::run("ip", &["link", "del", SECOND_DEVICE]).map(drop))
            .and_then(|()| {
                B.run(|| {
                    command::run("tc", &["qdisc", "del", "dev", PEER_DEVICE, "root"]).map(drop)
                })
            });
        if let Err(error) = removed {
            eprintln!("while cleaning up: {error}");
        }
    }
}
