//! `slack` of a link: how late the timer may be.

use std::ops::RangeInclusive;

use crate::findings::Findings;
use crate::read::section::Section;
use crate::value::duration;

pub(super) const RANGE_NS: RangeInclusive<u64> = 0..=1_000_000;
/// As in the kernel's fq (`timer_slack`). With a hundred classes of 3 Mbit/s it saves two interrupts
/// of three, at a spacing error of 9 us (`takt lab run pacing --slack`).
const DEFAULT_MAX_NS: u64 = 10_000;
/// ... and not more than this part of the time between full frames.
const DEFAULT_PART: u64 = 100;
const FULL_FRAME_BITS: u64 = 1514 * 8;
const NS_PER_S: u64 = 1_000_000_000;

/// `None`: the policy does not say.
pub(super) fn read_ns(section: &Section, findings: &mut Findings) -> Option<u64> {
    let parse = |text: &str| duration::parse_within("slack", text, RANGE_NS);
    section.text("slack", "slack = \"10us\"", findings, parse)
}

/// Of a link that says nothing, by the rate of its fastest class.
pub(crate) fn default_ns(fastest_bps: u64) -> u64 {
    (FULL_FRAME_BITS * NS_PER_S / fastest_bps.max(1) / DEFAULT_PART).min(DEFAULT_MAX_NS)
}

#[cfg(test)]
mod tests {
    use super::default_ns;

    #[test]
    fn a_hundredth_of_the_spacing_is_the_most() {
        assert_eq!(default_ns(1_000_000), 10_000);
        assert_eq!(default_ns(100_000_000), 1_211);
        assert_eq!(default_ns(400_000_000_000), 0);
    }
}
