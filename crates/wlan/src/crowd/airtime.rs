//! The air time of reports, and the rate of reports that it allows.
//!
//! In a network with an access point a frame from a terminal to a group goes over the air
//! twice: to the access point, which acknowledges it, and from there to all, at a rate that
//! every station understands. An aggregator on the wire is told once, and answers all terminals
//! with one datagram. So ten terminals need 3.2 % of the air to hear each other five times a
//! second, and 2.0 % with an aggregator.
//!
//! Figures are for 802.11g at its slowest rate, 6 Mbit/s, with interframe spaces and the mean
//! backoff of a first attempt. They are added up, as if no two backoffs overlapped.

/// A report to the group: to the access point and from it.
pub const TO_ALL_NS: u64 = 631_000;
/// A report to a host on the wire.
pub const TO_ONE_NS: u64 = 345_500;
/// A sum to all: without entries, and for each entry.
pub const SUM_NS: u64 = 285_500;
pub const SUM_ENTRY_NS: u64 = 24_000;

/// All reports together may take the air's time divided by this.
const SHARE_DIVISOR: u64 = 50;

/// Around the bits of a frame of 802.11a or g at 54 Mbit/s: spaces, the mean backoff of a first
/// attempt, the preamble, and the acknowledgement.
const FRAME_NS: u64 = 168_000;
/// On the air: a full segment, and half of an acknowledgement of TCP, which covers two.
const SEGMENT_AIR_BYTES: u64 = 1548 + 50;
const SEGMENT_BYTES: u64 = 1448;

/// What uploads get from the whole air at a rate of frames, of which so many of 1024 are sent again.
pub fn uploads_bytes_ps(phy_bps: u64, retries_q10: u32) -> u64 {
    let bits_ns = SEGMENT_AIR_BYTES * 8 * 1_000_000_000 / phy_bps.max(1);
    let all_bytes_ps = SEGMENT_BYTES * 1_000_000_000 / (FRAME_NS * 3 / 2 + bits_ns);
    all_bytes_ps * u64::from(1024 - retries_q10.min(1024)) / 1024
}

/// Of the rate of frames, in tenths, what uploads get at least where devices send aggregates: those of
/// ten terminals are short.
const AGGREGATES_TENTHS: u64 = 4;

/// Likewise where devices send aggregates.
pub fn aggregates_bytes_ps(phy_bps: u64) -> u64 {
    phy_bps / 8 / 10 * AGGREGATES_TENTHS
}

/// How terminals hear of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Each terminal reports to all others.
    Multicast,
    /// An aggregator receives all reports and answers to all terminals.
    Aggregated,
}

impl Form {
    /// The air time that `terminals` need for one report each.
    pub fn round_ns(self, terminals: usize) -> u64 {
        let count = terminals as u64;
        match self {
            Self::Multicast => count * TO_ALL_NS,
            Self::Aggregated => {
                let datagrams = count.div_ceil(super::sum::ENTRIES_MAX as u64);
                count * (TO_ONE_NS + SUM_ENTRY_NS) + datagrams * SUM_NS
            }
        }
    }

    /// The report interval of `terminals` that ask for `interval_ns`.
    pub fn interval_ns(self, interval_ns: u64, terminals: usize) -> u64 {
        interval_ns.max(self.round_ns(terminals) * SHARE_DIVISOR)
    }
}

#[cfg(test)]
mod tests {
    use takt_medium::Profile;

    use super::{super::report::REPORT_BYTES, super::sum, *};
    use crate::sealed::DATAGRAM_MAX_BYTES;

    /// Overhead around a body: the seal, UDP, IPv4 and Ethernet.
    const AROUND_BYTES: usize = DATAGRAM_MAX_BYTES - crate::sealed::BODY_MAX_BYTES + 8 + 20 + 14;
    const INTERVAL_NS: u64 = 200_000_000;

