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
