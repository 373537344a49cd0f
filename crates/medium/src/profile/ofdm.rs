//! OFDM: 802.11g without 802.11b stations, one like 802.11n, and the rates of 802.11ac.

use super::{MICROSECOND_NS, Profile};
use crate::{CodeRate, Constellation, ErrorModel, Phy, Rate};

/// So that a receiver's decoder has as much time as at 5 GHz.
const EXTENSION_NS: u64 = 6 * MICROSECOND_NS;

fn rate(bps: u64, preamble_us: u64, code: (Constellation, CodeRate), basic: bool) -> Rate {
    let phy = Phy::Ofdm {
        preamble_ns: preamble_us * MICROSECOND_NS,
        bits_per_symbol: (bps / 250_000) as u32,
        extension_ns: EXTENSION_NS,
    };
    let (constellation, code) = code;
    Rate {
        bps,
        phy,
        errors: ErrorModel::Ofdm {
            constellation,
            code,
        },
        basic,
    }
}

/// One stream of 80 MHz at 5 GHz with long guard intervals (802.11ac-2013, clause 22.5).
pub(super) fn vht80_rates() -> Vec<Rate> {
    use {CodeRate::*, Constellation::*};
    // 20 us as before, VHT-SIG-A 8, VHT-STF 4, one VHT-LTF 4, VHT-SIG-B 4.
    let vht = |bps, code, basic| {
        let mut rate = rate(bps, 40, code, basic);
        if let Phy::Ofdm { extension_ns, .. } = &mut rate.phy {
            *extension_ns = 0;
        }
        rate
    };
    vec![
        vht(29_250_000, (Bpsk, Half), true),
        vht(58_500_000, (Qpsk, Half), true),
        vht(87_750_000, (Qpsk, ThreeQuarters), false),
        vht(117_000_000, (Qam16, Half), true),
        vht(175_500_000, (Qam16, ThreeQuarters), false),
        vht(234_000_000, (Qam64, TwoThirds), false),
        vht(263_250_000, (Qam64, ThreeQuarters), false),
        vht(292_500_000, (Qam64, FiveSixths), false),
        vht(351_000_000, (Qam256, ThreeQuarters), false),
        vht(390_000_000, (Qam256, FiveSixths), false),
    ]
}

impl Profile {
    /// 6 to 54 Mbit/s, short slots.
    pub fn dot11g() -> Self {
        use {CodeRate::*, Constellation::*};
        let legacy = |bps, code, basic| rate(bps, 20, code, basic);
        Profile {
            name: "802.11g",
            slot_ns: 9 * MICROSECOND_NS,
            sifs_ns: 10 * MICROSECOND_NS,
            difs_ns: 28 * MICROSECOND_NS,
            rx_start_ns: 25 * MICROSECOND_NS,
            cw_min: 15,
            rates: vec![
                legacy(6_000_000, (Bpsk, Half), true),
                legacy(9_000_000, (Bpsk, ThreeQuarters), false),
                legacy(12_000_000, (Qpsk, Half), true),
                legacy(18_000_000, (Qpsk, ThreeQuarters), false),
                legacy(24_000_000, (Qam16, Half), true),
                legacy(36_000_000, (Qam16, ThreeQuarters), false),
                legacy(48_000_000, (Qam64, TwoThirds), false),
                legacy(54_000_000, (Qam64, ThreeQuarters), false),
            ],
            ..Self::dot11b_short()
        }
    }

    /// One stream of 20 MHz with long guard intervals, EDCA's best effort
    /// (AIFSN 3) and frames with QoS. Simplified: no aggregation, which
    /// [`today`](Self::today) has, and acknowledgements at the data's basic rates
    /// in the HT format.
    pub fn dot11n() -> Self {
        use {CodeRate::*, Constellation::*};
        // 20 us as before, HT-SIG 8, HT-STF 4, one HT-LTF 4.
        let mixed = |bps, code, basic| rate(bps, 36, code, basic);
        Profile {
            name: "802.11n",
            difs_ns: (10 + 3 * 9) * MICROSECOND_NS,
            rx_start_ns: 33 * MICROSECOND_NS,
            overhead_bytes: 24,
            rates: vec![
                mixed(6_500_000, (Bpsk, Half), true),
                mixed(13_000_000, (Qpsk, Half), true),
                mixed(19_500_000, (Qpsk, ThreeQuarters), false),
                mixed(26_000_000, (Qam16, Half), true),
                mixed(39_000_000, (Qam16, ThreeQuarters), false),
                mixed(52_000_000, (Qam64, TwoThirds), false),
                mixed(58_500_000, (Qam64, ThreeQuarters), false),
                mixed(65_000_000, (Qam64, FiveSixths), false),
            ],
            ..Self::dot11g()
        }
    }
}