    /// The air time of a frame with this body at the slowest rate, preamble and spaces
    /// included.
    fn frame_ns(body_bytes: usize, acknowledged: bool) -> u64 {
        let profile = Profile::dot11g();
        let rate = &profile.rates[0];
        assert_eq!(rate.bps, 6_000_000);
        let bytes = (body_bytes + AROUND_BYTES) as u32 + profile.overhead_bytes;
        let backoff_ns = u64::from(profile.cw_min) * profile.slot_ns / 2;
        let ack_ns = profile.sifs_ns + rate.airtime_ns(profile.ack_bytes);
        let answer_ns = if acknowledged { ack_ns } else { 0 };
        profile.difs_ns + backoff_ns + rate.airtime_ns(bytes) + answer_ns
    }

    #[test]
    fn figures_are_those_of_the_medium() {
        let report_ns = frame_ns(REPORT_BYTES, true);
        assert_eq!(TO_ONE_NS, report_ns);
        assert_eq!(TO_ALL_NS, report_ns + frame_ns(REPORT_BYTES, false));
        for entries in 1..=sum::ENTRIES_MAX {
            let body_bytes = sum::SUM_MIN_BYTES
                + (sum::SUM_MAX_BYTES - sum::SUM_MIN_BYTES) / (sum::ENTRIES_MAX - 1)
                    * (entries - 1);
            let exact_ns = frame_ns(body_bytes, false);
            let counted_ns = SUM_NS + SUM_ENTRY_NS * entries as u64;
            assert!(
                (exact_ns..exact_ns + 8_000).contains(&counted_ns),
                "{entries}"
            );
        }
    }

    /// Within a twentieth of a frame and half an acknowledgement one by one.
    #[test]
    fn uploads_get_what_the_medium_carries() {
        let profile = Profile::dot11g();
        for rate in &profile.rates {
            let air_ns = |bytes: u32| {
                let backoff_ns = u64::from(profile.cw_min) * profile.slot_ns / 2;
                let basic = profile.rates.iter().rev();
                let basic = basic.filter(|basic| basic.basic && basic.bps <= rate.bps);
                let answer_ns = basic
                    .map(|basic| basic.airtime_ns(profile.ack_bytes))
                    .next();
                let frame_ns = rate.airtime_ns(bytes + profile.overhead_bytes);
                let spaces_ns = profile.difs_ns + backoff_ns + profile.sifs_ns;
                spaces_ns + frame_ns + answer_ns.unwrap_or_default()
            };
            let exact = 1448e9 / (air_ns(1514) as f64 + air_ns(66) as f64 / 2.0);
            let counted = uploads_bytes_ps(rate.bps, 0) as f64;
            assert!(
                (0.95..1.05).contains(&(counted / exact)),
                "{}: {counted}, {exact}",
                rate.bps
            );
        }
        assert_eq!(uploads_bytes_ps(54_000_000, 1024), 0);
        assert_eq!(uploads_bytes_ps(0, 5000), 0);
    }

    #[test]
    fn ten_terminals_take_less_than_two_percent() {
        // Five reports a second fit only with an aggregator.
        assert_eq!(Form::Aggregated.interval_ns(INTERVAL_NS, 10), INTERVAL_NS);
        assert_eq!(Form::Multicast.interval_ns(INTERVAL_NS, 6), INTERVAL_NS);
        assert_eq!(Form::Multicast.interval_ns(INTERVAL_NS, 10), 315_500_000);
        for form in [Form::Multicast, Form::Aggregated] {
            for terminals in 1..=256 {
                for interval_ns in [100_000_000, INTERVAL_NS, 1_000_000_000] {
                    let stretched_ns = form.interval_ns(interval_ns, terminals);
                    assert!(form.round_ns(terminals) * SHARE_DIVISOR <= stretched_ns);
                }
            }
        }
    }

    /// The cost if an aggregator answered each of ten terminals separately.
    #[test]
    fn one_answer_for_all_is_cheaper_than_one_for_each() {
        let body_bytes = sum::SUM_MAX_BYTES - (sum::ENTRIES_MAX - 10) * 18;
        assert!(8 * frame_ns(body_bytes, false) < 10 * frame_ns(body_bytes, true));
        assert!(frame_ns(body_bytes, false) * 380 < INTERVAL_NS);
    }
}
