//! CoDel's times, which the kernel rounds down to its own unit when it takes them, and again to
//! microseconds when it lists them. What it lists, given back, would be a microsecond less each
//! time.

use netlink_packet_core::NlasIterator;

use super::htb::attribute;

const CODEL: &str = "codel";
const FQ_CODEL: &str = "fq_codel";

/// Target, interval and threshold for marks.
const TIMES_OF_CODEL: [u16; 3] = [1, 3, 5];
const TIMES_OF_FQ_CODEL: [u16; 3] = [1, 3, 7];

/// The kernel counts in units of so many nanoseconds.
const UNIT_NS: u64 = 1024;
const NS_PER_US: u64 = 1000;

/// The options to give the kernel, so that it lists these.
pub(super) fn to_be_listed(kind: &str, options: &[u8]) -> Vec<u8> {
    let times = match kind {
        CODEL => TIMES_OF_CODEL,
        FQ_CODEL => TIMES_OF_FQ_CODEL,
        _ => return options.to_vec(),
    };
    let mut given = Vec::with_capacity(options.len());
    for nla in NlasIterator::new(options).filter_map(Result::ok) {
        let time = <[u8; 4]>::try_from(nla.value()).map(u32::from_ne_bytes);
        match time {
            Ok(listed_us) if times.contains(&nla.kind()) => {
                given.extend(attribute(
                    nla.kind(),
                    &before_rounding(listed_us).to_ne_bytes(),
                ));
            }
            _ => given.extend(attribute(nla.kind(), nla.value())),
        }
    }
    given
}

/// The least time that is listed as this one.
fn before_rounding(listed_us: u32) -> u32 {
    let units = (u64::from(listed_us) * NS_PER_US).div_ceil(UNIT_NS);
    let us = (units * UNIT_NS).div_ceil(NS_PER_US);
    u32::try_from(us).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::netlink::numbers;

    fn listed(us: u32) -> u32 {
        let units = u64::from(us) * NS_PER_US / UNIT_NS;
        (units * UNIT_NS / NS_PER_US) as u32
    }

    #[test]
    fn a_listed_time_is_listed_again() {
        for us in (0..200_000).chain([u32::MAX / 2, 4_000_000_000]) {
            let first = listed(us);
            assert_eq!(listed(before_rounding(first)), first, "{us}");
        }
        assert_eq!(before_rounding(u32::MAX), u32::MAX);
    }

    #[test]
    fn only_times_of_codel_are_changed() {
        // Target and limit.
        let options = numbers(&[(1, 4999), (2, 4999)]);
        let given = numbers(&[(1, 5000), (2, 4999)]);
        assert_eq!(to_be_listed("fq_codel", &options), given);
        assert_eq!(to_be_listed("fq", &options), options);
        assert!(to_be_listed("codel", &[1]).is_empty());
    }
}
