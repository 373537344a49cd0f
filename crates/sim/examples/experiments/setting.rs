//! Policies and traffic as text, schedulers by name, and rows.

use std::sync::OnceLock;

use serde_json::{Value, json};
use takt_planner::{departure::departure, tree::tree};
use takt_report::Row;
use takt_sim::{
    Figures, Outcome, Setup, Terms,
    qdisc::{
        Airtime, Cake, CakeTerms, Departure, Fifo, Fq, FqCodel, FqCodelTerms, FqTerms, Htb,
        PsPacer, Qdisc, Takt,
    },
};

pub const GBIT: u64 = 1_000_000_000;
pub const NS_PER_S: u64 = 1_000_000_000;
/// What Ethernet's wire takes for a frame of 1500 bytes.
pub const FRAME_BITS: u64 = 1538 * 8;

static SEED: OnceLock<u64> = OnceLock::new();

/// Of all random numbers, from the command line.
pub fn seed() -> u64 {
    *SEED.get_or_init(|| 1)
}

/// Before the first run.
pub fn set_seed(seed: u64) {
    SEED.set(seed).expect("it is set once");
}

pub fn setup(policy: &str, traffic: &str) -> Setup {
    let policy = takt_policy::parse("policy", policy).expect("a policy");
    let traffic = takt_policy::traffic::parse("traffic", traffic).expect("traffic");
    Setup::new(&policy, "policy", None, &traffic).expect("a setup")
}

/// A scheduler with the settings that `takt sim --beside` gives it.
pub fn qdisc(name: &str, setup: &Setup) -> Box<dyn Qdisc> {
    const MTU_BYTES: u32 = 1500;
    const FIFO_PACKETS: u32 = 1000;
    // tc-htb(8): what the ceiling lets through in one tick at least; this is one of 1000 Hz.
    const EXPERTS_BURST_NS: u64 = 1_000_000;
    let (link, ids) = (&setup.link, &setup.ids);
    match name {
        "takt" | "takt-gap" => Box::new(Takt::new(setup.tables.clone())),
        "takt-tree" => Box::new(Htb::new(&tree(link, ids, MTU_BYTES))),
        "htb" => {
            let mut tree = tree(link, ids, MTU_BYTES);
            for node in &mut tree.nodes {
                node.burst_bytes = (node.ceil_bps * EXPERTS_BURST_NS / 8 / NS_PER_S) as u32;
            }
            Box::new(Htb::new(&tree))
        }
        "takt-departure" => Box::new(Departure::new(&departure(link, ids, MTU_BYTES))),
        "pspacer" => Box::new(PsPacer::new(link.rate_bps, link.framing, &setup.classes)),
        "airtime" => Box::new(Airtime::new()),
        "cake" => Box::new(Cake::new(CakeTerms {
            rate_bps: link.rate_bps,
            framing: link.framing,
        })),
        "fq" => Box::new(Fq::new(FqTerms::default())),
        "fq_codel" => Box::new(FqCodel::new(FqCodelTerms::default())),
        "fifo" => Box::new(Fifo::new(FIFO_PACKETS)),
        _ => panic!("there is no scheduler {name}"),
    }
}

pub fn run(setup: &Setup, qdisc: &mut dyn Qdisc, duration_ns: u64) -> Outcome {
    let terms = Terms {
        seed: seed(),
        duration_ns,
    };
    takt_sim::run(setup, "", qdisc, terms)
}

pub fn row<const N: usize>(scheduler: &str, case: &str, metrics: [(&str, Value); N]) -> Row {
    let metrics = metrics.map(|(name, value)| (name.to_owned(), value));
    Row {
        scheduler: scheduler.to_owned(),
        case: case.to_owned(),
        metrics: metrics.into(),
    }
}

/// What users of a class or source notice.
pub fn noticed(figures: &Figures) -> [(&'static str, Value); 5] {
    let lost = figures.lost.packets() as f64 * 100.0 / figures.offered_packets.max(1) as f64;
    [
        ("throughput_bps", json!(figures.delivered_bps)),
        (
            "delay_p50_ns",
            json!(figures.delay.map(|delay| delay.p50_ns)),
        ),
        (
            "delay_p99_ns",
            json!(figures.delay.map(|delay| delay.p99_ns)),
        ),
        (
            "delay_max_ns",
            json!(figures.delay.map(|delay| delay.max_ns)),
        ),
        ("lost_percent", json!(lost)),
    ]
}

/// Jain's index of rates.
pub fn jain_index(rates: impl Iterator<Item = f64> + Clone) -> f64 {
    let sum: f64 = rates.clone().sum();
    let squares: f64 = rates.clone().map(|rate| rate * rate).sum();
    sum * sum / (rates.count() as f64 * squares)
}
