//! Classes that want more than the link has: does each get its share, and does none overshoot
//! when others stop?
//!
//! PSPacer's figure 3 on a tenth of its link and a twentieth of its time: classes of 40, 40,
//! 40, 20 and 20 Mbit/s on 100 Mbit/s, which start one after the other, all run for a while,
//! and stop one after the other. Rates are taken in every step until all run, shares while all
//! run, overshoot after every stop but the last.

use std::ops::Range;
use std::time::Duration;

use serde_json::json;
use takt_report::Row;

use super::arrivals::Packets;
use super::shares::{count, overshoot_ns, rate_bps, share_errors_percent};
use super::tree::{Leaf, Tree};
use super::tree_setup::tree_setup;
use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::root::Root;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::{Qdisc, Setup};
use crate::experiment::sink::Sink;
use crate::experiment::source::Source;
use crate::experiment::traffic::{Flow, Traffic, receive_clock_ns};

const MBIT: u64 = 1_000_000;
/// The most packets that each class keeps queued.
const BACKLOG: u32 = 16;
/// Shares must be right this long after the last class started.
const SETTLE_NS: u64 = 100_000_000;
/// A point of the curve that shows rates over time.
const CURVE_STEP_NS: u64 = 50_000_000;

struct Case {
    name: &'static str,
    /// The first class's priority; the others have the usual one.
    first_priority: Option<u8>,
    /// Of a link by Takt; without it, every scheduler takes part.
    pacing: Option<&'static str>,
    is_in_short: bool,
}

const CASES: [Case; 3] = [
    Case {
        name: "sharing",
        first_priority: None,
        pacing: None,
        is_in_short: true,
    },
    Case {
        name: "sharing-priority",
        first_priority: Some(0),
        pacing: None,
        is_in_short: false,
    },
    Case {
        name: "sharing-gap",
        first_priority: None,
        pacing: Some("gap"),
        is_in_short: false,
    },
];

/// Rows of every case that the scheduler can express.
pub fn run(scheduler: Scheduler, root: &mut Root<'_>, short: bool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for case in CASES.iter().filter(|case| case.is_in_short || !short) {
        let tree = five(case.first_priority);
        if let Some(setup) =
            tree_setup(scheduler, &tree).and_then(|setup| case.paced(scheduler, setup))
        {
            eprintln!("pacing: {}, {}", scheduler.name(), case.name);
            root.attach(scheduler.name(), &setup.qdisc)?;
            let run = Run::of(&tree, &setup, short)?;
            rows.extend(run.rows(case.name, &tree, scheduler)?);
        }
    }
    Ok(rows)
}

impl Case {
    /// `None`: the scheduler has no such pacing.
    fn paced(&self, scheduler: Scheduler, setup: Setup) -> Option<Setup> {
        let Some(pacing) = self.pacing else {
            return Some(setup);
        };
        match (scheduler, setup.qdisc) {
            (Scheduler::Takt, Qdisc::Takt(policy)) => {
                let line = format!("]\npacing = \"{pacing}\"\n");
                let qdisc = Qdisc::Takt(policy.replacen("]\n", &line, 1));
                Some(Setup { qdisc, ..setup })
            }
            _ => None,
        }
    }
}

fn five(first_priority: Option<u8>) -> Tree {
    let rates = [
        ("40mbit-1", 40),
        ("40mbit-2", 40),
        ("40mbit-3", 40),
        ("20mbit-1", 20),
        ("20mbit-2", 20),
    ];
    let mut leaves = rates.map(|(name, mbit)| Leaf {
        name,
        rate_bps: Some(mbit * MBIT),
        ..Leaf::default()
    });
    leaves[0].priority = first_priority;
    Tree {
        link_rate_bps: 100 * MBIT,
        tenants: Vec::new(),
        leaves: leaves.into(),
    }
}

/// The times of starts and stops, by the clock of the receive timestamps.
struct Run {
    flows: Vec<Flow>,
    /// Of each class.
    starts_ns: Vec<u64>,
    first_stop_ns: u64,
    ended_ns: u64,
}

impl Run {
    fn of(tree: &Tree, setup: &Setup, short: bool) -> Result<Self> {
        let (step_ms, all_ms) = if short { (100, 1_200) } else { (2_000, 4_500) };
        let (step, all) = (
            Duration::from_millis(step_ms),
            Duration::from_millis(all_ms),
        );
        let shape = tree.shape();
        let sources = Source::open(&shape, BACKLOG)?;
        for (source, options) in sources.iter().zip(&setup.sockets) {
            source.configure(options)?;
        }
        let classes = sources.len();
        let whole = step * (2 * classes as u32) + all;
        let sinks = Sink::open(&shape, whole)?;
        let mut traffic = Traffic::at_rest(&shape, sources, sinks)?;

        let mut starts_ns = Vec::new();
        for class in 0..classes {
            if class > 0 {
                traffic.pump(step)?;
            }
            starts_ns.push(receive_clock_ns()?);
            traffic.start(class)?;
        }
        traffic.pump(all)?;
        let first_stop_ns = receive_clock_ns()?;
        for class in 0..classes {
            traffic.stop(class)?;
            traffic.pump(step)?;
        }
        let ended_ns = receive_clock_ns()?;
        Ok(Self {
            flows: traffic.finish()?,
            starts_ns,
            first_stop_ns,
            ended_ns,
        })
    }

