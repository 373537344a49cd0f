//! Port ranges as prefixes, the only form that a masked key has.

use std::ops::RangeInclusive;

/// A port prefix: `port & mask == value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PortPrefix {
    pub value: u16,
    pub mask: u16,
}

/// The fewest prefixes that cover `range` exactly; 30 at most.
pub(super) fn prefixes(range: &RangeInclusive<u16>) -> Vec<PortPrefix> {
    let mut found = Vec::new();
    let (mut from, to) = (u32::from(*range.start()), u32::from(*range.end()));
    while from <= to {
        // The largest block that is aligned at `from` and ends by `to`.
        let aligned = if from == 0 { 16 } else { from.trailing_zeros() };
        let fitting = (to - from + 1).ilog2();
        let bits = aligned.min(fitting);
        found.push(PortPrefix {
            value: from as u16,
            mask: (u32::from(u16::MAX) << bits) as u16,
        });
        from += 1 << bits;
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_whole_range_is_one_prefix() {
        let all = [PortPrefix { value: 0, mask: 0 }];
        assert_eq!(prefixes(&(0..=u16::MAX)), all);
    }

    proptest! {
        #[test]
        fn covers_exactly_the_range(a: u16, b: u16, probe: u16) {
            let range = a.min(b)..=a.max(b);
            let found = prefixes(&range);
            prop_assert!(found.len() <= 30);
            for port in [probe, a, b, a.wrapping_sub(1), b.wrapping_add(1)] {
                let hits = found.iter().filter(|p| port & p.mask == p.value).count();
                prop_assert_eq!(hits, usize::from(range.contains(&port)));
            }
        }
    }
}
