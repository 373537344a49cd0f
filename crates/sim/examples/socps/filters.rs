//! Which filter of strengths? (SoCPS's last wish, section 6.) The same readings of the same walks,
//! filtered in several ways, weigh one station of eight.

use takt_medium::{
    Link, NodeId, Profile,
    sim::{Direction, Flow, Simulation, Traffic, Weighted, runs::papers_weight_ppm},
};

use crate::{
    figures::{Mean, SEEDS},
    filter::{Filter, READINGS},
    parallel::in_parallel,
    table::{columns, heading, row},
    walk::Walk,
};

const NS_PER_S: u64 = 1_000_000_000;
/// T_soc.
const INTERVAL_NS: u64 = 200_000_000;
const SECONDS: u64 = 300;
const WARM_UP_S: u64 = 5;
const STATIONS: u16 = 8;
const QUEUE_FRAMES: usize = 50;
const GOOD_CENTIDB: i32 = 2000;
/// Without frames nothing is acknowledged, and rate control has no estimate.
const LEAST_PPM: u32 = 10_000;
/// 1.5 Mbit/s at random moments within their intervals.
const CBR: Traffic = Traffic::Cbr {
    bytes: 1514,
    interval_ns: 8_000_000,
    jitter_ns: 4_000_000,
};

/// A run's figures.
struct Seen {
    total_kbps: f64,
    first_kbps: f64,
    error_db: f64,
}

fn run(walk: Walk, filter: Filter, seed: u64) -> Seen {
    let mut way = walk.begin(seed, WARM_UP_S + SECONDS);
    let queue = Weighted::new(QUEUE_FRAMES);
    let mut simulation = Simulation::new(Profile::wavelan(), seed, queue);
    for at in 0..STATIONS {
        let station = simulation.add_station(match at {
            0 => way.path(),
            _ => takt_medium::SnrPath::constant(GOOD_CENTIDB),
        });
        simulation.add_flow(Flow {
            station,
            direction: Direction::Down,
            traffic: CBR,
            start_ns: way.begins_ns(),
        });
    }
    let (first, mut filter) = (NodeId(1), filter.begin());
    let mut before = Link::default();
    let (mut squares, mut count) = (0.0, 0.0);
    for interval in 0..(WARM_UP_S + SECONDS) * NS_PER_S / INTERVAL_NS {
        if interval * INTERVAL_NS == WARM_UP_S * NS_PER_S {
            simulation.reset_statistics();
            (squares, count) = (0.0, 0.0);
        }
        simulation.run(INTERVAL_NS);
        let link = simulation.link(first, Direction::Down).unwrap_or_default();
        let readings_db = [0; READINGS].map(|_| way.read_db());
        let attempts = link.frames + link.retries - before.frames - before.retries;
        let arrived = (link.frames - link.dropped) - (before.frames - before.dropped);
        before = link;
        let estimate_db = filter.next_db(readings_db, arrived, attempts);
        squares += (estimate_db - way.true_db()).powi(2);
        count += 1.0;
        let weight_ppm = papers_weight_ppm((estimate_db * 100.0) as i32);
        let weight_ppm = weight_ppm.max(LEAST_PPM);
        simulation.access_queue_mut().set_weight(first, weight_ppm);
    }
    let stations = simulation.stations();
    let kbps = stations
        .iter()
        .map(|station| station.throughput_bps() / 1e3);
    Seen {
        total_kbps: kbps.sum(),
        first_kbps: stations[0].throughput_bps() / 1e3,
        error_db: f64::sqrt(squares / count),
    }
}

/// All filters on all walks.
pub fn filters() {
    heading(
        "Filters of strengths",
        "`wavelan`, 1.5 Mbit/s of UDP to each of 8 stations, PW's weight for the first, a hundredth at least, 300 s: in \
         all, of the first (kbit/s), and the\nroot of the mean square of the estimate's error (dB). \
         Four readings in 200 ms, with fades of 3.6 dB and 35 ms.",
    );
    let mut names = vec!["Filter"];
    names.extend(Walk::ALL.map(Walk::name));
    columns(&names);
    let all: Vec<(Walk, Filter)> = Filter::ALL
        .iter()
        .flat_map(|filter| Walk::ALL.map(|walk| (walk, *filter)))
        .collect();
    let seen = in_parallel(&all, |(walk, filter)| {
        SEEDS.map(|seed| run(*walk, *filter, seed))
    });
    for (filter, walks) in Filter::ALL.iter().zip(seen.chunks(Walk::ALL.len())) {
        let cells = walks.iter().map(|seeds| {
            let mean = |of: fn(&Seen) -> f64| Mean::of(&seeds.each_ref().map(of));
            format!(
                "{}, {}, {}",
                mean(|seen| seen.total_kbps).text(0),
                mean(|seen| seen.first_kbps).text(0),
                mean(|seen| seen.error_db).text(1)
            )
        });
        row(filter.name(), &cells.collect::<Vec<_>>());
    }
}
