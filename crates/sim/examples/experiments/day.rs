//! A day of a home gateway: the example's policy and traffic, with what a household does at that
//! hour. Ten minutes of each of the 24 hours are simulated, each with a seed of its own.

use serde_json::json;
use takt_policy::traffic::Traffic;
use takt_report::Row;
use takt_sim::{Figures, Setup, Terms};

use super::parallel::in_parallel;
use super::setting::{NS_PER_S, qdisc, row, seed};

const POLICY: &str = include_str!("../../../../examples/home-gateway.toml");
const TRAFFIC: &str = include_str!("../../../../examples/traffic/home-gateway.toml");
const SCHEDULERS: [&str; 4] = ["takt", "takt-tree", "cake", "fifo"];
const PART_NS: u64 = 600 * NS_PER_S;

/// From this hour to that one these sources send.
const HOURS: [(u64, u64, &[&str]); 4] = [
    (0, 7, &["names", "cameras", "sync"]),
    (7, 17, &["calls", "names", "cameras", "uploads", "pages"]),
    (
        17,
        23,
        &[
            "calls", "game", "names", "cameras", "uploads", "pages", "sync",
        ],
    ),
    (23, 24, &["names", "cameras", "pages", "sync"]),
];

pub fn run() -> Vec<Row> {
    let hours = HOURS.iter().flat_map(|(from, to, sources)| {
        let sources = *sources;
        (*from..*to).map(move |hour| (hour, sources))
    });
    let all: Vec<_> = SCHEDULERS
        .iter()
        .flat_map(|name| hours.clone().map(|hour| (*name, hour)))
        .collect();
    let figures = in_parallel(&all, |(name, (hour, sources))| {
        hour_of(name, *hour, sources)
    });
    let day = SCHEDULERS.iter().zip(figures.chunks(24));
    day.flat_map(|(name, hours)| of_day(name, hours)).collect()
}

fn hour_of(name: &str, hour: u64, sources: &[&str]) -> Vec<Figures> {
    let policy = takt_policy::parse("policy", POLICY).expect("a policy");
    let traffic = takt_policy::traffic::parse("traffic", TRAFFIC).expect("traffic");
    let mut traffic: Traffic = traffic;
    let is_on = |name: &str| sources.contains(&name);
    traffic.sources.retain(|source| is_on(&source.name));
    assert_eq!(
        traffic.sources.len(),
        sources.len(),
        "all are in the example"
    );
    let setup = Setup::new(&policy, "policy", None, &traffic).expect("a setup");
    let terms = Terms {
        seed: 24 * (seed() - 1) + hour + 1,
        duration_ns: PART_NS,
    };
    takt_sim::run(&setup, "", &mut *qdisc(name, &setup), terms).sources
}

/// A row for each source: over the hours in which it sends.
fn of_day(name: &str, hours: &[Vec<Figures>]) -> Vec<Row> {
    let mut sources: Vec<&str> = Vec::new();
    for figures in hours.iter().flatten() {
        if !sources.contains(&figures.name.as_str()) {
            sources.push(&figures.name);
        }
    }
    let rows = sources.into_iter().map(|source| {
        let its: Vec<&Figures> = hours
            .iter()
            .flatten()
            .filter(|figures| figures.name == source)
            .collect();
        let sum = |part: fn(&Figures) -> f64| its.iter().map(|it| part(it)).sum::<f64>();
        let worst = |part: fn(&takt_sim::Delay) -> u64| {
            let delays = its.iter().filter_map(|it| it.delay.as_ref());
            delays.map(part).max()
        };
        let mut p50_ns: Vec<u64> = its
            .iter()
            .filter_map(|it| it.delay.map(|delay| delay.p50_ns))
            .collect();
        p50_ns.sort_unstable();
        let lost = sum(|it| it.lost.packets() as f64) * 100.0
            / sum(|it| it.offered_packets as f64).max(1.0);
        row(
            name,
            &format!("day/{source}"),
            [
                (
                    "throughput_bps",
                    json!(sum(|it| it.delivered_bps) / its.len() as f64),
                ),
                ("delay_p50_ns", json!(p50_ns.get(p50_ns.len() / 2))),
                ("delay_p99_ns", json!(worst(|delay| delay.p99_ns))),
                ("delay_max_ns", json!(worst(|delay| delay.max_ns))),
                ("lost_percent", json!(lost)),
            ],
        )
    });
    rows.collect()
}
