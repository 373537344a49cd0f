//! The cost of packets that never wait.

use std::time::{Duration, Instant};

use serde_json::json;
use takt_report::{Row, nearest_rank};

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

/// One scheduler in one case in one round: nanoseconds for each packet, pass by pass.
pub struct Measured {
    case: &'static str,
    scheduler: Scheduler,
    packet_ns: [i64; PASSES],
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
            packet_ns: Sender::open(scheduler, &self.shape, &setup)?.passes()?,
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

    pub(super) fn passes(&mut self) -> Result<[i64; PASSES]> {
        std::thread::sleep(SETTLE);
        // Afterwards every flow has had a packet, and every cache has seen it.
        self.pass(self.sources.len() as i64)?;
        let before = pair::received()?;
        let mut packet_ns = [0; PASSES];
        for result in &mut packet_ns {
            *result = self.pass(PACKETS)?.as_nanos() as i64 / PACKETS;
        }
        let arrived = pair::received()?.frames - before.frames;
        let sent = PASSES as u64 * PACKETS as u64;
        if arrived < sent {
            return Err(ExperimentError::Lost {
                scheduler: self.scheduler,
                sent,
                arrived,
            });
        }
        Ok(packet_ns)
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
    let of = |case: &'static str, scheduler| -> Vec<i64> {
        measured
            .iter()
            .filter(|one| one.case == case && one.scheduler == scheduler)
            .flat_map(|one| one.packet_ns)
            .collect()
    };
    let mut rows = Vec::new();
    for case in cases {
        let mut baseline_ns = of(case.name, Scheduler::None);
        for scheduler in Scheduler::ALL {
            rows.extend(
                cost(&mut of(case.name, scheduler), &mut baseline_ns).map(|metrics| Row {
                    scheduler: scheduler.name().to_owned(),
                    case: case.name.to_owned(),
                    metrics,
                }),
            );
        }
    }
    rows
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
    fn a_scheduler_without_samples_has_no_cost() {
        assert_eq!(cost(&mut [], &mut [1000]), None);
    }
}
