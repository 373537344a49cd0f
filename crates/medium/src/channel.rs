//! The channel between the access point and one station: its path and the
//! fluctuation around it.

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

use crate::{Rate, SnrPath};

/// Fluctuation of the SNR around its mean: normal in dB, with a correlation
/// that falls with time as exp(-t / coherence) (M. Gudmundson, Correlation
/// model for shadow fading, 1991, over time instead of distance).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fading {
    /// Standard deviation.
    pub deviation_db: f64,
    /// The coherence time.
    pub coherence_ns: u64,
}

/// The range of the average over losses, in deviations.
const REACH: i32 = 5;
/// Points per deviation in that range.
const DENSITY: i32 = 8;

impl Fading {
    /// The part of frames of `bytes` that is lost at a mean SNR, over a time that is long
    /// against the coherence.
    pub fn mean_frame_error_rate(&self, rate: &Rate, snr_db: f64, bytes: u32) -> f64 {
        if self.deviation_db <= 0.0 {
            return rate.errors.frame_error_rate(snr_db, bytes);
        }
        let mut sum = 0.0;
        let mut total = 0.0;
        for index in -REACH * DENSITY..=REACH * DENSITY {
            let x = f64::from(index) / f64::from(DENSITY);
            let density = libm::exp(-x * x / 2.0);
            sum += density
                * rate
                    .errors
                    .frame_error_rate(snr_db + x * self.deviation_db, bytes);
            total += density;
        }
        sum / total
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Channel {
    pub path: SnrPath,
    fading: Fading,
    /// Of this channel alone, so that other stations do not change what this one receives.
    random: Pcg64Mcg,
    deviation: f64,
    at_ns: u64,
}

impl Channel {
    pub fn new(path: SnrPath, fading: Fading, mut random: Pcg64Mcg) -> Self {
        let deviation = StandardNormal.sample(&mut random);
        Channel {
            path,
            fading,
            random,
            deviation,
            at_ns: 0,
        }
    }

    /// The SNR at this time, with its fluctuation.
    pub fn sample_db(&mut self, now_ns: u64) -> f64 {
        let mean_db = f64::from(self.path.snr_centidb(now_ns)) / 100.0;
        if self.fading.deviation_db <= 0.0 {
            return mean_db;
        }
        if now_ns > self.at_ns {
            let passed = (now_ns - self.at_ns) as f64 / self.fading.coherence_ns.max(1) as f64;
            let kept = libm::exp(-passed);
            let fresh: f64 = StandardNormal.sample(&mut self.random);
            self.deviation = kept * self.deviation + libm::sqrt(1.0 - kept * kept) * fresh;
            self.at_ns = now_ns;
        }
        mean_db + self.deviation * self.fading.deviation_db
    }

    /// Whether a frame that has just ended can be read.
    pub fn carries(&mut self, now_ns: u64, rate: &Rate, bytes: u32) -> bool {
        let snr_db = self.sample_db(now_ns);
        let lost = rate.errors.frame_error_rate(snr_db, bytes);
        self.random.random::<f64>() >= lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn the_fluctuation_has_its_deviation_and_its_coherence() {
        let fading = Fading {
            deviation_db: 3.6,
            coherence_ns: 35_000_000,
        };
        let random = Pcg64Mcg::seed_from_u64(1);
        let mut channel = Channel::new(SnrPath::constant(1000), fading, random);
        let samples: Vec<f64> = (0..200_000u64)
            .map(|i| channel.sample_db(i * 35_000_000) - 10.0)
            .collect();
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / count;
        let variance = samples.iter().map(|x| x * x).sum::<f64>() / count;
        let next = samples
            .windows(2)
            .map(|pair| pair[0] * pair[1])
            .sum::<f64>()
            / count;
        assert!(mean.abs() < 0.1, "{mean}");
        assert!((variance.sqrt() - 3.6).abs() < 0.05, "{variance}");
        assert!((next / variance - (-1.0f64).exp()).abs() < 0.02, "{next}");
    }
}
