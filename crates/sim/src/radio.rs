//! Stations' weights, as taktd makes them of what their cards read (docs/radio.md): four readings of
//! an interval are a report, none of which is lost.

use takt_algo::{Soc, SocStats, SocTerms};
use takt_planner::radio::terms_of;
use takt_policy::Radio;

/// Readings of an interval.
const READINGS: u64 = 4;

#[derive(Debug, Clone, Default)]
struct Strength {
    soc: Soc,
    sum_centidb: i64,
    weight_ppm: Option<u32>,
    /// Over the intervals that count.
    weights_ppm: u64,
}

/// The weights of all stations.
pub(crate) struct Weights {
    terms: SocTerms,
    stats: SocStats,
    stations: Vec<Strength>,
    readings: u64,
    counted: u64,
}

impl Weights {
    pub fn new(radio: &Radio, stations: usize) -> Self {
        Self {
            terms: terms_of(radio),
            stats: SocStats::default(),
            stations: vec![Strength::default(); stations],
            readings: 0,
            counted: 0,
        }
    }

    /// Between two readings of a station.
    pub fn reading_ns(&self) -> u64 {
        self.terms.interval_ns() / READINGS
    }

    /// All stations' cards have read this. Returns whether that makes new weights.
    pub fn hear(
        &mut self,
        now_ns: u64,
        counts: bool,
        mut read_centidb: impl FnMut(usize) -> i32,
    ) -> bool {
        self.readings += 1;
        let is_whole = self.readings.is_multiple_of(READINGS);
        self.counted += u64::from(is_whole && counts);
        for (at, station) in self.stations.iter_mut().enumerate() {
            station.sum_centidb += i64::from(read_centidb(at));
            if !is_whole {
                continue;
            }
            let mean_centidb = station.sum_centidb / READINGS as i64;
            station.sum_centidb = 0;
            station
                .soc
                .report(&mut self.stats, &self.terms, mean_centidb as i32, now_ns);
            let weight_ppm = self.terms.weight_ppm(station.soc.centidb());
            station.weight_ppm = Some(weight_ppm);
            station.weights_ppm += u64::from(weight_ppm) * u64::from(counts);
        }
        is_whole
    }

    /// Those of all stations; `None` before the first.
    pub fn ppm(&self) -> impl Iterator<Item = Option<u32>> {
        self.stations.iter().map(|station| station.weight_ppm)
    }

    /// A station's in the mean; `None` if none was counted.
    pub fn mean(&self, station: usize) -> Option<f64> {
        let sum_ppm = self.stations.get(station)?.weights_ppm;
        (self.counted > 0).then(|| sum_ppm as f64 / 1e6 / self.counted as f64)
    }
}
