//! Whether rates fall as stations contend, as an access point sees it: it thins no acknowledgements
//! there.
//!
//! Each acknowledgement that an access point sends is a turn in which no station sends. With fewer
//! of them more stations contend for a turn, and more frames collide. A rate control that takes
//! collisions for a weak signal (see [`super::air`]) then lowers its rates earlier.
//!
//! Members report their rates and retries. Of other stations the driver of an access point knows
//! the rate of the last frame, but not the retries, so a larger fall has to last.

use std::collections::BTreeMap;

use takt_host::ReceivedFrames;

use super::{
    Activity,
    air::{Air, SINGLE_FRAMES_MAX_BPS},
    best_rates::BestRates,
};

/// How often stations are to be looked at.
pub const STATIONS_NS: u64 = 1_000_000_000;
/// Stations that sent fewer frames since the last look do not contend.
const FRAMES_MIN: u32 = 10;
/// Fewer stations do not collide often.
const CONTENDING_MIN: usize = 3;
/// Rates have fallen if they are below this part of their best, in the median.
const FALLEN_Q10: u64 = 1024 / 2;
/// Looks in a row at which they have.
const LOOKS: u32 = 3;
/// After that long it is tried again. Rates need a while to rise.
const PAUSE_NS: u64 = 300_000_000_000;

/// The view of an access point.
#[derive(Debug, Default)]
pub struct Contention {
    reported: Air,
    frames: BTreeMap<[u8; 6], u32>,
    best: BestRates<[u8; 6]>,
    /// Looks in a row at which rates had fallen.
    fallen_looks: u32,
    paused_until_ns: u64,
}

impl Contention {
    /// A period of the law is over, in which active members' radios were so.
    pub fn hear(&mut self, now_ns: u64, members: impl Iterator<Item = (u64, Activity)>) {
        self.reported.period(now_ns, members);
        let blind_until_ns = self.reported.blind_until_ns();
        self.paused_until_ns = self.paused_until_ns.max(blind_until_ns);
    }

    /// A look at the driver's table of stations.
    pub fn look(&mut self, now_ns: u64, stations: &BTreeMap<[u8; 6], ReceivedFrames>) {
        let before = std::mem::take(&mut self.frames);
        let contends = |mac: &[u8; 6], station: &ReceivedFrames| {
            let sent = |before: &u32| station.frames.wrapping_sub(*before) >= FRAMES_MIN;
            station.phy_bps > 0 && before.get(mac).is_some_and(sent)
        };
        self.frames = stations
            .iter()
            .map(|(mac, station)| (*mac, station.frames))
            .collect();
        let rates_bps: BTreeMap<[u8; 6], u64> = stations
            .iter()
            .filter(|(mac, station)| contends(mac, station))
            .map(|(mac, station)| (*mac, station.phy_bps))
            .collect();
        let part_q10 = self.best.median_part_q10(&rates_bps);
        let may_be_blind = self.best.median_bps() <= SINGLE_FRAMES_MAX_BPS;
        let have_fallen = rates_bps.len() >= CONTENDING_MIN
            && part_q10.is_some_and(|part_q10| part_q10 < FALLEN_Q10 && may_be_blind);
        self.fallen_looks = if have_fallen {
            self.fallen_looks.saturating_add(1)
        } else {
            0
        };
        if self.fallen_looks >= LOOKS {
            self.paused_until_ns = now_ns.saturating_add(PAUSE_NS);
        }
    }

    /// For how long acknowledgements are not to be thinned from now on; 0: they may be.
    pub fn pause_ns(&self, now_ns: u64) -> u64 {
        self.paused_until_ns.saturating_sub(now_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::Radio, *};

    const S_NS: u64 = STATIONS_NS;

    fn mac(n: u8) -> [u8; 6] {
        [2, 0, 0, 0, 0, n]
    }

    /// Looks once a second, at which each station has sent so many frames more, the last at this
    /// rate; returns whether thinning pauses after the last.
    fn pauses_after(looks: &[(u32, &[u64])]) -> bool {
        let (mut contention, mut frames, mut now_ns) = (Contention::default(), 0, 0);
        for (sent, rates_mbps) in looks {
            frames += sent;
            now_ns += S_NS;
            let stations = (0..).zip(rates_mbps.iter()).map(|(n, &mbps)| {
                let phy_bps = mbps * 1_000_000;
                (mac(n), ReceivedFrames { frames, phy_bps })
            });
            contention.look(now_ns, &stations.collect());
        }
        contention.pause_ns(now_ns) > 0
    }

    #[test]
    fn rates_of_most_stations_have_to_fall_and_to_stay_there() {
        let (high, low): (&[u64], &[u64]) = (&[54, 54, 54, 54], &[54, 18, 11, 6]);
        let few = (20, &[54, 54, 54, 11][..]);
        assert!(pauses_after(&[
            (20, high),
            (20, high),
            (20, low),
            (20, low),
            (20, low)
        ]));
        assert!(!pauses_after(&[
            (20, high),
            (20, high),
            (20, low),
            (20, low),
            (20, high)
        ]));
        assert!(!pauses_after(&[
            (20, high),
            (20, high),
            (20, low),
            (20, low)
        ]));
        assert!(!pauses_after(&[(20, high), (20, high), few, few, few]));
        // 802.11n has controls that can tell.
        let fast: &[u64] = &[65; 4];
        assert!(!pauses_after(&[
            (20, fast),
            (20, fast),
            (20, low),
            (20, low),
            (20, low)
        ]));
        // From the beginning they were no better.
        assert!(!pauses_after(&[(20, low); 9]));
    }

    #[test]
    fn stations_that_hardly_send_do_not_contend() {
        let (high, low): (&[u64], &[u64]) = (&[54; 4], &[6; 4]);
        assert!(!pauses_after(&[
            (20, high),
            (20, high),
            (3, low),
            (3, low),
            (3, low)
        ]));
        let (high, low): (&[u64], &[u64]) = (&[54; 2], &[6; 2]);
        assert!(!pauses_after(&[
            (20, high),
            (20, high),
            (20, low),
            (20, low),
            (20, low)
        ]));
    }

    #[test]
    fn what_members_report_is_believed_at_once_and_tried_again_later() {
        let of = |phy_mbps: u64, retries_q10| Activity {
            radio: Radio {
                phy_bps: phy_mbps * 1_000_000,
                retries_q10,
            },
            ..Activity::default()
        };
        let mut contention = Contention::default();
        contention.hear(S_NS, (0..).zip([of(54, 0); 3]));
        assert_eq!(contention.pause_ns(S_NS), 0);
        contention.hear(2 * S_NS, (0..).zip([of(11, 400); 3]));
        let pause_ns = contention.pause_ns(2 * S_NS);
        assert_eq!(pause_ns, PAUSE_NS);
        assert_eq!(contention.pause_ns(2 * S_NS + pause_ns), 0);
    }

    proptest! {
        #[test]
        fn no_table_panics(
            tables in prop::collection::vec(
                prop::collection::btree_map(any::<[u8; 6]>(), any::<(u32, u64)>(), 0..5), 0..9),
            now_ns in any::<u64>(),
        ) {
            let mut contention = Contention::default();
            for table in tables {
                let station = |(mac, (frames, phy_bps))| (mac, ReceivedFrames { frames, phy_bps });
                contention.look(now_ns, &table.into_iter().map(station).collect());
                prop_assert!(contention.pause_ns(now_ns) <= PAUSE_NS);
            }
        }
    }
}
