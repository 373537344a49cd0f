//! Gap mode: how exact is spacing in bytes on the wire?
//!
//! The receiving end records all frames in order. A frame's position is the sum of all wire
//! bytes before it, gap frames included. So it says when the frame was on a wire of the link's
//! rate, whenever the emulated cable delivered it. Schedulers without gap frames leave the wire
//! idle instead; there a position is the time of arrival, in bytes of the link's rate.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use takt_report::{Row, nearest_rank};

use super::length::Length;
use crate::experiment::bench::Bench;
use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair::{A, DEVICE};
use crate::experiment::recorder::{Frame, Kind, Recorder};
use crate::experiment::root::Root;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::{Qdisc, Setup, SocketOptions};
use crate::experiment::shape::{FIRST_PORT, Shape};
use crate::experiment::sink::Sink;
use crate::experiment::source::Source;
use crate::experiment::traffic::Traffic;

const LINK_BPS: u64 = 100_000_000;
const FAST_LINK_BPS: u64 = 1_000_000_000;
/// Preamble, check sequence and the shortest distance between frames.
const OVERHEAD_BYTES: u32 = 24;
const NS_PER_S: f64 = 1e9;
/// The most packets that each class keeps queued: no queue may run dry between two refills,
/// since an idle link sends no gaps.
const BACKLOG: u32 = 64;
const WARM_UP: Duration = Duration::from_millis(300);
/// Often, so that each read is short.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

struct Case {
    name: &'static str,
    rates_bps: &'static [u64],
    length: Length,
}

const CASES: [Case; 4] = [
    Case {
        name: "gap-10",
        rates_bps: &[10_000_000],
        length: Length::only_full_ms(10_000),
    },
    Case {
        name: "gap-50",
        rates_bps: &[50_000_000],
        length: Length::ms(5_000, 300),
    },
    Case {
        name: "gap-90",
        rates_bps: &[90_000_000],
        length: Length::only_full_ms(5_000),
    },
    // The rates are no multiples of each other. Longer, since the first and the last frame of
    // each may be off by a frame of the other.
    Case {
        name: "gap-two",
        rates_bps: &[37_000_000, 23_000_000],
        length: Length::only_full_ms(20_000),
    },
];

/// What it costs, and whether a class has its rate, though its sender keeps few packets queued.
struct Load {
    name: &'static str,
    link_bps: u64,
    rate_bps: u64,
}

const LOAD_BACKLOG: u32 = 8;
const LOAD_LENGTH: Length = Length::ms(2_000, 300);
const LOADS: [Load; 5] = [
    load("gap-load-10", LINK_BPS, 10_000_000),
    load("gap-load-50", LINK_BPS, 50_000_000),
    load("gap-load-98", LINK_BPS, 98_000_000),
    load("gap-load-300-of-1000", FAST_LINK_BPS, 300_000_000),
    load("gap-load-500-of-1000", FAST_LINK_BPS, 500_000_000),
];

const fn load(name: &'static str, link_bps: u64, rate_bps: u64) -> Load {
    Load {
        name,
        link_bps,
        rate_bps,
    }
}

/// Positions of frames, in wire bytes, by class.
struct Observed {
    positions: Vec<Vec<f64>>,
    gap_frames: u64,
}

/// Rows of this scheduler; Takt has one with gap frames and one with the timer.
pub fn run(scheduler: Scheduler, root: &mut Root<'_>, bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let wanted = CASES
        .iter()
        .filter_map(|case| Some((case, case.length.of(bench.short)?)));
    for (case, duration) in wanted {
        let shape = Shape {
            link_rate_bps: Some(LINK_BPS),
            ..Shape::udp(case.rates_bps.iter().copied())
        };
        let ways = match scheduler {
            Scheduler::Takt => vec![
                (
                    case.name.to_owned(),
                    Qdisc::Takt(policy(&shape, "gap", OVERHEAD_BYTES)),
                    true,
                ),
                (
                    format!("{}/timer", case.name),
                    Qdisc::Takt(policy(&shape, "timer", OVERHEAD_BYTES)),
                    false,
                ),
            ],
            Scheduler::Htb => vec![(case.name.to_owned(), Qdisc::Tc(htb(&shape)), false)],
            _ => Vec::new(),
        };
        for (name, qdisc, with_gaps) in ways {
            eprintln!("pacing: {}, {name}", scheduler.name());
            root.attach(scheduler.name(), &qdisc)?;
            let before = counters(bench, with_gaps)?;
            let observed = observe(&shape, with_gaps, duration)?;
            let mut metrics = figures(&shape, &observed).ok_or(ExperimentError::NoTraffic {
                scheduler: scheduler.name(),
                case: name.clone(),
                sent: 0,
                received: 0,
            })?;
            if with_gaps {
                let after = counters(bench, with_gaps)?;
                metrics.insert("gap_frames".to_owned(), json!(observed.gap_frames));
                for name in ["gap_missed", "fallbacks"] {
                    let count = |counters: &Value| counters[name].as_u64().unwrap_or_default();
                    metrics.insert(name.to_owned(), json!(count(&after) - count(&before)));
                }
            }
            rows.push(Row {
                scheduler: scheduler.name().to_owned(),
                case: name,
                metrics,
            });
        }
    }
    if scheduler == Scheduler::Takt {
        for load in &LOADS {
            rows.extend(under_load(load, root, bench.short)?);
        }
    }
    Ok(rows)
}

