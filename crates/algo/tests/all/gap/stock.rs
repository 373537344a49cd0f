//! The stock: a stored template comes out once, by its length, and there are no more than
//! slots.

use std::collections::BTreeMap;

use proptest::prelude::*;
use takt_algo::{
    GapLink,
    sys::{TAKT_GAP_LEN_MIN, TAKT_GAP_LENS, TAKT_GAP_SLOTS, TAKT_PACING_GAP, takt_plan},
    zeroed_box,
};

fn plan() -> Box<takt_plan> {
    let mut plan = zeroed_box::<takt_plan>();
    plan.pacing = TAKT_PACING_GAP;
    plan
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_stock_is_what_was_stored(lens in prop::collection::vec(0..TAKT_GAP_LENS + 100, 1..300)) {
        let plan = plan();
        let mut link = GapLink::new(1514, 1);
        let mut model = BTreeMap::<u32, u16>::new();
        for len in &lens {
            let fits = (TAKT_GAP_LEN_MIN..TAKT_GAP_LENS).contains(len);
            prop_assert_eq!(link.store(&plan, *len).is_some(), fits);
            if fits {
                *model.entry(*len).or_default() += 1;
            }
        }
        for (len, length) in link.gap().lengths.iter().enumerate() {
            let stored = model.get(&(len as u32)).copied().unwrap_or_default();
            prop_assert_eq!(length.stocked, stored);
        }
        let stored = model.values().map(|stored| u32::from(*stored)).sum::<u32>();
        prop_assert_eq!(link.gap().stocked, stored);
        prop_assert_eq!(link.gap().refused, lens.len() as u64 - u64::from(stored));
        prop_assert_eq!(link.flush(), stored);
        prop_assert_eq!(link.gap().stocked, 0);
    }
}

#[test]
fn a_full_stock_takes_no_more() {
    let plan = plan();
    let mut link = GapLink::new(1514, 1);
    for round in 0..3 {
        for _ in 1..TAKT_GAP_SLOTS {
            assert!(link.store(&plan, 100 + round).is_some());
        }
        assert_eq!(link.store(&plan, 100), None);
        assert_eq!(link.flush(), TAKT_GAP_SLOTS - 1);
    }
    assert_eq!(link.gap().refused, 3);
}

#[test]
fn a_link_with_a_timer_takes_none() {
    let mut plan = plan();
    plan.pacing = 0;
    assert_eq!(GapLink::new(1514, 1).store(&plan, 100), None);
}

/// Templates of a previous feeder are used until the new feeder's arrive and replace them.
#[test]
fn a_new_feeders_templates_replace_the_old_ones() {
    let plan = plan();
    let mut link = GapLink::new(1514, 1);
    for helper in 1..100 {
        link.gap_mut().helper = helper;
        for len in [100, 200] {
            for _ in 0..3000 {
                assert!(link.store(&plan, len).is_some());
            }
            assert_eq!(link.gap().lengths[len as usize].stocked, 3000);
        }
        assert_eq!(link.gap().stocked, 6000);
        assert_eq!(link.gap().stale, 0);
    }
    link.gap_mut().helper = 100;
    assert!(link.store(&plan, 100).is_some());
    assert_eq!((link.gap().stocked, link.gap().stale), (3001, 2999));
    assert_eq!(link.flush(), 6000);
    assert_eq!(link.gap().refused, 0);
}
