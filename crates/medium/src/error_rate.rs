//! The probability of losing a frame at a signal-to-noise ratio: the theoretical bit error rate
//! of the modulation, independent for each bit.

use libm::{erfc, expm1, log1p, pow, sqrt};

/// The formula of a rate's bit error rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ErrorModel {
    /// Half of erfc(sqrt(SNR)), with `gain_db` added to the SNR first. SoCPS, section 3.1.
    Psk {
        /// Added to the SNR first.
        gain_db: f64,
    },
    /// 802.11b's rates, by the formulas of IEEE 802.15.2-2003.
    Dbpsk1M,
    /// 2 Mbit/s, differential QPSK.
    Dqpsk2M,
    /// 5.5 Mbit/s, complementary code keying.
    Cck5M5,
    /// 11 Mbit/s, complementary code keying.
    Cck11M,
    /// A convolutional code of constraint length 7 behind a constellation, by
    /// the union bound for hard decisions ("NIST" model: L. E. Miller,
    /// Validation of 802.11a/UWB coexistence simulation, 2003; Pei and
    /// Henderson, Validation of OFDM error rate model in ns-3, 2010).
    Ofdm {
        /// Of each subcarrier.
        constellation: Constellation,
        /// Of the convolutional code.
        code: CodeRate,
    },
}

/// Bits of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constellation {
    /// One.
    Bpsk,
    /// Two.
    Qpsk,
    /// Four.
    Qam16,
    /// Six.
    Qam64,
    /// Eight.
    Qam256,
}

/// The part of the sent bits that is data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeRate {
    /// 1/2.
    Half,
    /// 2/3.
    TwoThirds,
    /// 3/4.
    ThreeQuarters,
    /// 5/6.
    FiveSixths,
}

impl ErrorModel {
    /// Probability from 0 to 1 that a frame of `bytes` cannot be read.
    pub fn frame_error_rate(&self, snr_db: f64, bytes: u32) -> f64 {
        let bit_error_rate = self.bit_error_rate(pow(10.0, snr_db / 10.0));
        let bits = f64::from(bytes) * 8.0;
        -expm1(bits * log1p(-bit_error_rate.min(0.5)))
    }

    fn bit_error_rate(&self, snr: f64) -> f64 {
        match *self {
            ErrorModel::Psk { gain_db } => 0.5 * erfc(sqrt(snr * pow(10.0, gain_db / 10.0))),
            ErrorModel::Dbpsk1M => tail(11.0 * snr),
            ErrorModel::Dqpsk2M => tail(5.5 * snr),
            ErrorModel::Cck5M5 => 8.0 / 15.0 * (14.0 * tail(8.0 * snr) + tail(16.0 * snr)),
            ErrorModel::Cck11M => {
                let symbol_error_rate = 24.0 * tail(4.0 * snr)
                    + 16.0 * tail(6.0 * snr)
                    + 174.0 * tail(8.0 * snr)
                    + 16.0 * tail(10.0 * snr)
                    + 24.0 * tail(12.0 * snr)
                    + tail(16.0 * snr);
                128.0 / 255.0 * symbol_error_rate
            }
            ErrorModel::Ofdm {
                constellation,
                code,
            } => code.decoded(constellation.channel(snr)),
        }
    }
}

/// Probability that a standard normal variable exceeds the root of `squared`.
fn tail(squared: f64) -> f64 {
    0.5 * erfc(sqrt(squared / 2.0))
}

impl Constellation {
    /// Bit error rate before decoding.
    fn channel(self, snr: f64) -> f64 {
        match self {
            Constellation::Bpsk => 0.5 * erfc(sqrt(snr)),
            Constellation::Qpsk => 0.5 * erfc(sqrt(snr / 2.0)),
            Constellation::Qam16 => 3.0 / 8.0 * erfc(sqrt(snr / 10.0)),
            Constellation::Qam64 => 7.0 / 24.0 * erfc(sqrt(snr / 42.0)),
            Constellation::Qam256 => 15.0 / 64.0 * erfc(sqrt(snr / 170.0)),
        }
    }
}

/// The weights of the first paths through a decoder that differ from the right one in
/// `distance`, `distance + step`, ... bits.
struct Spectrum {
    /// Bits that one step of the punctured code takes.
    bits: f64,
    distance: i32,
    step: i32,
    weights: &'static [f64],
}

