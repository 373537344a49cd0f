//! How long admitting threads takes: all at once, and one more beside existing ones.
//!
//!     cargo run --release -p takt-planner --example admission

use std::time::{Duration, Instant};

use takt_planner::beats::{Demand, Host, plan};

const ROUNDS: usize = 101;

/// Periods of audio, video and control loops, in milliseconds.
const PERIODS_MS: [u64; 8] = [1, 2, 5, 10, 20, 40, 80, 160];

fn demands(count: u64, share_percent: u64) -> Vec<Demand> {
    let demand = |index: u64| {
        let period_ns = PERIODS_MS[(index * 5 % 8) as usize] * 1_000_000;
        Demand {
            name: format!("thread-{index}"),
            period_ns: period_ns.into(),
            budget_ns: period_ns * share_percent / 100,
            lead_ns: if index.is_multiple_of(3) { 20_000 } else { 0 },
            offset_ns: None,
            cpus: None,
            is_group: index.is_multiple_of(4),
            standing: None,
        }
    };
    (0..count).map(demand).collect()
}

/// The median time of many runs, and the result.
fn time(host: &Host, demands: &[Demand]) -> (Duration, String) {
    let mut outcome = String::new();
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let planned = plan(host, demands);
            let took = start.elapsed();
            outcome = match planned {
                Ok(table) => format!("{} CPUs", table.tables.len()),
                Err(refusal) => refusal.to_string(),
            };
            took
        })
        .collect();
    times.sort_unstable();
    (times[ROUNDS / 2], outcome)
}

fn main() {
    println!("threads  CPUs  grid    share  all at once  one more");
    for (count, cpus, grid_us, percent) in [
        (16, 4, 100, 15),
        (64, 8, 100, 8),
        (64, 8, 10, 8),
        (64, 64, 100, 40),
        (256, 32, 100, 8),
        (64, 8, 100, 30),
        (64, 1, 500, 1),
    ] {
        let host = Host {
            cpus: (0..cpus).collect(),
            grid_ns: (grid_us * 1000).into(),
            free_ppm: 62_500,
        };
        let mut wanted = demands(count, percent);
        let (all, mut outcome) = time(&host, &wanted);
        let mut one_more = "-".to_owned();
        if let Ok(table) = plan(&host, &wanted) {
            for (demand, placement) in wanted.iter_mut().zip(table.placements).skip(1) {
                demand.standing = Some(placement);
            }
            let (took, after) = time(&host, &wanted);
            one_more = format!("{took:?}");
            outcome = format!("{outcome}, then {after}");
        }
        println!(
            "{count:7}  {cpus:4}  {grid_us:3} us  {percent:3} %  {all:>11?}  {one_more:>9}  {outcome}"
        );
    }
}
