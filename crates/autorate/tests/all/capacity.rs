//! What a line has, by time.

use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

/// Bits per second in each millisecond.
pub struct Capacity(Vec<f64>);

impl Capacity {
    pub fn seconds(&self) -> usize {
        self.0.len() / 1_000
    }

    pub fn at(&self, ms: usize) -> f64 {
        self.0[ms.min(self.0.len() - 1)]
    }

    pub fn constant(mbit: f64, seconds: usize) -> Self {
        Self::steps(&[(mbit, seconds)])
    }

    /// Mbit/s and seconds.
    pub fn steps(steps: &[(f64, usize)]) -> Self {
        let each = |(mbit, seconds): &(f64, usize)| vec![mbit * 1e6; seconds * 1_000];
        Self(steps.iter().flat_map(each).collect())
    }

    /// From one to the next, evenly.
    pub fn ramps(mbit: &[f64], seconds: usize) -> Self {
        let mut all = Vec::new();
        for pair in mbit.windows(2) {
            let steps = seconds * 1_000;
            let part = |step: usize| step as f64 / steps as f64;
            all.extend((0..steps).map(|step| (pair[0] + (pair[1] - pair[0]) * part(step)) * 1e6));
        }
        Self(all)
    }

    /// As a station of a mobile network has it: every 100 ms the logarithm goes a step of this
    /// size, such as 0.03, and a two hundredth back towards 20 Mbit/s. Every 40 s or so a cell is changed: 80 ms without
    /// anything, and up to half or twice the rate after it. The cell's scheduler gives a hundredth of a
    /// second at a time, and no two alike.
    pub fn mobile(seconds: usize, seed: u64, step_size: f64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut log: f64 = 0.0;
        let mut all = Vec::new();
        for _ in 0..seconds * 10 {
            let step: f64 = random.sample(StandardNormal);
            log = (log * (1.0 - 1.0 / 200.0) + step * step_size).clamp(-1.5, 1.0);
            let is_handover = random.random_bool(1.0 / 400.0);
            if is_handover {
                log = (log + random.random_range(-0.7..0.7)).clamp(-1.5, 1.0);
            }
            for slot in 0..10 {
                let uneven = random.random_range(0.9..1.1);
                let bps = if is_handover && slot < 8 {
                    1.0
                } else {
                    20e6 * log.exp() * uneven
                };
                all.extend([bps; 10]);
            }
        }
        Self(all)
    }
}
