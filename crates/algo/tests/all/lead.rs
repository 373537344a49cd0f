//! Leads against a list of all starts.

use proptest::prelude::*;
use takt_algo::Lead;

const MAX_NS: u32 = 50_000;

proptest! {
    /// It covers each of the last starts of a window, none that is older than two, and is never
    /// above what is reserved.
    #[test]
    fn a_lead_covers_the_last_starts(
        starts_ns in prop::collection::vec(prop_oneof![
            30 => 0..5_000u64,
            1 => 5_000..80_000u64,
            1 => Just(u64::MAX),
        ], 0..2_500),
    ) {
        let mut lead = Lead::default();
        let (window, first) = (Lead::WINDOW as usize, Lead::FIRST as usize);
        let covering = |starts_ns: &[u64]| {
            let most_ns = starts_ns.iter().copied().max().unwrap_or(0).min(u32::MAX.into());
            u32::try_from(most_ns + u64::from(Lead::MARGIN_NS)).unwrap_or(MAX_NS).min(MAX_NS)
        };
        for (at, start_ns) in starts_ns.iter().enumerate() {
            prop_assert!(at >= first || lead.ns(MAX_NS) == MAX_NS);
            lead.note(*start_ns);
            let so_far = &starts_ns[..=at];
            let (recent, not_forgotten) = (
                &so_far[so_far.len().saturating_sub(window.min(first))..],
                &so_far[so_far.len().saturating_sub(2 * window)..],
            );
            prop_assert!(lead.ns(MAX_NS) >= covering(recent));
            prop_assert!(so_far.len() < first || lead.ns(MAX_NS) <= covering(not_forgotten));
        }
    }
}

#[test]
fn a_lead_follows_what_delays_starts() {
    let mut lead = Lead::default();
    let mut note = |starts: u32, late_ns| {
        (0..starts).for_each(|_| lead.note(late_ns));
        lead.ns(MAX_NS)
    };
    assert_eq!(note(Lead::FIRST - 1, 200), MAX_NS);
    assert_eq!(note(1, 200), 1_200);
    assert_eq!(note(1, 30_000), 31_000);
    assert_eq!(note(1, 700_000), MAX_NS);
    assert_eq!(note(Lead::WINDOW, 200), MAX_NS);
    assert_eq!(note(Lead::WINDOW, 200), 1_200);
    assert_eq!(lead.ns(500), 500);
}
