//! Does a class get its guarantee when all want theirs, its ceiling when it is alone, and its
//! part of what others leave?
//!
//! Each case is one tree on 100 Mbit/s that runs through phases, in which different classes
//! have packets. Each class's expected rate is written beside it.

use std::time::Duration;

use serde_json::json;
use takt_report::Row;

use super::arrivals::Packets;
use super::shares::rate_bps;
use super::tree::{Leaf, Tenant, Tree};
use super::tree_setup::tree_setup;
use crate::experiment::error::Result;
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::root::Root;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::Setup;
use crate::experiment::sink::Sink;
use crate::experiment::source::Source;
use crate::experiment::traffic::{Traffic, receive_clock_ns};

const MBIT: u64 = 1_000_000;
/// The most packets that each class keeps queued.
const BACKLOG: u32 = 16;
/// By then the stopped classes have no packets left.
const SETTLE: Duration = Duration::from_millis(100);

struct Case {
    name: &'static str,
    is_in_short: bool,
    tree: Tree,
    phases: Vec<Phase>,
}

struct Phase {
    kind: Kind,
    /// The Mbit/s expected for each class of the tree; zero: it has no packets.
    wanted_mbit: &'static [f64],
}

/// What a phase shows, and the metric of the case with its worst error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One class alone: its ceiling.
    Lone,
    /// All at once: their guarantees.
    All,
    /// Some: what the others leave is lent.
    Some,
}

impl Kind {
    const METRICS: [(Self, &'static str); 3] = [
        (Self::Lone, "ceil_error_max_percent"),
        (Self::All, "guarantee_error_max_percent"),
        (Self::Some, "lent_error_max_percent"),
    ];
}

/// A phase's measurement.
struct Seen {
    achieved_bps: Vec<f64>,
    wanted_bps: Vec<f64>,
    duration: Duration,
}

impl Seen {
    fn error_percent(&self) -> f64 {
        self.achieved_bps
            .iter()
            .zip(&self.wanted_bps)
            .map(|(achieved_bps, wanted_bps)| (achieved_bps / wanted_bps - 1.0).abs() * 100.0)
            .fold(0.0, f64::max)
    }

    fn metrics(&self) -> Metrics {
        metrics([
            ("classes", json!(self.wanted_bps.len())),
            ("target_bps", json!(self.wanted_bps.iter().sum::<f64>())),
            ("achieved_bps", json!(self.achieved_bps.iter().sum::<f64>())),
            ("rate_error_percent", json!(self.error_percent())),
            ("class_target_bps", json!(self.wanted_bps)),
            ("class_achieved_bps", json!(self.achieved_bps)),
            ("duration_ns", json!(self.duration.as_nanos() as u64)),
        ])
    }
}

/// Rows of every case that the scheduler can express.
pub fn run(scheduler: Scheduler, root: &mut Root<'_>, short: bool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let wanted = cases()
        .into_iter()
        .filter(|case| case.is_in_short || !short);
    for case in wanted {
        if let Some(setup) = tree_setup(scheduler, &case.tree) {
            eprintln!("pacing: {}, {}", scheduler.name(), case.name);
            root.attach(scheduler.name(), &setup.qdisc)?;
            rows.extend(case.rows(scheduler, &setup, short)?);
        }
    }
    Ok(rows)
}

fn cases() -> [Case; 3] {
    let leaf = |name, mbit: u64, ceil_mbit: u64| Leaf {
        name,
        rate_bps: Some(mbit * MBIT),
        ceil_bps: Some(ceil_mbit * MBIT),
        ..Leaf::default()
    };
    let of = |name, leaf: Leaf| Leaf {
        tenant: Some(name),
        ..leaf
    };
    let tenant = |name, mbit: u64, ceil_mbit: u64| Tenant {
        name,
        rate_bps: mbit * MBIT,
        ceil_bps: ceil_mbit * MBIT,
    };
    let tree = |tenants: Vec<Tenant>, leaves: Vec<Leaf>| Tree {
        link_rate_bps: 100 * MBIT,
        tenants,
        leaves,
    };
    let phase = |kind, wanted_mbit| Phase { kind, wanted_mbit };
    [
        Case {
            name: "borrowing",
            is_in_short: true,
            tree: tree(
                vec![],
                vec![leaf("50", 50, 100), leaf("30", 30, 80), leaf("20", 20, 60)],
            ),
            phases: vec![
                phase(Kind::Lone, &[100.0, 0.0, 0.0]),
                phase(Kind::Lone, &[0.0, 80.0, 0.0]),
                phase(Kind::Lone, &[0.0, 0.0, 60.0]),
                phase(Kind::All, &[50.0, 30.0, 20.0]),
                // 30 to lend, 5 to 2.
                phase(Kind::Some, &[50.0 + 150.0 / 7.0, 0.0, 20.0 + 60.0 / 7.0]),
                // 50 to lend, 3 to 2.
                phase(Kind::Some, &[0.0, 60.0, 40.0]),
            ],
        },
        Case {
            name: "borrowing-priority",
            is_in_short: false,
            tree: tree(
                vec![],
                vec![
                    leaf("40", 40, 60),
                    leaf("55", 55, 100),
                    Leaf {
                        name: "rest",
                        floor_bps: Some(5 * MBIT),
                        ..Leaf::default()
                    },
                ],
            ),
            phases: vec![
                phase(Kind::Lone, &[0.0, 0.0, 100.0]),
                phase(Kind::All, &[40.0, 55.0, 5.0]),
                // The part that the other may not take.
                phase(Kind::Some, &[60.0, 0.0, 40.0]),
                // The other may take all but the floor.
                phase(Kind::Some, &[0.0, 95.0, 5.0]),
            ],
        },
        Case {
            name: "borrowing-tenants",
            is_in_short: false,
            tree: tree(
                vec![tenant("acme", 60, 80), tenant("bolt", 40, 100)],
                vec![
                    of("acme", leaf("acme-40", 40, 80)),
                    of("acme", leaf("acme-20", 20, 80)),
                    of("bolt", leaf("bolt-30", 30, 100)),
                    of("bolt", leaf("bolt-10", 10, 50)),
                ],
            ),
            phases: vec![
                // The tenant's ceiling, the link, the class's ceiling.
                phase(Kind::Lone, &[80.0, 0.0, 0.0, 0.0]),
                phase(Kind::Lone, &[0.0, 0.0, 100.0, 0.0]),
                phase(Kind::Lone, &[0.0, 0.0, 0.0, 50.0]),
                phase(Kind::All, &[40.0, 20.0, 30.0, 10.0]),
                // The tenant's 80, of which 20 are lent, 2 to 1.
                phase(
                    Kind::Some,
                    &[40.0 + 40.0 / 3.0, 20.0 + 20.0 / 3.0, 0.0, 0.0],
                ),
                // Each takes its tenant's whole guarantee: it is lent within the tenant.
                phase(Kind::Some, &[0.0, 60.0, 0.0, 40.0]),
            ],
        },
    ]
}

impl Case {
    fn rows(&self, scheduler: Scheduler, setup: &Setup, short: bool) -> Result<Vec<Row>> {
        let duration = Duration::from_millis(if short { 150 } else { 3_000 });
        let shape = self.tree.shape();
        let sources = Source::open(&shape, BACKLOG)?;
        for (source, options) in sources.iter().zip(&setup.sockets) {
            source.configure(options)?;
        }
        let sinks = Sink::open(&shape, (SETTLE + duration) * self.phases.len() as u32)?;
        let mut traffic = Traffic::at_rest(&shape, sources, sinks)?;
        let mut windows = Vec::new();
        for phase in &self.phases {
            for (class, _) in phase.active() {
                traffic.start(class)?;
            }
            traffic.pump(SETTLE)?;
            let start_ns = receive_clock_ns()?;
            traffic.pump(duration)?;
            windows.push(start_ns..receive_clock_ns()?);
            for (class, _) in phase.active() {
                traffic.stop(class)?;
            }
        }
        let flows = traffic.finish()?;

        let frame_bits = u64::from(shape.frame_bytes()) * 8;
        let seen: Vec<Seen> = self
            .phases
            .iter()
            .zip(&windows)
            .map(|(phase, window)| Seen {
                achieved_bps: phase
                    .active()
                    .map(|(class, _)| &flows[class].record.arrivals_ns)
                    .map(|arrivals_ns| rate_bps(arrivals_ns, window, frame_bits))
                    .collect(),
                wanted_bps: phase.active().map(|(_, mbit)| mbit * 1e6).collect(),
                duration: Duration::from_nanos(window.end - window.start),
            })
            .collect();
        let row = |case: String, metrics| Row {
            scheduler: scheduler.name().to_owned(),
            case,
            metrics,
        };
        let parts = self
            .phases
            .iter()
            .zip(&seen)
            .map(|(phase, seen)| row(self.part(phase), seen.metrics()));
        let whole = row(
            self.name.to_owned(),
            self.together(&seen, Packets::of(&flows)),
        );
        Ok(std::iter::once(whole).chain(parts).collect())
    }

