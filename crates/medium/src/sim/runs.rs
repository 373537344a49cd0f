//! Experiments on the medium alone.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Direction, Fifo, Flow, Queue, Simulation, Station, Traffic, Weighted};
use crate::{Link, NodeId, Profile, RateChoice, SnrPath};

const SECOND_NS: u64 = 1_000_000_000;
/// Good enough that nothing is lost.
const PERFECT_CENTIDB: i32 = 8000;
/// A good station: SoCPS says 15 dB or more; this is well above.
const GOOD_CENTIDB: i32 = 2500;
/// Frames that wait at the access point: ALTQ's and BSD's default.
const ACCESS_QUEUE_FRAMES: usize = 50;
const LONGEST_BYTES: u32 = 1514;
const WARM_UP_NS: u64 = 2 * SECOND_NS;

/// Stations that always have frames for the access point, one at each of `rates`, and lose
/// frames only by collision.
pub fn saturated(profile: &Profile, rates: &[usize], bytes: u32, seconds: u64) -> Vec<Station> {
    let profile = Profile {
        fading: None,
        ..profile.clone()
    };
    let mut simulation = Simulation::new(profile, 1, Fifo::new(ACCESS_QUEUE_FRAMES));
    for &rate in rates {
        let station = simulation.add_station(SnrPath::constant(PERFECT_CENTIDB));
        let choice = simulation.set_rate(station, RateChoice::Fixed(rate));
        debug_assert_eq!(choice, Ok(()));
        simulation.add_flow(Flow {
            station,
            direction: Direction::Up,
            traffic: Traffic::Saturated { bytes },
            start_ns: 0,
        });
    }
    simulation.run(WARM_UP_NS);
    simulation.reset_statistics();
    simulation.run(seconds * SECOND_NS);
    simulation.stations()
}

/// Total throughput in bit/s of stations.
pub fn total_bps(stations: &[Station]) -> f64 {
    stations.iter().map(Station::throughput_bps).sum()
}

/// Stations that always have frames for the access point, under one rate control.
#[derive(Debug, Clone)]
pub struct Uploads {
    /// The medium's profile.
    pub profile: Profile,
    /// The control of each station's own frames.
    pub choice: RateChoice,
    /// Number of stations.
    pub stations: u16,
    /// The mean SNR of all.
    pub snr_centidb: i32,
    /// Duration, after half a minute in which the controls settle.
    pub seconds: u64,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Uploads {
    /// In the end: what each station carried, and its link.
    pub fn run(&self) -> Vec<(Station, Link)> {
        /// Some periods of the slowest control.
        const SETTLING_NS: u64 = 30 * SECOND_NS;
        let queue = Fifo::new(ACCESS_QUEUE_FRAMES);
        let mut simulation = Simulation::new(self.profile.clone(), self.seed, queue);
        let mut ids = Vec::new();
        for _ in 0..self.stations {
            let station = simulation.add_station(SnrPath::constant(self.snr_centidb));
            let choice = simulation.set_rate(station, self.choice);
            debug_assert_eq!(choice, Ok(()));
            simulation.add_flow(Flow {
                station,
                direction: Direction::Up,
                traffic: Traffic::Saturated {
                    bytes: LONGEST_BYTES,
                },
                start_ns: 0,
            });
            ids.push(station);
        }
        simulation.run(SETTLING_NS);
        simulation.reset_statistics();
        simulation.run(self.seconds * SECOND_NS);
        let link = |&id| simulation.link(id, Direction::Up).unwrap_or_default();
        let links = ids.iter().map(link);
        simulation.stations().into_iter().zip(links).collect()
    }
}

/// SoCPS's experiment with UDP: the access point sends to stations, the first of which is bad.
#[derive(Debug, Clone)]
pub struct OneBad {
    /// The medium's profile.
    pub profile: Profile,
    /// Number of stations.
    pub stations: u16,
    /// SNR of the bad one.
    pub bad_snr_centidb: i32,
    /// The traffic to each.
    pub traffic: Traffic,
    /// Duration.
    pub seconds: u64,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl OneBad {
    /// First come, first served.
    pub fn fifo(&self) -> Vec<Station> {
        self.run(Fifo::new(ACCESS_QUEUE_FRAMES))
    }

    /// The good stations have weight one and the bad one this weight.
    pub fn weighted(&self, bad_weight_ppm: u32) -> Vec<Station> {
        let mut queue = Weighted::new(ACCESS_QUEUE_FRAMES);
        queue.set_weight(NodeId(1), bad_weight_ppm);
        self.run(queue)
    }

    fn run(&self, queue: impl Queue) -> Vec<Station> {
        // At random, because a full queue favours the sender after the longest gap.
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let mut simulation = Simulation::new(self.profile.clone(), self.seed, queue);
        for index in 0..self.stations {
            let snr_centidb = if index == 0 {
                self.bad_snr_centidb
            } else {
                GOOD_CENTIDB
            };
            let station = simulation.add_station(SnrPath::constant(snr_centidb));
            simulation.add_flow(Flow {
                station,
                direction: Direction::Down,
                traffic: self.traffic,
                start_ns: random.random_range(0..WARM_UP_NS / 2),
            });
        }
        simulation.run(WARM_UP_NS);
        simulation.reset_statistics();
        simulation.run(self.seconds * SECOND_NS);
        simulation.stations()
    }
}

/// The weight of SoCPS's PW (section 5.1): 0 up to 0 dB, 0.2 at 4, 0.8 at 10 and 1 from 14 on.
pub fn papers_weight_ppm(snr_centidb: i32) -> u32 {
    const POINTS: [(i32, i32); 4] = [(0, 0), (400, 200_000), (1000, 800_000), (1400, 1_000_000)];
    let snr_centidb = snr_centidb.clamp(POINTS[0].0, POINTS[3].0);
    let next = POINTS
        .partition_point(|point| point.0 <= snr_centidb)
        .clamp(1, 3);
    let ((from_db, from), (to_db, to)) = (POINTS[next - 1], POINTS[next]);
    (from + (to - from) * (snr_centidb - from_db) / (to_db - from_db)) as u32
}
