//! The cost of packets that never wait.

use std::time::{Duration, Instant};

use serde_json::json;
use takt_report::{Row, nearest_rank};

use super::counters::{Counted, Counters};

use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair;
use crate::experiment::root::Root;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::{Setup, setup};
use crate::experiment::shape::Shape;
use crate::experiment::source::{self, Sent, Source};

/// A packet of the fastest class takes 1.2 µs, and sending one takes longer: none ever waits.
pub(super) const LINK_RATE_BPS: u64 = 100_000_000_000;
const CLASS_RATE_MAX_BPS: u64 = 10_000_000_000;
/// The send buffer: room for one packet would suffice, since none waits in it.
pub(super) const BUFFER_PACKETS: u32 = 8;
/// Packets of one pass, and passes of one measurement.
const PACKETS: i64 = 4_000;
pub(super) const PASSES: usize = 3;
/// Until the kernel has freed what the previous scheduler has left.
const SETTLE: Duration = Duration::from_millis(200);

const CLASSES: [(&str, u64); 3] = [
    ("1-class", 1),
    ("100-classes", 100),
    ("2000-classes", 2_000),
];
const FLOWS: [(&str, u64); 3] = [
    ("10-flows", 10),
    ("2000-flows", 2_000),
    ("10000-flows", 10_000),
];

pub struct AtOnce {
    pub name: &'static str,
    pub(super) shape: Shape,
}

/// Sources that send in turn.
pub(super) struct Sender {
    scheduler: &'static str,
    sources: Vec<Source>,
    next: usize,
    payload: Vec<u8>,
}

/// One scheduler in one case in one round.
pub struct Measured {
    case: &'static str,
    scheduler: Scheduler,
    passes: Passes,
}

pub(super) struct Passes {
    /// Nanoseconds for each packet, pass by pass.
    pub packet_ns: [i64; PASSES],
    /// By the processor, in all of them.
    counted: Counted,
}

impl AtOnce {
    pub fn cases() -> Vec<Self> {
        Self::of(&CLASSES, &FLOWS)
    }

    /// Classes of one flow each, and flows of one class: their names and numbers.
    pub(super) fn of(classes: &[(&'static str, u64)], flows: &[(&'static str, u64)]) -> Vec<Self> {
        let rate_bps = |among: u64| CLASS_RATE_MAX_BPS.min(LINK_RATE_BPS / among);
        let classes = classes.iter().map(|(name, count)| {
            let rates = (0..*count).map(|_| rate_bps(*count));
            (*name, Shape::udp(rates))
        });
        let flows = flows
            .iter()
            .map(|(name, count)| (*name, Shape::flows(*count as usize, rate_bps(*count))));
        classes
            .chain(flows)
            .map(|(name, shape)| Self {
                name,
                shape: Shape {
                    link_rate_bps: Some(LINK_RATE_BPS),
                    waits: false,
                    ..shape
                },
            })
            .collect()
    }

    /// `None` if the scheduler cannot express the case.
    pub fn measure(&self, scheduler: Scheduler, root: &mut Root<'_>) -> Result<Option<Measured>> {
        let Some(setup) = setup(scheduler, &self.shape) else {
            return Ok(None);
        };
        root.attach(scheduler.name(), &setup.qdisc)?;
        Ok(Some(Measured {
            case: self.name,
            scheduler,
            passes: Sender::open(scheduler, &self.shape, &setup)?.passes()?,
        }))
    }
}

impl Sender {
    pub(super) fn open(scheduler: Scheduler, shape: &Shape, setup: &Setup) -> Result<Self> {
        let sources = Source::open(shape, BUFFER_PACKETS)?;
        for (source, options) in sources.iter().zip(&setup.sockets) {
            source.configure(options)?;
        }
        Ok(Self::of(scheduler.name(), sources, shape))
    }

    pub(super) fn of(scheduler: &'static str, sources: Vec<Source>, shape: &Shape) -> Self {
        Self {
            scheduler,
            sources,
            next: 0,
            payload: source::payload(shape.packet_bytes),
        }
    }

    /// Its sources.
    pub(super) fn count(&self) -> usize {
        self.sources.len()
    }

    pub(super) fn passes(&mut self) -> Result<Passes> {
        std::thread::sleep(SETTLE);
        // Afterwards every flow has had a packet, and every cache has seen it.
        self.pass(self.sources.len() as i64)?;
        let before = pair::received()?;
        let sent = PASSES as u64 * PACKETS as u64;
        let (packet_ns, counted) = Counters::open().during(sent, || {
            let mut packet_ns = [0; PASSES];
            for result in &mut packet_ns {
                *result = self.pass(PACKETS)?.as_nanos() as i64 / PACKETS;
            }
            Ok(packet_ns)
        })?;
        let arrived = pair::received()?.frames - before.frames;
        if arrived < sent {
            return Err(ExperimentError::Lost {
                scheduler: self.scheduler,
                sent,
                arrived,
            });
        }
        Ok(Passes { packet_ns, counted })
    }

