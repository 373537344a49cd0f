//! How late a qdisc's timer lets packets go, beside a sender and a receiver on the same processor.
//!
//! A class of Takt that never runs empty sends at exact distances from its first packet, which does
//! not wait. A packet that leaves later than that left late.

use std::collections::BTreeMap;

use serde_json::json;
use takt_policy::traffic::Distribution;
use takt_report::Row;
use takt_sim::Terms;

use super::delivery::Delivery;
use super::{player, schedule, setup, start};
use crate::experiment::bench::Bench;
use crate::experiment::error::Result;
use crate::experiment::metrics::metrics;
use crate::experiment::root::Root;
use crate::experiment::setup::Qdisc;

/// 1,211,200 ns for each of its packets.
const POLICY: &str = "[link.va]\nrate = \"100mbit\"\nbackend = \"takt\"\nslack = \"0us\"\n\
    [[link.va.class]]\nname = \"paced\"\nrate = \"10mbit\"\naqm = \"off\"\n\
    match = { dst_port = 1 }\n";
const TRAFFIC: &str = "[[source]]\nname = \"paced\"\nkind = \"cbr\"\nrate = \"10200kbit\"\n\
    headers = { dst_port = 1 }\n";
const DISTANCE_NS: u64 = 1_211_200;
const BUCKET_NS: u64 = 500;

pub struct Lateness {
    /// For the simulator.
    pub times: Distribution,
    late_ns: Vec<u64>,
}

pub fn measure(bench: &Bench, terms: Terms) -> Result<Lateness> {
    eprintln!("sim: how late timers are");
    let setup = setup(POLICY, TRAFFIC, &Distribution::default())?;
    let schedule = schedule::of(&setup, terms.seed, terms.duration_ns);
    let mut root = Root::new(bench.takt());
    root.attach("takt", &Qdisc::Takt(POLICY.to_owned()))?;
    let deliveries = player::play(&setup, &schedule, start::soon_ns()?)?;
    root.detach()?;
    Ok(Lateness::from_deliveries(&deliveries))
}

impl Lateness {
    fn from_deliveries(deliveries: &[Delivery]) -> Self {
        let arrivals: Vec<u64> = deliveries.iter().filter_map(|one| one.arrived_ns).collect();
        let first_ns = arrivals.first().copied().unwrap_or(0);
        let due = (0..).map(|at| first_ns + at * DISTANCE_NS);
        let mut late_ns: Vec<u64> = arrivals
            .iter()
            .zip(due)
            .skip(1)
            .map(|(arrived_ns, due_ns)| arrived_ns.saturating_sub(due_ns))
            .collect();
        late_ns.sort_unstable();
        let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
        for late_ns in &late_ns {
            *buckets.entry(late_ns / BUCKET_NS * BUCKET_NS).or_default() += 1;
            // The next one's edge ends this one.
            buckets
                .entry((late_ns / BUCKET_NS + 1) * BUCKET_NS)
                .or_default();
        }
        Self {
            times: Distribution::Histogram(buckets.into_iter().collect()),
            late_ns,
        }
    }

    /// The measured distribution, as traffic files have it.
    pub fn row(&self) -> Row {
        let at = |part: f64| {
            let last = self.late_ns.len().saturating_sub(1) as f64;
            self.late_ns.get((part * last).round() as usize)
        };
        let buckets = match &self.times {
            Distribution::Histogram(buckets) => buckets.as_slice(),
            _ => &[],
        };
        let written = buckets
            .iter()
            .map(|(edge_ns, count)| (format!("{edge_ns}ns"), count));
        Row {
            scheduler: "takt".to_owned(),
            case: "timers".to_owned(),
            metrics: metrics([
                ("late_p50_ns", json!(at(0.5))),
                ("late_p99_ns", json!(at(0.99))),
                ("late_max_ns", json!(at(1.0))),
                ("timer_late", json!(written.collect::<Vec<_>>())),
            ]),
        }
    }
}
