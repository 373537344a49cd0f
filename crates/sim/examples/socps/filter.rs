//! From readings to an estimate of a strength.

use std::collections::VecDeque;

/// In an interval.
pub const READINGS: usize = 4;
/// Of the mean of an interval's readings, in dB²: fades of 3.6 dB, correlated over 35 ms.
const NOISE: f64 = 4.6;
/// By how much a strength changes in an interval, in dB²: shadows of 3 dB that last 2 s.
const DRIFT: f64 = 1.7;
/// The same of its trend, in dB² per interval and interval.
const TREND: f64 = 0.01;
/// The part of attempts at 1514 bytes that `wavelan` loses at 0, 1, … dB (docs/medium.generated.md).
const LOSS: [f64; 16] = [
    0.974, 0.952, 0.918, 0.868, 0.801, 0.716, 0.617, 0.510, 0.402, 0.301, 0.213, 0.143, 0.090,
    0.053, 0.030, 0.015,
];

#[derive(Debug, Clone, Copy)]
pub enum Filter {
    /// Of the interval's mean, with this part of the newest.
    MeanEwma(f64),
    /// Of the interval's median.
    MedianEwma(f64),
    /// The median of the last five intervals' means.
    Median5,
    /// A strength with a trend; without one, Kalman's filter is an EWMA.
    Kalman,
    /// What acknowledgements say.
    RateControl,
    /// The last interval's mean.
    Last,
}

impl Filter {
    pub const ALL: [Self; 8] = [
        Self::MeanEwma(0.5),
        Self::MeanEwma(0.25),
        Self::MeanEwma(0.1),
        Self::Last,
        Self::MedianEwma(0.5),
        Self::Median5,
        Self::Kalman,
        Self::RateControl,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::MeanEwma(part) if part > 0.4 => "mean, EWMA 0.5 (Takt)",
            Self::MeanEwma(part) if part > 0.2 => "mean, EWMA 0.25",
            Self::MeanEwma(_) => "mean, EWMA 0.1",
            Self::MedianEwma(_) => "median, EWMA 0.5",
            Self::Median5 => "median of 5 means",
            Self::Kalman => "Kalman, with trend",
            Self::RateControl => "rate control's",
            Self::Last => "mean alone",
        }
    }

    pub fn begin(self) -> State {
        State {
            filter: self,
            db: None,
            trend_db: 0.0,
            spread: [NOISE, 0.0, TREND],
            last_db: VecDeque::new(),
        }
    }
}

pub struct State {
    filter: Filter,
    db: Option<f64>,
    trend_db: f64,
    /// Kalman's variances: of the strength, of both, of the trend.
    spread: [f64; 3],
    last_db: VecDeque<f64>,
}

impl State {
    /// An interval's readings, and of the frames sent in it.
    pub fn next_db(&mut self, readings_db: [f64; READINGS], arrived: u64, attempts: u64) -> f64 {
        let mean_db = readings_db.iter().sum::<f64>() / READINGS as f64;
        let before_db = self.db.unwrap_or(mean_db);
        let db = match self.filter {
            Filter::MeanEwma(part) => before_db + part * (mean_db - before_db),
            Filter::MedianEwma(part) => before_db + part * (median(&readings_db) - before_db),
            Filter::Last => mean_db,
            Filter::Median5 => {
                self.last_db.push_back(mean_db);
                if self.last_db.len() > 5 {
                    self.last_db.pop_front();
                }
                median(self.last_db.make_contiguous())
            }
            Filter::Kalman => self.kalman_db(before_db, mean_db),
            Filter::RateControl if attempts == 0 => before_db,
            Filter::RateControl => {
                let lost = 1.0 - arrived as f64 / attempts as f64;
                before_db + 0.5 * (strength_db(lost) - before_db)
            }
        };
        self.db = Some(db);
        db
    }

    fn kalman_db(&mut self, before_db: f64, mean_db: f64) -> f64 {
        let [own, both, trend] = self.spread;
        let (own, both, trend) = (
            own + 2.0 * both + trend + DRIFT,
            both + trend,
            trend + TREND,
        );
        let (gain, gain_of_trend) = (own / (own + NOISE), both / (own + NOISE));
        let expected_db = before_db + self.trend_db;
        let off_db = mean_db - expected_db;
        self.trend_db += gain_of_trend * off_db;
        self.spread = [
            own * (1.0 - gain),
            both * (1.0 - gain),
            trend - gain_of_trend * both,
        ];
        expected_db + gain * off_db
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    }
}

/// The strength at which this part of attempts is lost.
fn strength_db(lost: f64) -> f64 {
    let Some(next) = LOSS.iter().position(|loss| *loss <= lost) else {
        return LOSS.len() as f64;
    };
    if next == 0 {
        return -1.0;
    }
    let (above, below) = (LOSS[next - 1], LOSS[next]);
    next as f64 - (lost - below) / (above - below)
}