    fn rows(&self, case: &str, tree: &Tree, scheduler: Scheduler) -> Result<Vec<Row>> {
        let frame_bits = u64::from(tree.shape().frame_bytes()) * 8;
        let arrivals_ns: Vec<&[u64]> = self
            .flows
            .iter()
            .map(|flow| flow.record.arrivals_ns.as_slice())
            .collect();
        let entitled_bps = tree.entitled_bps(&vec![true; arrivals_ns.len()]);
        let all_active = self.starts_ns[arrivals_ns.len() - 1] + SETTLE_NS..self.first_stop_ns;
        let errors_percent = share_errors_percent(&arrivals_ns, &entitled_bps, &all_active)
            .ok_or_else(|| ExperimentError::NoTraffic {
                scheduler: scheduler.name(),
                case: case.to_owned(),
                sent: self.flows.iter().map(|flow| flow.sent).sum(),
                received: arrivals_ns.iter().map(|one| one.len() as u64).sum(),
            })?;
        let achieved_bps: Vec<f64> = arrivals_ns
            .iter()
            .map(|one| rate_bps(one, &all_active, frame_bits))
            .collect();
        let overshoots_ns = self.overshoots_ns(&arrivals_ns, tree, frame_bits);

        let row = |part: Option<&str>, figures: Metrics| Row {
            scheduler: scheduler.name().to_owned(),
            case: part.map_or_else(|| case.to_owned(), |part| format!("{case}/{part}")),
            metrics: figures,
        };
        let mut together = metrics([
            ("classes", json!(arrivals_ns.len())),
            ("target_bps", json!(entitled_bps.iter().sum::<f64>())),
            ("achieved_bps", json!(achieved_bps.iter().sum::<f64>())),
            (
                "share_error_max_percent",
                json!(errors_percent.iter().copied().fold(0.0, f64::max)),
            ),
            (
                "step_rate_error_max_percent",
                json!(self.step_errors_percent(&arrivals_ns, tree, frame_bits)),
            ),
            ("overshoot_ns", json!(overshoots_ns.iter().max())),
        ]);
        together.extend(Packets::of(&self.flows).metrics());
        let mut rows = vec![row(None, together)];
        for (index, leaf) in tree.leaves.iter().enumerate() {
            let mut figures = metrics([
                ("target_bps", json!(entitled_bps[index])),
                ("achieved_bps", json!(achieved_bps[index])),
                ("share_error_max_percent", json!(errors_percent[index])),
                ("overshoot_ns", json!(overshoots_ns[index])),
                (
                    "rate_curve_bps",
                    json!(self.curve(arrivals_ns[index], frame_bits)),
                ),
            ]);
            figures.extend(Packets::of(&self.flows[index..=index]).metrics());
            rows.push(row(Some(leaf.name), figures));
        }
        Ok(rows)
    }

    /// The largest error of a class's rate in any step from its start on, until the first stop;
    /// `None` for steps too short to have settled.
    fn step_errors_percent(
        &self,
        arrivals_ns: &[&[u64]],
        tree: &Tree,
        frame_bits: u64,
    ) -> Option<f64> {
        let ends_ns = self.starts_ns[1..].iter().chain([&self.first_stop_ns]);
        let mut worst = None;
        for (step, (start_ns, end_ns)) in self.starts_ns.iter().zip(ends_ns).enumerate() {
            let span = start_ns + SETTLE_NS..*end_ns;
            if span.end.saturating_sub(span.start) < SETTLE_NS {
                return None;
            }
            let active: Vec<bool> = (0..arrivals_ns.len()).map(|one| one <= step).collect();
            let entitled_bps = tree.entitled_bps(&active);
            for class in 0..=step {
                let achieved_bps = rate_bps(arrivals_ns[class], &span, frame_bits);
                let error = (achieved_bps / entitled_bps[class] - 1.0).abs() * 100.0;
                worst = Some(error.max(worst.unwrap_or(0.0)));
            }
        }
        worst
    }

    /// The longest overshoot of each class after any stop. A class has stopped when its last
    /// frame has arrived.
    fn overshoots_ns(&self, arrivals_ns: &[&[u64]], tree: &Tree, frame_bits: u64) -> Vec<u64> {
        let stops_ns: Vec<u64> = arrivals_ns
            .iter()
            .map(|one| one.last().copied().unwrap_or(self.ended_ns))
            .collect();
        let mut longest_ns = vec![0; arrivals_ns.len()];
        for (stopped, ends) in stops_ns.windows(2).enumerate() {
            let active: Vec<bool> = (0..arrivals_ns.len()).map(|one| one > stopped).collect();
            let entitled_bps = tree.entitled_bps(&active);
            for class in stopped + 1..arrivals_ns.len() {
                let lasts_ns = overshoot_ns(
                    arrivals_ns[class],
                    &(ends[0]..ends[1]),
                    entitled_bps[class],
                    frame_bits,
                );
                longest_ns[class] = longest_ns[class].max(lasts_ns);
            }
        }
        longest_ns
    }

    /// `[time since the start in ns, rate]` over the whole run.
    fn curve(&self, arrivals_ns: &[u64], frame_bits: u64) -> Vec<(u64, f64)> {
        let started_ns = self.starts_ns[0];
        let span: Range<u64> = started_ns..self.ended_ns;
        span.step_by(CURVE_STEP_NS as usize)
            .map(|from_ns| {
                let frames = count(arrivals_ns, &(from_ns..from_ns + CURVE_STEP_NS));
                let bits = frames as u64 * frame_bits;
                (
                    from_ns - started_ns,
                    bits as f64 * 1e9 / CURVE_STEP_NS as f64,
                )
            })
            .collect()
    }
}