/// Without a recorder, since that costs as well.
fn under_load(load: &Load, root: &mut Root<'_>, short: bool) -> Result<Vec<Row>> {
    let Some(duration) = LOAD_LENGTH.of(short) else {
        return Ok(Vec::new());
    };
    let shape = Shape {
        link_rate_bps: Some(load.link_bps),
        ..Shape::udp([load.rate_bps])
    };
    let mut rows = Vec::new();
    for pacing in ["gap", "timer+gap", "timer"] {
        let name = match pacing {
            "gap" => load.name.to_owned(),
            other => format!("{}/{other}", load.name),
        };
        eprintln!("pacing: takt, {name}");
        let case = super::Case {
            name,
            shape: shape.clone(),
            mtu_bytes: 1500,
            backlog: LOAD_BACKLOG,
            length: LOAD_LENGTH,
            class_rows: &[],
        };
        let setup = Setup {
            // Rates count frames as the kernel does.
            qdisc: Qdisc::Takt(policy(&shape, pacing, 0)),
            sockets: vec![SocketOptions::default()],
        };
        root.attach(Scheduler::Takt.name(), &setup.qdisc)?;
        rows.extend(super::measure(&case, Scheduler::Takt, &setup, duration)?);
    }
    Ok(rows)
}

/// Sends, records, and returns the frames' positions after warming up.
fn observe(shape: &Shape, with_gaps: bool, duration: Duration) -> Result<Observed> {
    let sources = Source::open(shape, BACKLOG)?;
    for (index, source) in sources.iter().enumerate() {
        source.configure(&SocketOptions {
            priority: 1 << 16 | (index as u32 + 1),
            ..SocketOptions::default()
        })?;
    }
    let sinks = Sink::open(shape, duration)?;
    let mut traffic = Traffic::new(shape, sources, sinks)?;
    let mut recorder = Recorder::start()?;
    let warm_up_looks = looks(WARM_UP);
    let mut skipped = 0;
    for look in 0..warm_up_looks + looks(duration) {
        traffic.pump(BETWEEN_LOOKS)?;
        recorder.look()?;
        if look < warm_up_looks {
            skipped = recorder.frames().len();
        }
    }
    if with_gaps {
        traffic.finish()?;
        return Ok(on_the_wire(shape, &recorder.frames()[skipped..]));
    }
    let started_ns = |arrivals_ns: &[u64]| {
        arrivals_ns
            .first()
            .map_or(0, |first| first + WARM_UP.as_nanos() as u64)
    };
    let positions = traffic
        .finish()?
        .iter()
        .map(|flow| {
            let arrivals_ns = &flow.record.arrivals_ns;
            let from_ns = started_ns(arrivals_ns);
            let until_ns = from_ns + duration.as_nanos() as u64;
            arrivals_ns
                .iter()
                .filter(|at_ns| (from_ns..until_ns).contains(*at_ns))
                .map(|at_ns| (at_ns - from_ns) as f64 * LINK_BPS as f64 / 8.0 / NS_PER_S)
                .collect()
        })
        .collect();
    Ok(Observed {
        positions,
        gap_frames: 0,
    })
}

fn looks(duration: Duration) -> u32 {
    duration.as_millis().div_ceil(BETWEEN_LOOKS.as_millis()) as u32
}

fn on_the_wire(shape: &Shape, frames: &[Frame]) -> Observed {
    let mut observed = Observed {
        positions: vec![Vec::new(); shape.classes.len()],
        gap_frames: 0,
    };
    let mut position = 0;
    for frame in frames {
        match frame.kind {
            Kind::Datagram { dst_port } => {
                let class = dst_port.wrapping_sub(FIRST_PORT);
                if let Some(positions) = observed.positions.get_mut(usize::from(class)) {
                    positions.push(position as f64);
                }
            }
            Kind::Pause => observed.gap_frames += 1,
            Kind::Other => {}
        }
        position += u64::from(frame.bytes + OVERHEAD_BYTES);
    }
    observed
}

