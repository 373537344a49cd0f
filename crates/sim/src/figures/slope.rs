//! The rate of packets: the slope of bytes over departure times, by least squares.
//!
//! Between the first and the last departure a timer that is late by 50 us counts for 5 ppm of 10 s,
//! though nothing is lost. The slope uses all departures, so the error falls with their number.

/// Sums about the means so far (Welford, Technometrics 4, 1962), which do not cancel out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slope {
    count: u64,
    origin_ns: u64,
    bytes: u64,
    mean_ns: f64,
    mean_bytes: f64,
    square_ns: f64,
    product: f64,
}

impl Slope {
    /// A packet of so many bytes begins then.
    pub fn add(&mut self, start_ns: u64, bytes: u64) {
        if self.count == 0 {
            self.origin_ns = start_ns;
        }
        self.count += 1;
        let at_ns = (start_ns - self.origin_ns) as f64 - self.mean_ns;
        let at_bytes = self.bytes as f64 - self.mean_bytes;
        let count = self.count as f64;
        self.mean_ns += at_ns / count;
        self.mean_bytes += at_bytes / count;
        let part = (count - 1.0) / count;
        self.square_ns += at_ns * at_ns * part;
        self.product += at_ns * at_bytes * part;
        self.bytes += bytes;
    }

    /// In bits per second; `None` before time has passed.
    pub fn bps(&self) -> Option<f64> {
        (self.square_ns > 0.0).then(|| self.product / self.square_ns * 8e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn late_departures_change_the_slope_little() {
        let mut random = Random::new(1, 0);
        for (late_ns, most_ppm) in [(0, 1e-6), (12_000, 0.1)] {
            let mut slope = Slope::default();
            for packet in 0..100_000u64 {
                slope.add(5_000 + packet * 12_304 + random.below(late_ns), 1538);
            }
            let error_ppm = (slope.bps().unwrap() / 1e9 - 1.0) * 1e6;
            assert!(error_ppm.abs() < most_ppm, "{error_ppm}");
        }
    }
}