    fn together(&self, seen: &[Seen], packets: Packets) -> Metrics {
        let worst = |of: &dyn Fn(Kind) -> bool| {
            self.phases
                .iter()
                .zip(seen)
                .filter(|(phase, _)| of(phase.kind))
                .map(|(_, seen)| seen.error_percent())
                .fold(0.0, f64::max)
        };
        let mut row = metrics([
            ("classes", json!(self.tree.leaves.len())),
            ("rate_error_percent", json!(worst(&|_| true))),
        ]);
        for (kind, metric) in Kind::METRICS {
            row.insert(metric.to_owned(), json!(worst(&|one| one == kind)));
        }
        row.extend(packets.metrics());
        row
    }

    /// The phase by the classes that have packets.
    fn part(&self, phase: &Phase) -> String {
        let names: Vec<_> = phase
            .active()
            .map(|(class, _)| self.tree.leaves[class].name)
            .collect();
        match phase.kind {
            Kind::All => format!("{}/all", self.name),
            Kind::Lone | Kind::Some => format!("{}/{}", self.name, names.join("+")),
        }
    }
}

impl Phase {
    /// Classes that have packets, and the Mbit/s each is to get.
    fn active(&self) -> impl Iterator<Item = (usize, f64)> {
        let wanted = self.wanted_mbit.iter().copied().enumerate();
        wanted.filter(|(_, mbit)| *mbit > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_phase_wants_more_than_its_classes_may_have() {
        for case in cases() {
            let link_mbit = case.tree.link_rate_bps as f64 / 1e6;
            for phase in &case.phases {
                assert_eq!(phase.wanted_mbit.len(), case.tree.leaves.len());
                let together: f64 = phase.wanted_mbit.iter().sum();
                assert!(together <= link_mbit + 1e-9, "{}", case.part(phase));
                for (class, mbit) in phase.active() {
                    let leaf = &case.tree.leaves[class];
                    let ceil = leaf.ceil_bps.unwrap_or(case.tree.link_rate_bps) as f64 / 1e6;
                    let floor = leaf.guaranteed_bps() as f64 / 1e6;
                    assert!((floor..=ceil).contains(&mbit), "{}", case.part(phase));
                }
            }
        }
    }
}
