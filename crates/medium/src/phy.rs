//! Air times of frames.

use crate::ErrorModel;

/// A rate of a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    /// The nominal rate; it also determines the rate of an acknowledgement.
    pub bps: u64,
    /// The air time of frames.
    pub phy: Phy,
    /// The loss of frames.
    pub errors: ErrorModel,
    /// Every station understands it: broadcasts and acknowledgements use it.
    pub basic: bool,
}

/// The air time of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phy {
    /// Direct sequence and CCK: a preamble, then bits one after another,
    /// rounded up to a microsecond (802.11-2007, 18.3.4).
    Serial {
        /// Before its first bit.
        preamble_ns: u64,
    },
    /// OFDM: a preamble, then symbols of 4 us of 16 bits of service field, the
    /// frame and 6 bits of tail, then silence (802.11-2007, 17.4.3 and 19.8.3).
    Ofdm {
        /// Before its first symbol.
        preamble_ns: u64,
        /// Of data.
        bits_per_symbol: u32,
        /// Of silence behind it.
        extension_ns: u64,
    },
}

const SYMBOL_NS: u64 = 4000;
const SERVICE_AND_TAIL_BITS: u64 = 16 + 6;

impl Rate {
    /// The air time of a frame of `bytes` MAC bytes.
    pub fn airtime_ns(&self, bytes: u32) -> u64 {
        let bits = u64::from(bytes) * 8;
        match self.phy {
            Phy::Serial { preamble_ns } => {
                preamble_ns + (bits * 1_000_000).div_ceil(self.bps.max(1)) * 1000
            }
            Phy::Ofdm {
                preamble_ns,
                bits_per_symbol,
                extension_ns,
            } => {
                let bits = bits + SERVICE_AND_TAIL_BITS;
                let symbols = bits.div_ceil(u64::from(bits_per_symbol.max(1)));
                preamble_ns + symbols * SYMBOL_NS + extension_ns
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Profile;

    /// Computed by hand from the standard's formulas.
    #[test]
    fn frames_take_as_long_as_the_standard_says() {
        let airtime_us = |profile: Profile, bps: u64, bytes: u32| {
            let rate = profile.rates.iter().find(|rate| rate.bps == bps).unwrap();
            rate.airtime_ns(bytes) / 1000
        };
        let long = Profile::dot11b_long;
        let short = Profile::dot11b_short;
        assert_eq!(airtime_us(long(), 1_000_000, 14), 192 + 112);
        assert_eq!(airtime_us(long(), 11_000_000, 1536), 192 + 1118);
        assert_eq!(airtime_us(short(), 11_000_000, 1536), 96 + 1118);
        assert_eq!(airtime_us(short(), 2_000_000, 14), 96 + 56);
        // 12,310 bits are 57 symbols of 216.
        assert_eq!(
            airtime_us(Profile::dot11g(), 54_000_000, 1536),
            20 + 57 * 4 + 6
        );
        assert_eq!(airtime_us(Profile::dot11g(), 24_000_000, 14), 20 + 8 + 6);
        assert_eq!(
            airtime_us(Profile::dot11n(), 65_000_000, 1536),
            36 + 48 * 4 + 6
        );
        // 12,310 bits are 8 symbols of 1560.
        assert_eq!(
            airtime_us(Profile::today_ac(), 390_000_000, 1536),
            40 + 8 * 4
        );
    }
}
