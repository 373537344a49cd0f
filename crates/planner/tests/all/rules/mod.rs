//! Planned rules, tested with the classifier that runs in the kernel.

mod by_port;
mod capacity;
mod first_match;

use takt_algo::sys::{takt_classify, takt_key};
use takt_planner::Plan;
use takt_policy::{
    Aqm, AqmKind, BeyondHorizon, Class, Framing, Link, Match, OnConflict, Pacing, Packets, Sharing,
};

/// A link whose classes have these matches, and a default class behind them.
fn link(classes: Vec<Vec<Match>>) -> Link {
    let class = |(n, matches): (usize, Vec<Match>)| Class {
        name: format!("class {n}"),
        tenant: None,
        rate_bps: Some(1_000_000),
        ceil_bps: Some(1_000_000),
        weight_milli: 1000,
        floor_bps: None,
        priority: 0,
        per_flow: false,
        queue_packets: 100,
        burst_ns: 1_000_000,
        aqm: Aqm {
            kind: AqmKind::Off,
            target_ns: 5_000_000,
            interval_ns: 100_000_000,
        },
        gate: None,
        receive: false,
        best_effort: false,
        set_dscp: None,
        is_default: matches.is_empty(),
        matches,
        line: n + 1,
    };
    Link {
        device: "eth0".to_owned(),
        rate_bps: 1_000_000_000,
        by_device: false,
        autorate: None,
        framing: Framing::default(),
        pacing: Pacing::Timer,
        packets: Packets::Mtu,
        burst_ns: 1_000_000,
        lag_max_ns: 10_000_000,
        slack_ns: 10_000,
        horizon_ns: 10_000_000_000,
        beyond_horizon: BeyondHorizon::Drop,
        thins_acks: false,
        share: Sharing::Flows,
        wash: false,
        download_of: None,
        ecn: false,
        on_conflict: OnConflict::Report,
        backend: None,
        has_stations: false,
        tenants: Vec::new(),
        classes: classes
            .into_iter()
            .chain([Vec::new()])
            .enumerate()
            .map(class)
            .collect(),
    }
}

fn classify(plan: &Plan, key: &takt_key) -> u32 {
    // SAFETY: two valid structs; every index in algo/ is masked.
    unsafe { takt_classify(&plan.tables.rules, key) }
}

/// An address as in a packet, in words of the machine.
fn words<const N: usize>(octets: [u8; N]) -> [u32; 4] {
    let mut words = [0; 4];
    for (word, chunk) in words.iter_mut().zip(octets.chunks_exact(4)) {
        *word = u32::from_ne_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
    }
    words
}
