//! How a station's mean strength changes, like what SoCPS recorded (figure 19).

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;
use takt_medium::{Profile, SnrPath};

const NEAR_DB: f64 = 20.0;
const STEP_S: f64 = 0.2;
/// Shadowing by furniture and people: normal in dB, with an exponential correlation (Gudmundson 1991)
/// over some metres of a walk.
const SHADOW_DB: f64 = 3.0;
const SHADOW_S: f64 = 2.0;
/// Between two readings.
const READING_S: f64 = 0.05;

#[derive(Debug, Clone, Copy)]
pub enum Walk {
    /// Once around the room, from far to near and back, in so many seconds, with shadows.
    Around(f64),
    /// At this strength.
    Stands(f64),
    /// In the room for 10 s, and behind a door, at 3 dB, for 10 s.
    Door,
}

impl Walk {
    pub const ALL: [Self; 5] = [
        Self::Around(120.0),
        Self::Around(30.0),
        Self::Door,
        Self::Stands(6.0),
        Self::Stands(10.0),
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Around(lap_s) if lap_s > 60.0 => "walks, 2 min",
            Self::Around(_) => "walks, 30 s",
            Self::Door => "goes out and in",
            Self::Stands(db) if db < 8.0 => "stands at 6 dB",
            Self::Stands(_) => "stands at 10 dB",
        }
    }

    fn db(self, at_s: f64) -> f64 {
        match self {
            Self::Around(lap_s) => {
                NEAR_DB * (1.0 - 2.0 * (at_s.rem_euclid(lap_s) / lap_s - 0.5).abs())
            }
            Self::Stands(db) => db,
            Self::Door if at_s.rem_euclid(20.0) < 10.0 => NEAR_DB,
            Self::Door => 3.0,
        }
    }

    /// A walk that this seed draws.
    pub fn begin(self, seed: u64, seconds: u64) -> Way {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let from_s = random.random_range(0.0..120.0);
        let shadows = matches!(self, Self::Around(_));
        let kept = f64::exp(-STEP_S / SHADOW_S);
        let mut shadow_db = 0.0;
        let points = (0..=(seconds as f64 / STEP_S) as u32).map(|step| {
            let fresh: f64 = StandardNormal.sample(&mut random);
            shadow_db = kept * shadow_db + (1.0 - kept * kept).sqrt() * SHADOW_DB * fresh;
            let own_db = if shadows { shadow_db } else { 0.0 };
            self.db(from_s + f64::from(step) * STEP_S) + own_db
        });
        Way {
            means_db: points.collect(),
            at: 0,
            fade: 0.0,
            readings: 0,
            random,
        }
    }
}

/// A walk, and a card that reads its strength.
pub struct Way {
    means_db: Vec<f64>,
    at: usize,
    fade: f64,
    readings: u32,
    random: Pcg64Mcg,
}

impl Way {
    pub fn path(&self) -> SnrPath {
        let points = (0..).zip(&self.means_db).map(|(step, db)| {
            let at_ns = (f64::from(step) * STEP_S * 1e9) as u64;
            (at_ns, (db * 100.0) as i32)
        });
        SnrPath::once(points.collect()).expect("points with rising times")
    }

    /// When a source begins.
    pub fn begins_ns(&mut self) -> u64 {
        self.random.random_range(0..1_000_000_000)
    }

    /// Four in each step, which go by as they are read.
    pub fn read_db(&mut self) -> f64 {
        let fading = Profile::wavelan().fading.expect("it has fades");
        let kept = f64::exp(-READING_S * 1e9 / fading.coherence_ns as f64);
        let fresh: f64 = StandardNormal.sample(&mut self.random);
        self.fade = kept * self.fade + (1.0 - kept * kept).sqrt() * fresh;
        if self.readings.is_multiple_of((STEP_S / READING_S) as u32) {
            self.at = (self.at + 1).min(self.means_db.len() - 1);
        }
        self.readings += 1;
        self.true_db() + self.fade * fading.deviation_db
    }

    /// The present strength without fades.
    pub fn true_db(&self) -> f64 {
        self.means_db[self.at]
    }
}
