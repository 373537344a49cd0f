//! Direct sequence: WaveLAN, 802.11b, and the network of Bianchi's paper.

use super::{MICROSECOND_NS, PAPERS_ROOM, Profile, RateChoice, Rules};
use crate::{ErrorModel, Phy, Rate};

/// Preamble and header of the PLCP (802.11-2007, 18.2.2).
const LONG_NS: u64 = 192 * MICROSECOND_NS;
const SHORT_NS: u64 = 96 * MICROSECOND_NS;

/// 24 of header, 4 of FCS, 8 of LLC and SNAP, less 14 of Ethernet.
const DOT11_OVERHEAD_BYTES: u32 = 22;

/// The gain of WaveLAN's receiver against SoCPS's formula. With it half of the longest frames
/// are lost at 7 dB, and, over the fluctuation of SoCPS's room, a fifth are received at 4 dB
/// and four fifths at 10 dB. These are the points of SoCPS's weights, drawn from its
/// measurements (sections 4.3 and 5.1, figures 22 and 23).
const WAVELAN_GAIN_DB: f64 = 1.7;

fn serial(bps: u64, preamble_ns: u64, errors: ErrorModel, basic: bool) -> Rate {
    Rate {
        bps,
        phy: Phy::Serial { preamble_ns },
        errors,
        basic,
    }
}

impl Profile {
    /// 2 Mbit/s, as 802.11 standardized it in 1997 (WaveLAN/IEEE): frames are
    /// acknowledged and sent up to seven times.
    pub fn wavelan() -> Self {
        let errors = ErrorModel::Psk {
            gain_db: WAVELAN_GAIN_DB,
        };
        Profile {
            name: "wavelan",
            // Acknowledgements are sent at 2 Mbit/s, too; both rates would be basic.
            rates: vec![serial(2_000_000, LONG_NS, errors, true)],
            rate_choice: RateChoice::Fixed(0),
            ..Self::dot11b_long()
        }
    }

    /// 2 Mbit/s before the standard (NCR WaveLAN; B. Tuch 1993, SoCPS's reference 12): no
    /// acknowledgements and no retries. Spaces and slots of 32 bits and Ethernet's frames, as
    /// Linux's driver sets its Intel 82593 up (wavelan_cs.c); its backoff after Ethernet's
    /// rules is simplified to 802.11's.
    pub fn wavelan_classic() -> Self {
        const FCS_BYTES: u32 = 4;
        let errors = ErrorModel::Psk {
            gain_db: WAVELAN_GAIN_DB,
        };
        Profile {
            name: "wavelan-classic",
            slot_ns: 16 * MICROSECOND_NS,
            sifs_ns: 16 * MICROSECOND_NS,
            difs_ns: 16 * MICROSECOND_NS,
            acknowledged: false,
            overhead_bytes: FCS_BYTES,
            rates: vec![serial(2_000_000, LONG_NS, errors, true)],
            rate_choice: RateChoice::Fixed(0),
            ..Self::dot11b_long()
        }
    }

    /// 1, 2, 5.5 and 11 Mbit/s with the long preamble.
    pub fn dot11b_long() -> Self {
        Self::dot11b("802.11b-long", LONG_NS)
    }

    /// The same with the short preamble, which 1 Mbit/s does not have.
    pub fn dot11b_short() -> Self {
        Self::dot11b("802.11b-short", SHORT_NS)
    }

    fn dot11b(name: &'static str, preamble_ns: u64) -> Self {
        Profile {
            name,
            slot_ns: 20 * MICROSECOND_NS,
            sifs_ns: 10 * MICROSECOND_NS,
            difs_ns: 50 * MICROSECOND_NS,
            rx_start_ns: preamble_ns,
            propagation_ns: 0,
            cw_min: 31,
            cw_max: 1023,
            // dot11ShortRetryLimit's default.
            attempts_max: Some(7),
            acknowledged: true,
            overhead_bytes: DOT11_OVERHEAD_BYTES,
            ack_bytes: 14,
            aggregation: None,
            rates: vec![
                serial(1_000_000, LONG_NS, ErrorModel::Dbpsk1M, true),
                serial(2_000_000, preamble_ns, ErrorModel::Dqpsk2M, true),
                serial(5_500_000, preamble_ns, ErrorModel::Cck5M5, false),
                serial(11_000_000, preamble_ns, ErrorModel::Cck11M, false),
            ],
            rate_choice: RateChoice::BySnr,
            rules: Rules::Standard,
            fading: Some(PAPERS_ROOM),
        }
    }

    /// The network of Bianchi's table II with a first window of `window` slots
    /// that doubles `stages` times. A frame's bytes are its payload.
    pub fn bianchi(window: u32, stages: u32) -> Self {
        const PHY_HEADER_NS: u64 = 128 * MICROSECOND_NS;
        const MAC_HEADER_BYTES: u32 = 272 / 8;
        let errors = ErrorModel::Psk { gain_db: 0.0 };
        Profile {
            name: "bianchi",
            slot_ns: 50 * MICROSECOND_NS,
            sifs_ns: 28 * MICROSECOND_NS,
            difs_ns: 128 * MICROSECOND_NS,
            rx_start_ns: PHY_HEADER_NS,
            propagation_ns: MICROSECOND_NS,
            cw_min: window - 1,
            cw_max: (window << stages) - 1,
            attempts_max: None,
            acknowledged: true,
            overhead_bytes: MAC_HEADER_BYTES,
            ack_bytes: 112 / 8,
            aggregation: None,
            rates: vec![serial(1_000_000, PHY_HEADER_NS, errors, true)],
            rate_choice: RateChoice::Fixed(0),
            rules: Rules::Bianchi,
            fading: None,
        }
    }
}
