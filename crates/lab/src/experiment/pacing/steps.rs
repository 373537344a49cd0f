//! PSPacer's figure 2: a hundred rates, and the difference of the goodput from each.
//!
//! Rates from 5 to 500 Mbit/s, one class, one after the other. Goodput is the payload that
//! arrived; its target is the part of the class's rate that is payload.

use std::time::Duration;

use serde_json::json;
use takt_report::Row;

use super::WARM_UP;
use super::arrivals::Observed;
use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::root::Root;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::{Qdisc, Setup, setup};
use crate::experiment::shape::Shape;
use crate::experiment::sink::Sink;
use crate::experiment::source::{HEADER_BYTES, Source};
use crate::experiment::traffic::Traffic;

const STEP_BPS: u64 = 5_000_000;
const STEPS: u64 = 100;
/// Every so many steps in a short run.
const SHORT_STRIDE: usize = 20;
const LENGTH: Duration = Duration::from_millis(400);
const LENGTH_SHORT: Duration = Duration::from_millis(200);
const BACKLOG: u32 = 16;
/// Gap frames fill what the class leaves of a wire with this rate.
const WITH_GAPS: &str = "goodput-steps/gap";
const GAPS_BPS: u64 = 1_000_000_000;
/// HTB's other burst: what its rate sends in this time, as its own guides say.
const BURST_MS: u64 = 1;

/// A target of goodput, and how much less arrived.
struct Step {
    target_bps: f64,
    difference_bps: f64,
}

/// A row for each way to set the scheduler up.
pub fn run(scheduler: Scheduler, root: &mut Root<'_>, short: bool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (case, change) in ways(scheduler) {
        let (stride, length) = if short {
            (SHORT_STRIDE, LENGTH_SHORT)
        } else {
            (1, LENGTH)
        };
        let mut steps = Vec::new();
        for step in (1..=STEPS).rev().step_by(stride) {
            let shape = Shape {
                link_rate_bps: (case == WITH_GAPS).then_some(GAPS_BPS),
                ..Shape::udp([step * STEP_BPS])
            };
            let Some(setup) = setup(scheduler, &shape) else {
                return Ok(Vec::new());
            };
            let setup = change(setup, step * STEP_BPS);
            if steps.is_empty() {
                eprintln!("pacing: {}, {case}", scheduler.name());
            }
            root.attach(scheduler.name(), &setup.qdisc)?;
            steps.push(measure(scheduler, case, &shape, &setup, length)?);
        }
        steps.reverse();
        rows.push(Row {
            scheduler: scheduler.name().to_owned(),
            case: case.to_owned(),
            metrics: figures(&steps),
        });
    }
    Ok(rows)
}

type Change = fn(Setup, u64) -> Setup;

fn ways(scheduler: Scheduler) -> Vec<(&'static str, Change)> {
    let unchanged: (_, Change) = ("goodput-steps", |setup, _| setup);
    match scheduler {
        Scheduler::Takt => vec![unchanged, (WITH_GAPS, with_gaps)],
        Scheduler::Htb => vec![unchanged, ("goodput-steps/burst-1ms", with_burst)],
        Scheduler::TaktTree | Scheduler::TaktDeparture | Scheduler::Fq | Scheduler::Tbf => {
            vec![unchanged]
        }
        _ => Vec::new(),
    }
}

fn with_gaps(setup: Setup, _: u64) -> Setup {
    let qdisc = match setup.qdisc {
        Qdisc::Takt(policy) => Qdisc::Takt(policy.replacen("]\n", "]\npacing = \"gap\"\n", 1)),
        other => other,
    };
    Setup { qdisc, ..setup }
}

fn with_burst(setup: Setup, rate_bps: u64) -> Setup {
    let bytes = (rate_bps / 8 * BURST_MS / 1_000).max(2 * 1_514);
    let qdisc = match setup.qdisc {
        // The last one counts.
        Qdisc::Tc(lines) => Qdisc::Tc(
            { lines.iter() }
                .map(|line| {
                    let is_class = line.starts_with("class");
                    let burst = format!(" burst {bytes} cburst {bytes}");
                    format!("{line}{}", if is_class { burst.as_str() } else { "" })
                })
                .collect(),
        ),
        other => other,
    };
    Setup { qdisc, ..setup }
}

fn measure(
    scheduler: Scheduler,
    case: &str,
    shape: &Shape,
    setup: &Setup,
    length: Duration,
) -> Result<Step> {
    let sources = Source::open(shape, BACKLOG)?;
    for (source, options) in sources.iter().zip(&setup.sockets) {
        source.configure(options)?;
    }
    let sinks = Sink::open(shape, length)?;
    let mut traffic = Traffic::new(shape, sources, sinks)?;
    let window = traffic.run(WARM_UP, length)?;
    let flows = traffic.finish()?;
    let (flow, rate_bps) = (&flows[0], shape.classes[0].rate_bps);
    let observed =
        Observed::new(flow, &window, rate_bps, shape.frame_bytes()).ok_or_else(|| {
            ExperimentError::NoTraffic {
                scheduler: scheduler.name(),
                case: format!("{case} {rate_bps}bit"),
                sent: flow.sent,
                received: flow.record.arrivals_ns.len() as u64,
            }
        })?;
    let payload = f64::from(shape.packet_bytes - HEADER_BYTES) / f64::from(shape.frame_bytes());
    let target_bps = rate_bps as f64 * payload;
    Ok(Step {
        target_bps,
        difference_bps: target_bps - observed.achieved_bps() * payload,
    })
}

fn figures(steps: &[Step]) -> Metrics {
    let percents = steps
        .iter()
        .map(|step| 100.0 * step.difference_bps / step.target_bps);
    let furthest = steps
        .iter()
        .map(|step| step.difference_bps)
        .max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let curve: Vec<(f64, f64)> = { steps.iter() }
        .map(|step| (step.target_bps, step.difference_bps))
        .collect();
    metrics([
        ("steps", json!(steps.len())),
        ("goodput_difference_max_bps", json!(furthest)),
        (
            "goodput_difference_max_percent",
            json!(percents.clone().max_by(|a, b| a.abs().total_cmp(&b.abs()))),
        ),
        (
            "goodput_difference_mean_percent",
            json!(percents.sum::<f64>() / steps.len() as f64),
        ),
        ("goodput_difference_curve_bps", json!(curve)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_furthest_counts_with_its_sign() {
        let step = |target_bps, difference_bps| Step {
            target_bps,
            difference_bps,
        };
        let figures = figures(&[step(1_000.0, 1.0), step(2_000.0, -40.0)]);
        assert_eq!(figures["goodput_difference_max_bps"], json!(-40.0));
        assert_eq!(figures["goodput_difference_max_percent"], json!(-2.0));
    }

    #[test]
    fn a_burst_is_of_the_rate() {
        let shape = Shape::udp([80_000_000]);
        let before = setup(Scheduler::Htb, &shape).expect("HTB has classes");
        let Qdisc::Tc(lines) = with_burst(before, 80_000_000).qdisc else {
            panic!("tc sets it up");
        };
        let of_class = |line: &&String| line.starts_with("class");
        assert!(lines.iter().any(|line| of_class(&line)), "{lines:?}");
        for line in lines.iter().filter(of_class) {
            assert!(line.ends_with("burst 10000 cburst 10000"), "{line}");
        }
    }
}