/// Over all classes: every spacing, and the rate furthest off.
fn figures(shape: &Shape, observed: &Observed) -> Option<Metrics> {
    // In thousandths of a byte: whole numbers can be sorted.
    let mut errors_millibytes = Vec::new();
    let mut worst_ppm = 0f64;
    let mut packets = 0;
    for (class, positions) in shape.classes.iter().zip(&observed.positions) {
        let wire_bytes = f64::from(shape.frame_bytes() + OVERHEAD_BYTES);
        let target = wire_bytes * LINK_BPS as f64 / class.rate_bps as f64;
        let spacings = positions.len().checked_sub(1).filter(|count| *count > 0)?;
        let mean = (positions.last()? - positions.first()?) / spacings as f64;
        let error_ppm = (target / mean - 1.0) * 1e6;
        if error_ppm.abs() > worst_ppm.abs() {
            worst_ppm = error_ppm;
        }
        packets += positions.len();
        errors_millibytes.extend(
            positions
                .windows(2)
                .map(|pair| ((pair[1] - pair[0] - target).abs() * 1e3).round() as u64),
        );
    }
    errors_millibytes.sort_unstable();
    let bytes = |per_mille| {
        nearest_rank(&errors_millibytes, per_mille).map(|millibytes| millibytes as f64 / 1e3)
    };
    Some(metrics([
        ("spacing_error_max_bytes", json!(bytes(1000))),
        ("spacing_error_p99_bytes", json!(bytes(990))),
        ("rate_error_ppm", json!(worst_ppm)),
        (
            "target_bps",
            json!(
                shape
                    .classes
                    .iter()
                    .map(|class| class.rate_bps)
                    .sum::<u64>()
            ),
        ),
        ("packets_received", json!(packets)),
    ]))
}

/// Takt's own counters of gaps.
fn counters(bench: &Bench, with_gaps: bool) -> Result<Value> {
    if !with_gaps {
        return Ok(Value::Null);
    }
    let status =
        A.run(|| crate::experiment::command::run(bench.takt(), &["status", "--output", "json"]))?;
    let status: Value = serde_json::from_str(&status).map_err(|error| ExperimentError::Output {
        command: "takt status".to_owned(),
        reason: error.to_string(),
    })?;
    Ok(status["links"][0]["gap"].clone())
}

fn policy(shape: &Shape, pacing: &str, overhead_bytes: u32) -> String {
    let link_bps = shape.link_rate_bps.unwrap_or(LINK_BPS);
    let mut text = format!(
        "[link.{DEVICE}]\nrate = \"{link_bps}bit\"\noverhead = {overhead_bytes}\n\
         pacing = \"{pacing}\"\n"
    );
    for class in &shape.classes {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n[[link.{DEVICE}.class]]\nname = \"{}\"\n\
             match = [{{ proto = \"udp\", dst_port = \"{}\" }}]\nrate = \"{}bit\"\n",
            class.name, class.dst_port, class.rate_bps
        );
    }
    text
}

/// As in [`setup`](crate::experiment::setup), with the wire's overhead.
fn htb(shape: &Shape) -> Vec<String> {
    let wire_bytes = shape.frame_bytes() + OVERHEAD_BYTES;
    let class = |parent: &str, minor: usize, rate_bps: u64| {
        format!(
            "class add dev {DEVICE} parent {parent} classid 1:{minor:x} htb rate {rate_bps}bit \
             ceil {rate_bps}bit burst {burst} cburst {burst} quantum {wire_bytes} \
             overhead {OVERHEAD_BYTES}",
            burst = 2 * wire_bytes,
        )
    };
    let mut lines = vec![
        format!("qdisc replace dev {DEVICE} root handle 1: htb"),
        class("1:", 0xffff, LINK_BPS),
    ];
    lines.extend(
        shape
            .classes
            .iter()
            .zip(1..)
            .map(|(wanted, minor)| class("1:ffff", minor, wanted.rate_bps)),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_sums_of_wire_bytes() {
        let shape = Shape::udp([LINK_BPS / 2]);
        let data = Frame {
            bytes: 1514,
            kind: Kind::Datagram {
                dst_port: FIRST_PORT,
            },
        };
        let pause = |bytes| Frame {
            bytes,
            kind: Kind::Pause,
        };
        let observed = on_the_wire(&shape, &[data, pause(1514), data, pause(1500), data]);
        assert_eq!(observed.positions, [[0.0, 3076.0, 6138.0]]);
        assert_eq!(observed.gap_frames, 2);
        let metrics = figures(&shape, &observed).expect("there are packets");
        assert_eq!(metrics["spacing_error_max_bytes"], json!(14.0));
        let ppm = metrics["rate_error_ppm"].as_f64().expect("a number");
        assert!((ppm - 2280.9).abs() < 0.1, "{ppm}");
    }
}
