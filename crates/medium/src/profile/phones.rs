//! A wireless LAN of phones of 2011, as the cooperative middleware's papers had it.

use super::Profile;
use crate::{RateChoice, rate_control::Amrr};

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
}
