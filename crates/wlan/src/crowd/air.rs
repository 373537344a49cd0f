//! Whether the air collides so much that members' rate controls take it for a bad radio.
//!
//! Some rate controls cannot tell a collision from a frame that could not be read: AMRR lowers the
//! rate above a third of retries and raises it below a tenth, ARF after a few failures in a row.
//! With more terminals frames collide more often, the rates fall, frames take longer, and the
//! total collapses as terminals are added (cooperative middleware, section 4.3). Where members
//! see that, the law keeps so few packets on the air that rates recover (docs/crowd-law.md).
//!
//! Devices with aggregates (802.11n and later) have controls that compare rates, and so can tell.
//! Their rates change all the time, which says nothing.

use std::collections::BTreeMap;

use super::{Activity, airtime, best_rates::BestRates};

/// Retries of a member in the median, of 1024, above which rates may fall.
const RETRIES_Q10: u32 = 205;
/// Rates have fallen if they are below this part of their best, in the median.
const FALLEN: (u64, u64) = (9, 10);
/// The highest rate of 802.11a and g.
pub(super) const SINGLE_FRAMES_MAX_BPS: u64 = 54_000_000;
/// Where it was seen once it is expected for so long.
const BLIND_NS: u64 = 300_000_000_000;

/// What a member's radio does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Radio {
    /// Rate of its frames on the air, in bits per second; 0: unknown.
    pub phy_bps: u64,
    /// Frames that it sends again, of 1024.
    pub retries_q10: u32,
}

/// A member's view of all radios.
#[derive(Debug, Default)]
pub struct Air {
    best: BestRates<u64>,
    blind_until_ns: u64,
    carries_bytes_ps: u64,
}

impl Air {
    /// A period is over, in which active members' radios were so; returns the retries for the law,
    /// 0 as long as rates do not fall with them.
    pub fn period(&mut self, now_ns: u64, members: impl Iterator<Item = (u64, Activity)>) -> u32 {
        self.carries_bytes_ps = 0;
        let known = members.filter(|(_, activity)| activity.radio.phy_bps > 0);
        let known: BTreeMap<u64, Radio> = known
            .map(|(number, activity)| (number, activity.radio))
            .collect();
        let rates_bps = known.iter().map(|(&number, radio)| (number, radio.phy_bps));
        let Some(part_q10) = self.best.median_part_q10(&rates_bps.collect()) else {
            return 0;
        };
        let mut retries_q10: Vec<u32> = known.values().map(|radio| radio.retries_q10).collect();
        retries_q10.sort_unstable();
        // A minority moves neither: more than half have to have fallen, and to send again.
        let retries_q10 = retries_q10[(retries_q10.len() - 1) / 2];
        let have_fallen = part_q10 < 1024 * FALLEN.0 / FALLEN.1;
        if retries_q10 > RETRIES_Q10 && have_fallen && !self.has_aggregates() {
            self.blind_until_ns = now_ns.saturating_add(BLIND_NS);
        }
        if self.is_blind(now_ns) {
            return retries_q10;
        }
        let mut phy_bps: Vec<u64> = known.values().map(|radio| radio.phy_bps).collect();
        phy_bps.sort_unstable();
        let phy_bps = phy_bps[(phy_bps.len() - 1) / 2];
        self.carries_bytes_ps = if self.has_aggregates() {
            airtime::aggregates_bytes_ps(phy_bps)
        } else {
            airtime::uploads_bytes_ps(phy_bps, retries_q10)
        };
        0
    }

    /// What uploads would get from all of the air; 0: unknown.
    pub fn carries_bytes_ps(&self) -> u64 {
        self.carries_bytes_ps
    }

    /// Whether rates fell with collisions lately.
    pub fn is_blind(&self, now_ns: u64) -> bool {
        now_ns < self.blind_until_ns
    }

    /// Whether devices send aggregates: those of most members have sent faster than any device could
    /// before 802.11n, which brought them.
    pub fn has_aggregates(&self) -> bool {
        self.best.median_bps() > SINGLE_FRAMES_MAX_BPS
    }

    /// Until when it is expected that rates fall with collisions; 0: it was not seen.
    pub fn blind_until_ns(&self) -> u64 {
        self.blind_until_ns
    }
}

