//! The figures of a run, as `takt sim --output json` prints them: field names are a contract, and
//! those of quantities end in their unit.

use serde::Serialize;

use super::{
    collector::Collector,
    tally::{Tally, Times},
};
use crate::setup::{ClassTerms, Setup};

/// One scheduler's run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The scheduler's name.
    pub scheduler: String,
    /// Bits on the wire while it was measured, over its rate; of a medium, the part of the time in
    /// which the air was taken.
    pub utilisation_percent: f64,
    /// Packets that left.
    pub delivered_packets: u64,
    /// In the traffic file's order.
    pub sources: Vec<Figures>,
    /// In the policy's order, those that packets came for.
    pub classes: Vec<Figures>,
    /// In the traffic file's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stations: Vec<StationFigures>,
}

/// A receiver over the air.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StationFigures {
    /// In the traffic file.
    pub name: String,
    /// In the mean; `null` where nothing weighs it.
    pub weight: Option<f64>,
    /// What arrived.
    pub delivered_bps: f64,
    /// Its frames' part of the time, with repetitions and answers.
    pub air_percent: f64,
    /// Repeated as often as the radio may, in vain.
    pub lost_packets: u64,
    /// What arrived in each second, up to the last one with something.
    #[serde(skip)]
    pub each_second_bytes: Vec<u64>,
}

/// The figures of one source, or of one class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// In the traffic file, or the policy.
    pub name: String,
    /// What came, as the wire counts.
    pub offered_bps: f64,
    /// What was sent.
    pub delivered_bps: f64,
    /// How far a class was from its clock's rate, by least squares: positive is too fast. Only of a
    /// class that always had packets waiting, because its senders could send more; `null` for
    /// others, and for sources.
    pub rate_error_ppm: Option<f64>,
    /// Packets that came.
    pub offered_packets: u64,
    /// Packets that left.
    pub delivered_packets: u64,
    /// Packets that left with a congestion mark.
    pub marked_packets: u64,
    /// Packets that did not leave.
    pub lost: Lost,
    /// From arrival to the last bit on the wire. `null` without packets.
    pub delay: Option<Delay>,
    /// From a transfer's beginning to the arrival of its last byte. Without transfers it is left
    /// out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
    /// How far packets that waited were from the distance that their clock's rate asks for. `null`
    /// without such packets.
    pub spacing_error: Option<Spacing>,
    /// Where a packet's delay comes from. `null` without packets.
    pub held: Option<Held>,
    /// Of a class: moments from the run's beginning on, in nanoseconds, and the rate around them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rate_curve_bps: Vec<(u64, u64)>,
}

/// Lost packets by the reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// Their queue was full.
    pub queue_full_packets: u64,
    /// Queue management dropped them.
    pub managed_packets: u64,
    /// Their departure time was too far ahead.
    pub beyond_horizon_packets: u64,
    /// The radio repeated them as often as it may.
    pub on_air_packets: u64,
}

impl Lost {
    /// All of them.
    pub fn packets(&self) -> u64 {
        self.queue_full_packets
            + self.managed_packets
            + self.beyond_horizon_packets
            + self.on_air_packets
    }
}

/// Percentiles of delays, to one in a hundred; the maximum is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Delay {
    /// The median.
    pub p50_ns: u64,
    /// 99 %.
    pub p99_ns: u64,
    /// 99.9 %.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// How long transfers took, to one in a hundred; the maximum is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Transfer {
    /// How many have arrived.
    pub count: u64,
    /// The median.
    pub p50_ns: u64,
    /// 99 %.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// Percentiles of the error of distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Spacing {
    /// The median.
    pub p50_ns: u64,
    /// 99 %.
    pub p99_ns: u64,
    /// The largest.
    pub max_ns: u64,
}

/// Where a packet spent its time, in the mean over packets, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Held {
    /// Behind earlier packets of its flow.
    pub behind_own_ns: u64,
    /// First of its flow, until its class's clocks let it go.
    pub by_clock_ns: u64,
    /// Then until others had gone.
    pub by_others_ns: u64,
    /// Of that, until a late timer fired; not part of `by_others_ns`.
    pub by_timer_ns: u64,
    /// In the device, before its first bit.
    pub in_device_ns: u64,
}

/// What a device was taken for.
pub(crate) enum Taken {
    Wire {
        rate_bps: u64,
    },
    Air {
        busy_ns: u64,
        stations: Vec<StationFigures>,
    },
}

