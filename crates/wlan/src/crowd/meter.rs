//! A terminal's activity, from the kernel's counters.
//!
//! A flow is counted when its own period ends: the law's period and up to a round trip more. So
//! within one of the reader's periods a flow may be counted twice, or not at all. Its bytes are
//! therefore taken over the time for which it was counted, and the number of flows over the
//! last few periods.

use std::collections::VecDeque;

use super::{Activity, Radio};

/// Periods from which the number of flows is taken.
const PERIODS: usize = 5;
/// A flow that was not counted for so many round trips has ended, or after the longest time.
const ROUND_TRIPS: u64 = 2;
const WAITS_MAX_NS: u64 = 6_000_000_000;
const NS_PER_US: u64 = 1000;

/// Sums over flows and their periods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes delivered to the other ends.
    pub delivered_bytes: u64,
    /// The time for which flows were counted.
    pub passed_us: u64,
    /// The part of it in which windows limited the flows.
    pub limited_us: u64,
    /// Sum of mean round trips, of periods with any.
    pub rtt_sum_us: u64,
    /// Sum of shortest round trips, of the same periods.
    pub rtt_min_sum_us: u64,
    /// Sum of standing round trips, of the same periods.
    pub stand_sum_us: u64,
    /// How many periods are in the sums.
    pub rtt_count: u64,
}

impl Counts {
    /// The difference to `before`. Counters may have been reset in between.
    fn since(&self, before: &Self) -> Self {
        Self {
            delivered_bytes: self.delivered_bytes.saturating_sub(before.delivered_bytes),
            passed_us: self.passed_us.saturating_sub(before.passed_us),
            limited_us: self.limited_us.saturating_sub(before.limited_us),
            rtt_sum_us: self.rtt_sum_us.saturating_sub(before.rtt_sum_us),
            rtt_min_sum_us: self.rtt_min_sum_us.saturating_sub(before.rtt_min_sum_us),
            stand_sum_us: self.stand_sum_us.saturating_sub(before.stand_sum_us),
            rtt_count: self.rtt_count.saturating_sub(before.rtt_count),
        }
    }
}

/// The result of a reading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measured {
    /// The terminal's activity.
    pub activity: Activity,
    /// Flows that their windows limit.
    pub limited_flows: u16,
}

/// Reads the counters once a period.
#[derive(Default)]
pub struct Meter {
    /// Times and counters of the last readings, the oldest first.
    readings: VecDeque<(u64, Counts)>,
    last: Measured,
    /// When a counter last grew.
    counted_ns: u64,
    /// Rate, ratio and wait of one flow.
    rate_bytes_ps: u64,
    ratio_q8: u16,
    wait_us: u32,
    rtt_us: u64,
}

impl Meter {
    /// Ends a period with these counters.
    pub fn read(&mut self, now_ns: u64, counts: Counts) -> Measured {
        let Some((_, before)) = self.readings.back() else {
            self.readings.push_back((now_ns, counts));
            return self.last;
        };
        let last = counts.since(before);
        if last.passed_us > 0 {
            self.counted_ns = now_ns;
            let rate = u128::from(last.delivered_bytes) * 1_000_000 / u128::from(last.passed_us);
            self.rate_bytes_ps = rate.min(u32::MAX.into()) as u64;
        }
        if last.rtt_min_sum_us > 0 {
            self.ratio_q8 = Activity::ratio_q8(last.rtt_sum_us, last.rtt_min_sum_us);
            self.rtt_us = last.rtt_sum_us / last.rtt_count.max(1);
            let waited_us = last.stand_sum_us.saturating_sub(last.rtt_min_sum_us);
            let mean_us = waited_us / last.rtt_count.max(1);
            self.wait_us = mean_us.min(u32::MAX.into()) as u32;
        }
        self.readings.push_back((now_ns, counts));
        if self.readings.len() > PERIODS + 1 {
            self.readings.pop_front();
        }
        let (since_ns, before) = self.readings.front().copied().unwrap_or_default();
        let recent = counts.since(&before);
        // With so few readings one empty period weighs much. So the flows are counted over the
        // time before it; otherwise a new terminal would leave again.
        let until_ns = if self.readings.len() > PERIODS {
            now_ns
        } else {
            self.counted_ns
        };
        let waited_us = (until_ns.saturating_sub(since_ns) / NS_PER_US).max(1);
        let flows = rounded(recent.passed_us, waited_us);
        let limited_flows = rounded(recent.limited_us, waited_us).min(flows);
        // Flows with long round trips end their periods later than that.
        let waits_ns = self.rtt_us.saturating_mul(ROUND_TRIPS * NS_PER_US);
        if flows == 0 && now_ns.saturating_sub(self.counted_ns) < waits_ns.min(WAITS_MAX_NS) {
            return self.last;
        }
        let rate = self.rate_bytes_ps.saturating_mul(flows.into());
        self.last = Measured {
            activity: Activity {
                rate_bytes_ps: rate.min(u32::MAX.into()) as u32,
                flows,
                lends: flows > 0 && limited_flows == 0,
                // Not measured by these counters.
                competes: false,
                radio: Radio::default(),
                rtt_ratio_q8: if flows > 0 { self.ratio_q8 } else { 0 },
                wait_us: if flows > 0 { self.wait_us } else { 0 },
            },
            limited_flows,
        };
        self.last
    }
}

