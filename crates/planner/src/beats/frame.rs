//! A frame that independent tasks can share.

use takt_policy::ExactTime;

use super::{FRAME_MAX_NS, SLOTS_MAX};

/// A change of the tables waits for the frame's end, so the shared frame is short.
const FRAME_NS: u64 = 200_000_000;

/// The frame is a multiple of one of these, where possible: the first that is not too long.
const UNITS_NS: [u64; 8] = [
    200_000_000,
    100_000_000,
    40_000_000,
    20_000_000,
    10_000_000,
    5_000_000,
    2_000_000,
    1_000_000,
];

/// The frame of a CPU that the periods of later tasks have to divide, beside tasks of these
/// periods. Then no task excludes another by its period alone: the frame keeps its length, and its
/// table has an entry for each slot of the grid, unless the existing periods make it longer than
/// that.
pub fn common_frame(grid: ExactTime, periods: impl IntoIterator<Item = ExactTime>) -> ExactTime {
    let multiple = |a: ExactTime, b: ExactTime| a.common_multiple(b).unwrap_or(u64::MAX.into());
    let there = periods.into_iter().fold(grid, multiple);
    let entries = grid.times(SLOTS_MAX as u64);
    let longest = entries
        .min(FRAME_NS.into())
        .max(there)
        .min(FRAME_MAX_NS.into());
    UNITS_NS
        .into_iter()
        .filter_map(|unit_ns| there.common_multiple(unit_ns.into()))
        .find(|frame| *frame <= longest)
        .unwrap_or(there)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    use crate::beats::phases::lcm;

    const MS: u64 = 1_000_000;
    const GRID: u64 = 500_000;

    fn common_frame_ns(grid_ns: u64, periods_ns: impl IntoIterator<Item = u64>) -> u64 {
        let periods = periods_ns.into_iter().map(ExactTime::from);
        common_frame(grid_ns.into(), periods).rounded_ns()
    }

    #[test]
    fn it_holds_a_whole_number_of_common_periods() {
        let alone_ns = common_frame_ns(GRID, []);
        assert_eq!(alone_ns, 200 * MS);
        for period_ns in [1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 100, 200].map(|ms| ms * MS) {
            assert_eq!(alone_ns % period_ns, 0);
            // Tasks that exist by then change nothing.
            assert_eq!(common_frame_ns(GRID, [period_ns]), alone_ns);
        }
    }

    #[test]
    fn it_goes_by_what_is_there() {
        assert_eq!(common_frame_ns(GRID, [30 * MS]), 120 * MS);
        assert_eq!(common_frame_ns(GRID, [7 * MS, 14 * MS]), 140 * MS);
        assert_eq!(common_frame_ns(GRID, [1000 * MS]), 1000 * MS);
        assert_eq!(common_frame_ns(GRID, [3_999_500_000]), 3_999_500_000);
        // As many slots as a table has entries last 41 ms.
        assert_eq!(common_frame_ns(10_000, []), 40 * MS);
        assert_eq!(common_frame_ns(10_000, [MS]), 40 * MS);
        // A grid that divides no millisecond, and one that no unit is a multiple of.
        assert_eq!(common_frame_ns(7 * MS, []), 140 * MS);
        assert_eq!(common_frame_ns(333_000, [999_000]), 999_000);
    }

    proptest! {
        /// In any order of arrival, no task is refused because of the frame or the number of
        /// entries.
        #[test]
        fn periods_that_divide_it_fit_together(
            grid_ns in prop_oneof![Just(10_000), Just(100_000), Just(GRID), 10_000..10 * MS],
            there in proptest::collection::vec(1u64..100, 0..3),
            divisors in proptest::collection::vec(1u64..500, 0..20),
        ) {
            let there_ns: Vec<u64> = there.iter().map(|slots| slots * grid_ns).collect();
            prop_assume!(there_ns.iter().copied().fold(grid_ns, lcm) <= FRAME_MAX_NS);
            let frame_ns = common_frame_ns(grid_ns, there_ns.iter().copied());
            prop_assert!(frame_ns <= FRAME_MAX_NS);
            let there_alone_ns = there_ns.iter().copied().fold(grid_ns, lcm);
            prop_assert_eq!(frame_ns % there_alone_ns, 0);
            if there_alone_ns <= SLOTS_MAX as u64 * grid_ns {
                prop_assert!(frame_ns / grid_ns <= SLOTS_MAX as u64);
            }
            let slots = frame_ns / grid_ns;
            let joined = divisors.iter().filter(|divisor| slots.is_multiple_of(**divisor));
            let periods_ns = joined.map(|divisor| divisor * grid_ns);
            prop_assert_eq!(frame_ns % periods_ns.fold(there_alone_ns, lcm), 0);
        }
    }
}