    /// Sends packets of the flows in turn.
    pub(super) fn pass(&mut self, packets: i64) -> Result<Duration> {
        let started = Instant::now();
        for _ in 0..packets {
            if self.sources[self.next].send(&mut self.payload)? == Sent::Full {
                return Err(ExperimentError::HeldBack {
                    scheduler: self.scheduler,
                });
            }
            self.next += 1;
            if self.next == self.sources.len() {
                self.next = 0;
            }
        }
        Ok(started.elapsed())
    }
}

/// A row for each scheduler in each case that has measurements.
pub fn rows(cases: &[AtOnce], measured: &[Measured]) -> Vec<Row> {
    let of = |case: &'static str, scheduler| -> Vec<&Passes> {
        measured
            .iter()
            .filter(|one| one.case == case && one.scheduler == scheduler)
            .map(|one| &one.passes)
            .collect()
    };
    let ns_of = |rounds: &[&Passes]| -> Vec<i64> {
        let passes = rounds.iter().flat_map(|round| round.packet_ns);
        passes.collect()
    };
    let mut rows = Vec::new();
    for case in cases {
        let baseline = of(case.name, Scheduler::None);
        let mut baseline_ns = ns_of(&baseline);
        for scheduler in Scheduler::ALL {
            let rounds = of(case.name, scheduler);
            let Some(mut metrics) = cost(&mut ns_of(&rounds), &mut baseline_ns) else {
                continue;
            };
            metrics.extend(counted(&rounds, &baseline));
            rows.push(Row {
                scheduler: scheduler.name().to_owned(),
                case: case.name.to_owned(),
                metrics,
            });
        }
    }
    rows
}

/// What the processor counted for a packet, less what it counted with no scheduler: medians.
fn counted(rounds: &[&Passes], baseline: &[&Passes]) -> Metrics {
    let median = |rounds: &[&Passes], at: usize| {
        let counts = rounds.iter().filter_map(|round| round.counted.get(at));
        let mut counts: Vec<f64> = counts.map(|(_, count)| *count).collect();
        counts.sort_by(f64::total_cmp);
        counts.get(counts.len() / 2).copied()
    };
    let Some(first) = rounds.first() else {
        return Metrics::default();
    };
    let added = first
        .counted
        .iter()
        .enumerate()
        .filter_map(|(at, (metric, _))| {
            let added = median(rounds, at)? - median(baseline, at)?;
            Some(((*metric).to_owned(), json!((10.0 * added).round() / 10.0)))
        });
    added.collect()
}

/// The cost of a packet, less its cost with no scheduler: medians, and the distance of the
/// passes.
pub(super) fn cost(packet_ns: &mut [i64], baseline_ns: &mut [i64]) -> Option<Metrics> {
    packet_ns.sort_unstable();
    baseline_ns.sort_unstable();
    let baseline_median_ns = nearest_rank(baseline_ns, 500)?;
    let cost_ns = nearest_rank(packet_ns, 500)? - baseline_median_ns;
    let spread_ns = packet_ns.last()? - packet_ns.first()?;
    Some(metrics([
        ("cost_ns_per_packet", json!(cost_ns)),
        ("cost_spread_ns", json!(spread_ns)),
        ("baseline_ns_per_packet", json!(baseline_median_ns)),
        ("packets", json!(packet_ns.len() as i64 * PACKETS)),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_what_the_median_packet_takes_longer() {
        let metrics = cost(&mut [1230, 1200, 1210], &mut [1000, 1002, 998]).expect("has samples");
        assert_eq!(metrics["cost_ns_per_packet"], json!(210));
        assert_eq!(metrics["cost_spread_ns"], json!(30));
        assert_eq!(metrics["packets"], json!(3 * PACKETS));
    }

    #[test]
    fn what_the_processor_counts_is_beyond_no_scheduler() {
        let round = |cycles| Passes {
            packet_ns: [0; PASSES],
            counted: vec![("cycles_per_packet", cycles)],
        };
        let (takt, none) = ([3.0, 5.0, 4.0].map(round), [1.0, 1.5, 9.0].map(round));
        let metrics = counted(&takt.each_ref(), &none.each_ref());
        assert_eq!(metrics["cycles_per_packet"], json!(2.5));
        assert_eq!(counted(&[], &none.each_ref()), Metrics::default());
    }

    #[test]
    fn a_scheduler_without_samples_has_no_cost() {
        assert_eq!(cost(&mut [], &mut [1000]), None);
    }
}