fn rounded(sum: u64, part: u64) -> u16 {
    let number = sum.saturating_add(part / 2) / part;
    number.min(Activity::FLOWS_MAX.into()) as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PERIOD_US: u64 = 200_000;
    const RTT_MIN_US: u64 = 16_000;
    const WAIT_US: u64 = 3_000;

    /// A flow whose periods end up to a round trip late.
    struct Flow {
        ends_us: u64,
        since_us: u64,
        rate_bytes_ps: u64,
        is_limited: bool,
    }

    impl Flow {
        fn count(&mut self, until_us: u64, late_us: &mut impl FnMut() -> u64, counts: &mut Counts) {
            while self.ends_us <= until_us {
                let passed_us = self.ends_us - self.since_us;
                counts.delivered_bytes += self.rate_bytes_ps * passed_us / 1_000_000;
                counts.passed_us += passed_us;
                counts.limited_us += if self.is_limited { passed_us } else { 0 };
                counts.rtt_sum_us += 3 * RTT_MIN_US / 2;
                counts.rtt_min_sum_us += RTT_MIN_US;
                counts.stand_sum_us += RTT_MIN_US + WAIT_US;
                counts.rtt_count += 1;
                self.since_us = self.ends_us;
                self.ends_us += PERIOD_US + late_us();
            }
        }
    }

    proptest! {
        /// The result does not depend on the phase of flows' periods against the reader's.
        #[test]
        fn flows_are_counted_and_so_is_what_they_get(
            begins_us in prop::collection::vec(1..PERIOD_US, 1..6),
            limited in 0..6usize,
            rate_bytes_ps in 10_000..10_000_000u64,
            late_us in prop::collection::vec(0..60_000u64, 1..50),
        ) {
            let mut late = late_us.iter().copied().cycle();
            let mut late = || late.next().unwrap();
            let mut flows: Vec<Flow> = begins_us.iter().enumerate().map(|(n, since_us)| Flow {
                ends_us: since_us + PERIOD_US,
                since_us: *since_us,
                rate_bytes_ps,
                is_limited: n < limited,
            }).collect();
            let (mut meter, mut counts) = (Meter::default(), Counts::default());
            for period in 1..=40u64 {
                let now_us = period * PERIOD_US;
                flows.iter_mut().for_each(|flow| flow.count(now_us, &mut late, &mut counts));
                let Measured { activity, limited_flows } = meter.read(now_us * 1000, counts);
                if period < 10 {
                    continue;
                }
                let count = flows.len() as u16;
                prop_assert!(activity.flows.abs_diff(count) <= 1 + count / 4, "{activity:?}");
                prop_assert!(count > 2 || activity.flows == count, "{activity:?}");
                prop_assert_eq!(activity.lends, limited == 0);
                prop_assert!(limited_flows <= activity.flows);
                prop_assert_eq!(activity.rtt_ratio_q8, 384);
                prop_assert_eq!(u64::from(activity.wait_us), WAIT_US);
                let each = u64::from(activity.rate_bytes_ps) / u64::from(activity.flows);
                prop_assert!(each.abs_diff(rate_bytes_ps) <= rate_bytes_ps / 100 + 1);
            }
            // The flows end, and a second later nothing is left of them.
            for period in 41..=41 + PERIODS as u64 {
                meter.read(period * PERIOD_US * 1000, counts);
            }
            let now_ns = (42 + PERIODS as u64) * PERIOD_US * 1000;
            prop_assert_eq!(meter.read(now_ns, counts), Measured::default());
        }

        /// The reader may start at any time, and a flow's answers may be late.
        #[test]
        fn a_new_terminal_stays(
            since_us in 0..PERIOD_US,
            is_limited: bool,
            late_us in prop::collection::vec(0..250_000u64, 1..50),
        ) {
            let mut late = late_us.iter().copied().cycle();
            let mut late = || late.next().unwrap();
            let ends_us = since_us + PERIOD_US + late();
            let mut flow = Flow { ends_us, since_us, rate_bytes_ps: 100_000, is_limited };
            let (mut meter, mut counts) = (Meter::default(), Counts::default());
            let mut has_come = false;
            for period in 1..=20u64 {
                let now_us = period * PERIOD_US;
                flow.count(now_us, &mut late, &mut counts);
                let Activity { flows, lends, .. } = meter.read(now_us * 1000, counts).activity;
                has_come |= flows > 0;
                prop_assert!(has_come || period < 6);
                prop_assert_eq!((flows > 0, lends), (has_come, has_come && !is_limited));
            }
        }

        #[test]
        fn no_numbers_make_it_panic(readings in prop::collection::vec(any::<[u64; 8]>(), 1..20)) {
            let mut meter = Meter::default();
            for reading in readings {
                let [now_ns, delivered_bytes, passed_us, limited_us, ..] = reading;
                let [.., rtt_sum_us, rtt_min_sum_us, stand_sum_us, rtt_count] = reading;
                let counts = Counts {
                    delivered_bytes, passed_us, limited_us,
                    rtt_sum_us, rtt_min_sum_us, stand_sum_us, rtt_count,
                };
                let measured = meter.read(now_ns, counts);
                prop_assert!(measured.limited_flows <= measured.activity.flows);
            }
        }
    }
}
