//! Wireless LANs of phones: of 2011, as the cooperative middleware's papers had them, and of today.

use super::{MICROSECOND_NS, PAPERS_ROOM, Profile, ofdm};
use crate::{
    Aggregation, Fading, RateChoice,
    rate_control::{Amrr, Minstrel},
};

impl Profile {
    /// 802.11g with seven attempts and a rate control that takes collisions for bad radio.
    ///
    /// The papers' phones are Nexus S, whose radio (BCM4329) has its rate control in firmware
    /// that was not published. AMRR, looked at once a second, stands for the controls of that
    /// time; [`Input::Rate`](crate::Input::Rate) chooses another.
    pub fn phones_2011() -> Self {
        let amrr = Amrr {
            interval_ns: 1_000_000_000,
            ..Amrr::NET80211
        };
        Profile {
            name: "phones-2011",
            rate_choice: RateChoice::Amrr(amrr),
            ..Self::dot11g()
        }
    }

    /// 802.11n as [`dot11n`](Self::dot11n), with aggregates and minstrel. Their limits: the
    /// compressed block acknowledgement's 64 frames and 32 bytes (802.11n-2009, 7.2.1.8.3), the
    /// longest A-MPDU (7.3.2.56.3), and the 4 ms of Linux's ath9k (`ath_update_max_aggr_framelen`).
    pub fn today() -> Self {
        /// As minstrel_ht does, rates are compared by their part of an aggregate.
        const TYPICAL_AGGREGATE_FRAMES: u32 = 16;
        let minstrel = Minstrel {
            frame_bytes: Minstrel::LEGACY.frame_bytes * TYPICAL_AGGREGATE_FRAMES,
            ..Minstrel::LEGACY_50_MS
        };
        Profile {
            name: "today",
            aggregation: Some(Aggregation {
                frames_max: 64,
                bytes_max: 65_535,
                duration_max_ns: 4_000_000,
                block_ack_bytes: 32,
            }),
            rate_choice: RateChoice::Minstrel(minstrel),
            ..Self::dot11n()
        }
    }

    /// 802.11ac at 5 GHz, one stream of 80 MHz. Aggregates have up to 1,048,575 bytes (the
    /// largest length exponent of 802.11ac-2013) and 5.484 ms (its aPPDUMaxTime). The SNR is that
    /// of all 80 MHz. Simplified as [`dot11n`](Self::dot11n).
    pub fn today_ac() -> Self {
        /// Of walking, as the room's, under 5.2 GHz.
        const COHERENCE_NS: u64 = 16_000_000;
        let today = Self::today();
        Profile {
            name: "today-ac",
            sifs_ns: 16 * MICROSECOND_NS,
            difs_ns: (16 + 3 * 9) * MICROSECOND_NS,
            rx_start_ns: 40 * MICROSECOND_NS,
            rates: ofdm::vht80_rates(),
            aggregation: today.aggregation.map(|aggregation| Aggregation {
                bytes_max: 1_048_575,
                duration_max_ns: 5_484_000,
                ..aggregation
            }),
            fading: Some(Fading {
                coherence_ns: COHERENCE_NS,
                ..PAPERS_ROOM
            }),
            ..today
        }
    }
}
