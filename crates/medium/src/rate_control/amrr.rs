//! AMRR (M. Lacage, M. H. Manshaei and T. Turletti, IEEE 802.11 rate adaptation: a practical
//! approach, INRIA RR-5208, 2004), as net80211 and MadWifi have it.

use super::{Chain, fastest_to_36m};
use crate::Rate;

/// The rate rises if less than a tenth of a period's frames were retried, and falls if more than
/// a third were. A rise that fails at once doubles the number of good periods before the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amrr {
    /// The least duration of a period.
    pub interval_ns: u64,
    /// The most good periods before a rise.
    pub threshold_max: u32,
    /// A frame's retries are sent at slower rates, and a frame counts as one retry however often
    /// it was sent.
    pub chain: bool,
}

impl Amrr {
    /// FreeBSD's sys/net80211/ieee80211_amrr.c: 500 ms, `IEEE80211_AMRR_MAX_SUCCESS_THRESHOLD`
    /// 15, and each retry counts.
    pub const NET80211: Amrr = Amrr {
        interval_ns: 500_000_000,
        threshold_max: 15,
        chain: false,
    };
    /// MadWifi's ath_rate/amrr/amrr.c: `ath_rateinterval` 1000 ms (an access point's; stations
    /// take half of it), `ath_rate_max_success_threshold` 10, one try at each of four rates.
    pub const MADWIFI: Amrr = Amrr {
        interval_ns: 1_000_000_000,
        threshold_max: 10,
        chain: true,
    };
}

/// `IEEE80211_AMRR_MIN_SUCCESS_THRESHOLD`, `ath_rate_min_success_threshold`.
const THRESHOLD_MIN: u32 = 1;
/// `is_enough`: a period with fewer frames goes on.
const FRAMES_MIN: u32 = 11;
/// `is_success`: retries below this part of the frames.
const GOOD_PART: u32 = 10;
/// `is_failure`: retries above this part of the frames.
const BAD_PART: u32 = 3;

#[derive(Debug, Clone)]
pub(crate) struct Control {
    rules: Amrr,
    fastest: usize,
    rate: usize,
    since_ns: u64,
    frames: u32,
    retries: u32,
    good_periods: u32,
    threshold: u32,
    /// The rate has just risen.
    is_trying: bool,
}

impl Control {
    pub fn new(rules: Amrr, rates: &[Rate]) -> Self {
        Control {
            rules,
            fastest: rates.len().saturating_sub(1),
            rate: fastest_to_36m(rates),
            since_ns: 0,
            frames: 0,
            retries: 0,
            good_periods: 0,
            threshold: THRESHOLD_MIN,
            is_trying: false,
        }
    }

    pub fn begin(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.since_ns);
        if self.frames < FRAMES_MIN || passed_ns <= self.rules.interval_ns {
            return;
        }
        // Whole numbers, as in both sources.
        if self.retries < self.frames / GOOD_PART {
            self.good_periods += 1;
            self.is_trying = self.good_periods >= self.threshold && self.rate < self.fastest;
            if self.is_trying {
                self.good_periods = 0;
                self.rate += 1;
            }
        } else if self.retries > self.frames / BAD_PART {
            self.good_periods = 0;
            if self.rate > 0 {
                self.rate -= 1;
                self.threshold = if self.is_trying {
                    (self.threshold * 2).min(self.rules.threshold_max)
                } else {
                    THRESHOLD_MIN
                };
            }
            self.is_trying = false;
        }
        (self.frames, self.retries) = (0, 0);
        self.since_ns = now_ns;
    }

    pub fn attempt(&self, failures: u32) -> usize {
        if self.rules.chain {
            Chain::down_from(self.rate, 1).rate(failures)
        } else {
            self.rate
        }
    }

    pub fn sent(&mut self, failures: u32) {
        match failures {
            0 => self.frames = self.frames.saturating_add(1),
            1 => self.retries = self.retries.saturating_add(1),
            _ if self.rules.chain => {}
            _ => self.retries = self.retries.saturating_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    const SECOND_NS: u64 = 1_000_000_000;

    fn control(rules: Amrr) -> Control {
        Control::new(rules, &Profile::dot11g().rates)
    }

    /// Periods of 100 frames, of which so many are retried once; the rates after each.
    fn periods(control: &mut Control, start_s: u64, retries: &[u32]) -> Vec<usize> {
        let period = |(index, &retries): (usize, &u32)| {
            for frame in 0..100 {
                control.sent(0);
                if frame < retries {
                    control.sent(1);
                }
            }
            control.begin((start_s + index as u64 + 1) * 2 * SECOND_NS);
            control.rate
        };
        retries.iter().enumerate().map(period).collect()
    }

    #[test]
    fn it_starts_at_36_and_moves_below_a_tenth_and_above_a_third() {
        let mut amrr = control(Amrr::NET80211);
        assert_eq!(amrr.rate, 5);
        assert_eq!(periods(&mut amrr, 0, &[10, 33, 9, 9, 0]), [5, 5, 6, 7, 7]);
        assert_eq!(periods(&mut amrr, 5, &[34, 34, 100]), [6, 5, 4]);
        assert_eq!(periods(&mut amrr, 8, &[100; 6]), [3, 2, 1, 0, 0, 0]);
    }

    #[test]
    fn a_failed_rise_doubles_the_good_periods_before_the_next() {
        let mut amrr = control(Amrr::NET80211);
        // Up and down again: 2 good periods are needed, then 4.
        assert_eq!(periods(&mut amrr, 0, &[0, 50]), [6, 5]);
        assert_eq!(periods(&mut amrr, 2, &[0, 0, 50]), [5, 6, 5]);
        assert_eq!(periods(&mut amrr, 5, &[0, 0, 0, 0, 50]), [5, 5, 5, 6, 5]);
        // Up to 15, and 10 in MadWifi.
        for (rules, most) in [(Amrr::NET80211, 15), (Amrr::MADWIFI, 10)] {
            let mut amrr = control(rules);
            for round in 0..8 {
                let mut good = 0;
                while periods(&mut amrr, round * 100 + good, &[0]) == [5] {
                    good += 1;
                }
                assert_eq!(good + 1, (1 << round).min(most));
                assert_eq!(periods(&mut amrr, round * 100 + good + 1, &[50]), [5]);
            }
            // A fall without a rise before it forgets that.
            periods(&mut amrr, 900, &[50]);
            assert_eq!(amrr.threshold, 1);
        }
    }

    #[test]
    fn a_period_needs_its_time_and_eleven_frames() {
        let mut amrr = control(Amrr::NET80211);
        for _ in 0..10 {
            amrr.sent(0);
        }
        amrr.begin(SECOND_NS);
        assert_eq!(amrr.rate, 5);
        amrr.sent(0);
        amrr.begin(Amrr::NET80211.interval_ns);
        assert_eq!(amrr.rate, 5);
        amrr.begin(SECOND_NS);
        assert_eq!(amrr.rate, 6);
    }

    #[test]
    fn madwifis_retries_are_sent_slower_and_count_once() {
        let mut amrr = control(Amrr::MADWIFI);
        let rates: Vec<usize> = (0..5).map(|failures| amrr.attempt(failures)).collect();
        assert_eq!(rates, [5, 4, 3, 0, 0]);
        for frame in 0..100 {
            (0..if frame < 30 { 4 } else { 1 }).for_each(|failures| amrr.sent(failures));
        }
        amrr.begin(2 * SECOND_NS);
        assert_eq!(amrr.rate, 5);
    }
}
