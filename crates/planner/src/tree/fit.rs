//! Guarantees that do not fit their parent.

use std::collections::BTreeMap;

/// What of `room_bps` each gets that asks for a rate, `(priority, rate)`: better priorities have
/// all of theirs first, and those of the priority that does not fit are scaled down in proportion.
pub(super) fn fit(room_bps: u64, asked: &[(u8, u64)]) -> Vec<u64> {
    let mut sums: BTreeMap<u8, u128> = BTreeMap::new();
    for (priority, rate_bps) in asked {
        *sums.entry(*priority).or_default() += u128::from(*rate_bps);
    }
    let mut left_bps = u128::from(room_bps);
    let room: BTreeMap<u8, u128> = sums
        .iter()
        .map(|(priority, sum_bps)| {
            let room_bps = left_bps.min(*sum_bps);
            left_bps -= room_bps;
            (*priority, room_bps)
        })
        .collect();
    asked
        .iter()
        .map(|(priority, rate_bps)| match sums[priority] {
            0 => 0,
            sum_bps => (u128::from(*rate_bps) * room[priority] / sum_bps) as u64,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_is_kept_and_what_does_not_is_scaled() {
        assert_eq!(fit(100, &[(6, 40), (6, 20)]), [40, 20]);
        assert_eq!(
            fit(100, &[(6, 40), (6, 40), (6, 40), (6, 20), (6, 20)]),
            [25, 25, 25, 12, 12]
        );
        assert_eq!(fit(100, &[(6, 100), (0, 40), (7, 50)]), [60, 40, 0]);
        assert_eq!(fit(100, &[]), [0; 0]);
    }

    proptest! {
        #[test]
        fn no_more_is_given_than_there_is_or_than_was_asked_for(
            room_bps in 0u64..1 << 40,
            asked in prop::collection::vec((0u8..8, 0u64..1 << 40), 0..20),
        ) {
            let given = fit(room_bps, &asked);
            prop_assert!(given.iter().map(|bps| u128::from(*bps)).sum::<u128>() <= u128::from(room_bps));
            for (given_bps, (_, asked_bps)) in given.iter().zip(&asked) {
                prop_assert!(given_bps <= asked_bps);
            }
        }
    }
}
