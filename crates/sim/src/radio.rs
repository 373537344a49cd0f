//! Stations' weights, as taktd makes them of what their cards read (docs/radio.md): four readings of
//! an interval are a report.
//!
//! Where reports are the policy's source of strengths they are frames on the air, late and lost as
//! others. Else none is.

use takt_algo::{Soc, SocStats, SocTerms};
use takt_planner::radio::terms_of;
use takt_policy::{Radio, RadioSource};

/// Readings of an interval.
const READINGS: u64 = 4;

#[derive(Debug, Clone, Default)]
struct Strength {
    soc: Soc,
    sum_centidb: i64,
    /// Of the last interval.
    mean_centidb: i32,
    weight_ppm: Option<u32>,
    /// Over the intervals that count.
    weights_ppm: u64,
}

/// The weights of all stations.
pub(crate) struct Weights {
    terms: SocTerms,
    stats: SocStats,
    stations: Vec<Strength>,
    takes_air: bool,
    readings: u64,
    counted: u64,
}

impl Weights {
    pub fn new(radio: &Radio, stations: usize) -> Self {
        Self {
            terms: terms_of(radio),
            stats: SocStats::default(),
            stations: vec![Strength::default(); stations],
            takes_air: radio.source == RadioSource::Reports,
            readings: 0,
            counted: 0,
        }
    }

    /// Whether stations send their reports over the air.
    pub fn takes_air(&self) -> bool {
        self.takes_air
    }

    /// Between two readings of a station.
    pub fn reading_ns(&self) -> u64 {
        self.terms.interval_ns() / READINGS
    }

    /// All stations' cards have read this. Returns whether that ends an interval.
    pub fn hear(&mut self, mut read_centidb: impl FnMut(usize) -> i32) -> bool {
        self.readings += 1;
        let is_whole = self.readings.is_multiple_of(READINGS);
        for (at, station) in self.stations.iter_mut().enumerate() {
            station.sum_centidb += i64::from(read_centidb(at));
            if is_whole {
                station.mean_centidb = (station.sum_centidb / READINGS as i64) as i32;
                station.sum_centidb = 0;
            }
        }
        is_whole
    }

    /// What a station has read last is known at the access point.
    pub fn report(&mut self, at: usize, now_ns: u64) {
        let station = &mut self.stations[at];
        let (stats, terms) = (&mut self.stats, &self.terms);
        station
            .soc
            .report(stats, terms, station.mean_centidb, now_ns);
        station.weight_ppm = Some(terms.weight_ppm(station.soc.centidb()));
    }

    /// An interval is over.
    pub fn pass(&mut self, now_ns: u64, counts: bool) {
        self.counted += u64::from(counts);
        for station in &mut self.stations {
            station.soc.tick(&mut self.stats, &self.terms, now_ns);
            if let Some(weight_ppm) = &mut station.weight_ppm {
                *weight_ppm = self.terms.weight_ppm(station.soc.centidb());
                station.weights_ppm += u64::from(*weight_ppm) * u64::from(counts);
            }
        }
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