impl CodeRate {
    fn spectrum(self) -> Spectrum {
        match self {
            CodeRate::Half => Spectrum {
                bits: 1.0,
                distance: 10,
                step: 2,
                weights: &[
                    36.0,
                    211.0,
                    1404.0,
                    11_633.0,
                    77_433.0,
                    502_690.0,
                    3_322_763.0,
                    21_292_910.0,
                    134_365_911.0,
                ],
            },
            CodeRate::TwoThirds => Spectrum {
                bits: 2.0,
                distance: 6,
                step: 1,
                weights: &[
                    3.0,
                    70.0,
                    285.0,
                    1276.0,
                    6160.0,
                    27_128.0,
                    117_019.0,
                    498_860.0,
                    2_103_891.0,
                    8_784_123.0,
                ],
            },
            CodeRate::ThreeQuarters => Spectrum {
                bits: 3.0,
                distance: 5,
                step: 1,
                weights: &[
                    42.0,
                    201.0,
                    1492.0,
                    10_469.0,
                    62_935.0,
                    379_644.0,
                    2_253_373.0,
                    13_073_811.0,
                    75_152_755.0,
                    428_005_675.0,
                ],
            },
            CodeRate::FiveSixths => Spectrum {
                bits: 5.0,
                distance: 4,
                step: 1,
                weights: &[
                    92.0,
                    528.0,
                    8694.0,
                    79_453.0,
                    792_114.0,
                    7_375_573.0,
                    67_884_974.0,
                    610_875_423.0,
                    5_427_275_376.0,
                    47_664_215_639.0,
                ],
            },
        }
    }

    /// Bit error rate after decoding, from the one before it.
    fn decoded(self, channel: f64) -> f64 {
        let spectrum = self.spectrum();
        let root = sqrt(4.0 * channel * (1.0 - channel));
        let ratio = pow(root, f64::from(spectrum.step));
        let mut power = pow(root, f64::from(spectrum.distance));
        let mut sum = 0.0;
        for weight in spectrum.weights {
            sum += weight * power;
            power *= ratio;
        }
        sum / (2.0 * spectrum.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use proptest::prelude::*;

    fn half_lost_at_db(model: ErrorModel, bytes: u32) -> f64 {
        let (mut low, mut high) = (-20.0, 60.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if model.frame_error_rate(middle, bytes) > 0.5 {
                low = middle
            } else {
                high = middle
            }
        }
        low
    }

    /// SoCPS's formula by itself: half of the longest frames are lost at 8.7 dB.
    #[test]
    fn the_papers_formula() {
        let half = half_lost_at_db(ErrorModel::Psk { gain_db: 0.0 }, 1536);
        assert!((half - 8.7).abs() < 0.1, "{half}");
        let shifted = half_lost_at_db(ErrorModel::Psk { gain_db: 1.7 }, 1536);
        assert!((half - shifted - 1.7).abs() < 1e-6, "{shifted}");
    }

    /// An exception is 802.11b: by its formulas, 5.5 Mbit/s needs slightly less SNR than 2
    /// Mbit/s because of coding.
    #[test]
    fn faster_rates_need_more() {
        for profile in [Profile::dot11g(), Profile::dot11n(), Profile::today_ac()] {
            let needs: Vec<f64> = profile
                .rates
                .iter()
                .map(|rate| half_lost_at_db(rate.errors, 1536))
                .collect();
            assert!(needs.is_sorted(), "{needs:?}");
        }
    }

    proptest! {
        #[test]
        fn loss_falls_with_snr_and_rises_with_length(
            snr_db in -30.0..60.0f64, more_db in 0.0..10.0f64, bytes in 1u32..4096, more in 0u32..4096,
        ) {
            for profile in Profile::all() {
                for rate in &profile.rates {
                    let loss = rate.errors.frame_error_rate(snr_db, bytes);
                    prop_assert!((0.0..=1.0).contains(&loss));
                    prop_assert!(rate.errors.frame_error_rate(snr_db + more_db, bytes) <= loss + 1e-12);
                    prop_assert!(rate.errors.frame_error_rate(snr_db, bytes + more) >= loss - 1e-12);
                }
            }
        }
    }
}
