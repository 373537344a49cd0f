//! The wireless LANs that can be emulated.

mod dsss;
mod ofdm;
mod phones;

use crate::{Aggregation, Fading, Rate, RateChoice};

/// Everything that is the same for all stations of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The name in scripts.
    pub name: &'static str,
    /// A slot of the backoff.
    pub slot_ns: u64,
    /// The space before an acknowledgement.
    pub sifs_ns: u64,
    /// The space before a backoff.
    pub difs_ns: u64,
    /// The time from the start of an answer until a station knows of it (PHY-RX-START-Delay).
    pub rx_start_ns: u64,
    /// Propagation from any node to any other.
    pub propagation_ns: u64,
    /// Backoff is 0..=cw slots; cw is one less than a power of two.
    pub cw_min: u32,
    /// The largest window.
    pub cw_max: u32,
    /// The most attempts for a frame; `None`: no limit.
    pub attempts_max: Option<u32>,
    /// Whether frames to one receiver are acknowledged, and repeated if not.
    pub acknowledged: bool,
    /// Bytes that the MAC adds to an Ethernet frame without its FCS.
    pub overhead_bytes: u32,
    /// The length of an acknowledgement.
    pub ack_bytes: u32,
    /// None: one frame in each transmission.
    pub aggregation: Option<Aggregation>,
    /// Slowest first; at least one is basic.
    pub rates: Vec<Rate>,
    /// The rate of stations without one of their own, in both directions.
    pub rate_choice: RateChoice,
    /// The rules of contention.
    pub rules: Rules,
    /// None: the SNR is exactly the path's.
    pub fading: Option<Fading>,
}

/// The rules of contention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// IEEE 802.11's: a backoff stands still while the air is busy, and a node that could not
    /// read a frame waits EIFS.
    Standard,
    /// The assumptions of G. Bianchi, Performance analysis of the IEEE 802.11 distributed
    /// coordination function (JSAC 2000): a busy period counts as one slot of every backoff,
    /// and after a collision all nodes continue after DIFS. For validation.
    Bianchi,
}

impl Profile {
    /// All profiles for stations, without those for validation.
    pub fn all() -> Vec<Profile> {
        vec![
            Self::wavelan(),
            Self::wavelan_classic(),
            Self::dot11b_long(),
            Self::dot11b_short(),
            Self::dot11g(),
            Self::dot11n(),
            Self::phones_2011(),
            Self::today(),
            Self::today_ac(),
        ]
    }

    /// One of [`Profile::all`] by its name.
    pub fn by_name(name: &str) -> Option<Profile> {
        Self::all().into_iter().find(|profile| profile.name == name)
    }

    /// Length of an Ethernet frame on the air.
    pub(crate) fn air_bytes(&self, bytes: u32) -> u32 {
        bytes.saturating_add(self.overhead_bytes)
    }

    /// The slowest basic rate: for broadcasts and EIFS.
    pub(crate) fn slowest_basic(&self) -> usize {
        self.rates
            .iter()
            .position(|rate| rate.basic)
            .unwrap_or_default()
    }

    /// The rate of the acknowledgement of a frame: the fastest basic one that is
    /// not faster (802.11-2007, 9.6).
    pub(crate) fn ack_rate(&self, rate: usize) -> usize {
        let basic = |&index: &usize| self.rates[index].basic;
        (0..=rate)
            .rev()
            .find(basic)
            .unwrap_or_else(|| self.slowest_basic())
    }

    pub(crate) fn ack_ns(&self, rate: usize) -> u64 {
        self.answer_ns(rate, 1)
    }

    /// The length of the answer to a transmission of so many frames.
    pub(crate) fn answer_bytes(&self, frames: usize) -> u32 {
        match &self.aggregation {
            Some(aggregation) if frames > 1 => aggregation.block_ack_bytes,
            _ => self.ack_bytes,
        }
    }

    /// The air time of that answer.
    pub(crate) fn answer_ns(&self, rate: usize, frames: usize) -> u64 {
        let bytes = self.answer_bytes(frames);
        self.rates[self.ack_rate(rate)].airtime_ns(bytes) + self.propagation_ns
    }

    /// 802.11-2007, 9.2.10.
    pub(crate) fn eifs_ns(&self) -> u64 {
        match self.rules {
            Rules::Standard if self.acknowledged => {
                self.sifs_ns + self.ack_ns(self.slowest_basic()) + self.difs_ns
            }
            _ => self.difs_ns,
        }
    }

    /// For how long nodes that read a frame leave the air to its answer.
    pub(crate) fn nav_ns(&self, answer_ns: u64) -> u64 {
        match self.rules {
            Rules::Standard => answer_ns,
            Rules::Bianchi => 0,
        }
    }

    /// From a frame's end until its sender knows that no answer comes (802.11-2007, 9.2.8).
    pub(crate) fn ack_timeout_ns(&self) -> u64 {
        match self.rules {
            Rules::Standard => self.sifs_ns + self.slot_ns + self.rx_start_ns,
            Rules::Bianchi => 0,
        }
    }

    /// The least mean SNR at which a rate loses at most a tenth of the longest frames.
    pub(crate) fn needed_snr_centidb(&self) -> Vec<i32> {
        const LONGEST_BYTES: u32 = 1514;
        const LOSS: f64 = 0.1;
        let bytes = self.air_bytes(LONGEST_BYTES);
        let still = Fading {
            deviation_db: 0.0,
            coherence_ns: 1,
        };
        let fading = self.fading.unwrap_or(still);
        let enough = |rate: &Rate, snr_centidb: i32| {
            let snr_db = f64::from(snr_centidb) / 100.0;
            fading.mean_frame_error_rate(rate, snr_db, bytes) <= LOSS
        };
        let needed = |rate: &Rate| {
            let (mut low, mut high) = (-4000, 8000);
            while high - low > 1 {
                let middle = (low + high) / 2;
                if enough(rate, middle) {
                    high = middle
                } else {
                    low = middle
                }
            }
            high
        };
        self.rates.iter().map(needed).collect()
    }
}

/// The environment of all profiles but the validation's. With [`dsss`]'s WaveLAN receiver, a
/// deviation of 3.6 dB goes through the points of SoCPS's weights. The coherence is that of a
/// person who walks at 1.5 m/s (SoCPS, section 5.3.4: 1 to 3 m/s) under 2.4 GHz: 0.423 /
/// Doppler frequency, 12 Hz (T. S. Rappaport, Wireless communications, section 5.4).
const PAPERS_ROOM: Fading = Fading {
    deviation_db: 3.6,
    coherence_ns: 35_000_000,
};

const MICROSECOND_NS: u64 = 1000;
