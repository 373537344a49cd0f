//! PW in operation, with weights that follow fluctuating readings, and other points.

use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;
use takt_medium::{
    NodeId, Profile, SnrPath,
    sim::{Direction, Fifo, Flow, Queue, Simulation, Station, Traffic, Weighted},
};

use crate::{BYTES, columns, heading, one_bad::gain};

/// Points of a law: SNR in dB, weight in millionths.
type Points = [(f64, f64); 4];

const LAWS: [(&str, Points); 2] = [
    (
        "the paper's",
        [(0.0, 0.0), (4.0, 2e5), (10.0, 8e5), (14.0, 1e6)],
    ),
    (
        "0.7 at 10 dB, 1 at 16",
        [(0.0, 0.0), (4.0, 2e5), (10.0, 7e5), (16.0, 1e6)],
    ),
];
const STRENGTHS_DB: std::ops::RangeInclusive<i32> = 8..=15;
const GOOD_CENTIDB: i32 = 2000;
const SEEDS: [u64; 4] = [1, 2, 3, 4];
const SECONDS: u64 = 900;
/// 1.5 Mbit/s, each frame at a random time within its interval: a full queue favours the sender
/// after the longest gap.
const CBR: Traffic = Traffic::Cbr {
    bytes: BYTES,
    interval_ns: 8_000_000,
    jitter_ns: 4_000_000,
};
/// T_soc, and Takt's default.
const INTERVAL_NS: u64 = 200_000_000;
const SMOOTHING: f64 = 0.5;
const QUEUE_FRAMES: usize = 50;
const SECOND_NS: u64 = 1_000_000_000;

/// Each reading has its own deviation: 200 ms are many times the coherence.
pub fn laws() {
    heading("PW by readings every 200 ms: total over FIFO's, wavelan, mean of four seeds");
    let strengths: Vec<String> = STRENGTHS_DB.map(|db| format!("{db} dB")).collect();
    let names = ["Points", "Stations"]
        .into_iter()
        .chain(strengths.iter().map(String::as_str));
    columns(&names.collect::<Vec<_>>());
    for (name, points) in LAWS {
        for stations in [2, 8] {
            print!("| {name} | {stations} ");
            for snr_db in STRENGTHS_DB {
                let gains = SEEDS.map(|seed| {
                    let fifo = run(stations, snr_db, seed, Fifo::new(QUEUE_FRAMES), |_| {});
                    let mut soc = Soc::new(snr_db, seed);
                    let queue = Weighted::new(QUEUE_FRAMES);
                    let pw = run(stations, snr_db, seed, queue, |queue| {
                        queue.set_weight(NodeId(1), weight_ppm(&points, soc.next_db()));
                    });
                    gain(&fifo, &pw)
                });
                let mean = gains.iter().sum::<f64>() / gains.len() as f64;
                print!("| {mean:+.2} % ");
            }
            println!("|");
        }
    }
}

/// The access point's estimate of the bad station.
struct Soc {
    mean_db: f64,
    deviation_db: f64,
    soc_db: f64,
    random: Pcg64Mcg,
}

impl Soc {
    fn new(snr_db: i32, seed: u64) -> Self {
        let fading = Profile::wavelan().fading;
        Self {
            mean_db: f64::from(snr_db),
            deviation_db: fading.map_or(0.0, |fading| fading.deviation_db),
            soc_db: f64::from(snr_db),
            random: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    fn next_db(&mut self) -> f64 {
        let normal: f64 = StandardNormal.sample(&mut self.random);
        let sample_db = self.mean_db + self.deviation_db * normal;
        self.soc_db += SMOOTHING * (sample_db - self.soc_db);
        self.soc_db
    }
}

fn weight_ppm(points: &Points, soc_db: f64) -> u32 {
    let soc_db = soc_db.clamp(points[0].0, points[3].0);
    let next = points
        .partition_point(|point| point.0 <= soc_db)
        .clamp(1, 3);
    let ((from_db, from), (to_db, to)) = (points[next - 1], points[next]);
    (from + (to - from) * (soc_db - from_db) / (to_db - from_db)) as u32
}

fn run<Q: Queue>(
    stations: u16,
    snr_db: i32,
    seed: u64,
    queue: Q,
    mut every_interval: impl FnMut(&mut Q),
) -> Vec<Station> {
    let mut simulation = Simulation::new(Profile::wavelan(), seed, queue);
    for index in 0..stations {
        let snr_centidb = match index {
            0 => snr_db * 100,
            _ => GOOD_CENTIDB,
        };
        let station = simulation.add_station(SnrPath::constant(snr_centidb));
        simulation.add_flow(Flow {
            station,
            direction: Direction::Down,
            traffic: CBR,
            start_ns: 0,
        });
    }
    let mut pass = |simulation: &mut Simulation<Q>, seconds: u64| {
        for _ in 0..seconds * SECOND_NS / INTERVAL_NS {
            every_interval(simulation.access_queue_mut());
            simulation.run(INTERVAL_NS);
        }
    };
    pass(&mut simulation, 2);
    simulation.reset_statistics();
    pass(&mut simulation, SECONDS);
    simulation.stations()
}