impl Outcome {
    pub(crate) fn new(
        scheduler: &str,
        setup: &Setup,
        collector: &Collector,
        measured_ns: u64,
        taken: Taken,
    ) -> Self {
        let sources = (0..).zip(&setup.traffic.sources).map(|(at, source)| {
            let tally = sum(collector, |of, _| of == at);
            figures(&source.name, &tally, measured_ns)
        });
        let classes = (0..).zip(&setup.classes).filter_map(|(at, class)| {
            let tally = sum(collector, |_, within| within == at);
            let mut figures = figures(&class.name, &tally, measured_ns);
            let curve = &collector.classes[at as usize].curve;
            figures.rate_curve_bps = curve.points(collector.until_ns);
            figures.rate_error_ppm = rate_error_ppm(setup, class, &figures, collector, at);
            (tally.offered_packets + tally.delivered_packets > 0).then_some(figures)
        });
        let sources: Vec<Figures> = sources.collect();
        let delivered_bps: f64 = sources.iter().map(|source| source.delivered_bps).sum();
        Self {
            scheduler: scheduler.to_owned(),
            utilisation_percent: match taken {
                Taken::Wire { rate_bps } => delivered_bps * 100.0 / rate_bps as f64,
                Taken::Air { busy_ns, .. } => busy_ns as f64 * 100.0 / measured_ns as f64,
            },
            delivered_packets: sources.iter().map(|source| source.delivered_packets).sum(),
            classes: classes.collect(),
            sources,
            stations: match taken {
                Taken::Wire { .. } => Vec::new(),
                Taken::Air { stations, .. } => stations,
            },
        }
    }
}

fn rate_error_ppm(
    setup: &Setup,
    class: &ClassTerms,
    figures: &Figures,
    collector: &Collector,
    at: u32,
) -> Option<f64> {
    let clocks = if class.per_flow {
        setup.flows_of(class.id)
    } else {
        1
    };
    let target_bps = class.pace_bps? as f64 * clocks as f64;
    let wants_more = figures.offered_bps >= target_bps || setup.is_greedy(class.id);
    let of_class = &collector.classes[at as usize];
    if of_class.ran_empty || !wants_more {
        return None;
    }
    Some((of_class.slope.bps()? / target_bps - 1.0) * 1e6)
}

fn sum(collector: &Collector, is_part: impl Fn(u32, u32) -> bool) -> Tally {
    let mut all = Tally::default();
    let parts = collector.tallies.iter();
    for (_, _, tally) in parts.filter(|(source, class, _)| is_part(*source, *class)) {
        all.merge(tally);
    }
    all
}

fn figures(name: &str, tally: &Tally, measured_ns: u64) -> Figures {
    let bps = |bytes: u64| bytes as f64 * 8e9 / measured_ns as f64;
    Figures {
        name: name.to_owned(),
        offered_bps: bps(tally.offered_bytes),
        delivered_bps: bps(tally.delivered_bytes),
        rate_error_ppm: None,
        offered_packets: tally.offered_packets,
        delivered_packets: tally.delivered_packets,
        marked_packets: tally.marked_packets,
        lost: Lost {
            queue_full_packets: tally.full_packets,
            managed_packets: tally.managed_packets,
            beyond_horizon_packets: tally.beyond_packets,
            on_air_packets: tally.on_air_packets,
        },
        delay: delay(&tally.delay),
        transfer: transfer(&tally.transfers),
        spacing_error: spacing(&tally.spacing_error),
        held: held(tally),
        rate_curve_bps: Vec::new(),
    }
}

fn delay(times: &Times) -> Option<Delay> {
    (times.count() > 0).then(|| Delay {
        p50_ns: times.quantile_ns(0.5),
        p99_ns: times.quantile_ns(0.99),
        p999_ns: times.quantile_ns(0.999),
        max_ns: times.max_ns(),
    })
}

fn transfer(times: &Times) -> Option<Transfer> {
    (times.count() > 0).then(|| Transfer {
        count: times.count(),
        p50_ns: times.quantile_ns(0.5),
        p99_ns: times.quantile_ns(0.99),
        max_ns: times.max_ns(),
    })
}

fn spacing(times: &Times) -> Option<Spacing> {
    (times.count() > 0).then(|| Spacing {
        p50_ns: times.quantile_ns(0.5),
        p99_ns: times.quantile_ns(0.99),
        max_ns: times.max_ns(),
    })
}

fn held(tally: &Tally) -> Option<Held> {
    let packets = u128::from(tally.delivered_packets);
    let mean_ns = |sum_ns: u128| (sum_ns / packets) as u64;
    (packets > 0).then(|| Held {
        behind_own_ns: mean_ns(tally.held.behind_own_ns),
        by_clock_ns: mean_ns(tally.held.by_clock_ns),
        by_others_ns: mean_ns(tally.held.by_others_ns),
        by_timer_ns: mean_ns(tally.held.by_timer_ns),
        in_device_ns: mean_ns(tally.held.in_device_ns),
    })
}