/// Reads a driver's counters once a period.
#[derive(Debug, Default)]
pub struct RadioMeter {
    last: Option<(u64, u64)>,
    retries_q10: u32,
}

impl RadioMeter {
    /// Frames sent, and sent again, so far, and the rate of the last one.
    pub fn read(&mut self, frames: u64, retries: u64, phy_bps: u64) -> Radio {
        if let Some((frames_before, retries_before)) = self.last.replace((frames, retries)) {
            let again = retries.saturating_sub(retries_before);
            let all = frames.saturating_sub(frames_before).saturating_add(again);
            // Over some periods: one has few frames.
            if let Some(now_q10) = again.saturating_mul(1024).checked_div(all) {
                self.retries_q10 = (self.retries_q10 + now_q10.min(1024) as u32) / 2;
            }
        }
        Radio {
            phy_bps,
            retries_q10: self.retries_q10,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PERIOD_NS: u64 = 200_000_000;

    fn radio(phy_mbps: u64, retries_q10: u32) -> Activity {
        Activity {
            radio: Radio {
                phy_bps: phy_mbps * 1_000_000,
                retries_q10,
            },
            ..Activity::default()
        }
    }

    fn period(air: &mut Air, at: u64, radios: &[Activity]) -> u32 {
        air.period(at * PERIOD_NS, (0..).zip(radios.iter().copied()))
    }

    #[test]
    fn collisions_alone_say_nothing_nor_do_rates() {
        let mut air = Air::default();
        assert_eq!(period(&mut air, 0, &[radio(54, 300); 3]), 0);
        assert_eq!(period(&mut air, 1, &[radio(6, 0); 3]), 0);
        assert_eq!(period(&mut air, 2, &[radio(54, 100); 3]), 0);
    }

    #[test]
    fn rates_that_fall_with_collisions_are_remembered() {
        let mut air = Air::default();
        period(&mut air, 0, &[radio(54, 0); 3]);
        assert_eq!(period(&mut air, 1, &[radio(24, 250); 3]), 250);
        // They have recovered, and would fall again.
        assert_eq!(period(&mut air, 2, &[radio(54, 250); 3]), 250);
        assert_eq!(period(&mut air, 5 * 301, &[radio(54, 250); 3]), 0);
    }

    /// By most members' rates, without what is sent again; and not where rates fall with collisions.
    #[test]
    fn the_air_carries_what_rates_say() {
        let carries = |radios: &[Activity]| {
            let mut air = Air::default();
            period(&mut air, 0, radios);
            air.carries_bytes_ps()
        };
        let at_54 = carries(&[radio(54, 0); 3]);
        assert!((2_900_000..3_100_000).contains(&at_54), "{at_54}");
        assert_eq!(carries(&[radio(54, 0), radio(54, 0), radio(6, 0)]), at_54);
        assert_eq!(carries(&[radio(54, 256); 3]), at_54 / 4 * 3);
        assert_eq!(carries(&[radio(65, 500); 3]), 65_000_000 / 8 / 10 * 4);
        assert_eq!(carries(&[radio(0, 0); 3]), 0);
        let mut air = Air::default();
        period(&mut air, 0, &[radio(54, 0); 3]);
        period(&mut air, 1, &[radio(24, 250); 3]);
        assert_eq!(air.carries_bytes_ps(), 0);
    }

    proptest! {
        /// A minority changes nothing, whatever it reports.
        #[test]
        fn a_minority_does_not_make_it_so(
            honest in 2..10usize, lies in prop::collection::vec((1..100_000u64, 0..2000u32), 1..100),
        ) {
            let mut air = Air::default();
            for (at, (phy_mbps, retries_q10)) in (0..).zip(lies) {
                let mut radios = vec![radio(54, 100); honest];
                radios.extend(vec![radio(phy_mbps, retries_q10); (honest - 1).min(3)]);
                prop_assert_eq!(period(&mut air, at, &radios), 0);
            }
        }

        #[test]
        fn counters_may_be_anything(readings in prop::collection::vec(any::<(u64, u64, u64)>(), 1..20)) {
            let mut meter = RadioMeter::default();
            for (frames, retries, phy_bps) in readings {
                prop_assert!(meter.read(frames, retries, phy_bps).retries_q10 <= 1024);
            }
        }
    }
}
