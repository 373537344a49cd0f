//! One direction between the access point and a station: its rate control, and figures.

use rand_pcg::Pcg64Mcg;

use crate::{Rate, RateChoice, rate_control::Control};

/// The direction of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the access point.
    Down,
    /// From the station.
    Up,
}

/// The figures that a driver reports of its frames to one receiver, as Linux does by nl80211.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Link {
    /// Index of the rate of first attempts (`NL80211_STA_INFO_TX_BITRATE`).
    pub rate: usize,
    /// Frames sent at least once (`NL80211_STA_INFO_TX_PACKETS`).
    pub frames: u64,
    /// Attempts after their first (`NL80211_STA_INFO_TX_RETRIES`).
    pub retries: u64,
    /// Frames given up (`NL80211_STA_INFO_TX_FAILED`).
    pub dropped: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct LinkState {
    pub control: Control,
    /// Without the rate.
    pub figures: Link,
    random: Pcg64Mcg,
}

impl LinkState {
    pub fn new(choice: RateChoice, rates: &[Rate], random: Pcg64Mcg) -> Self {
        LinkState {
            control: Control::new(choice, rates, random.clone()),
            figures: Link::default(),
            random,
        }
    }

    /// The figures remain.
    pub fn choose(&mut self, choice: RateChoice, rates: &[Rate], now_ns: u64) {
        self.control = Control::new(choice, rates, self.random.clone());
        self.control.begin(now_ns);
    }
}
