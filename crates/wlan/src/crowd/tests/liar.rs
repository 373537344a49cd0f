//! A member with false reports. Its influence is bounded as docs/crowd.md says, by report or
//! through an aggregator, whatever it reports from period to period.

use super::*;

/// One member's report in a period; `None`: none.
type Act = Option<(u32, bool)>;

fn act() -> impl Strategy<Value = Act> {
    let rate = prop_oneof![0..5_000_000u32, Just(0), Just(u32::MAX), any::<u32>()];
    prop::option::weighted(0.9, (rate, any::<bool>()))
}

/// More than any network carries.
const ABSURD_BYTES_PS: u64 = u64::MAX;

/// A terminal and all other members, with the same key.
struct World {
    terminal: Terminal,
    aggregator: Option<Aggregator>,
    others: Vec<Sender>,
}

impl World {
    fn new(aggregated: bool, others: usize) -> Self {
        Self::remembering(0, aggregated, others)
    }

    fn remembering(remembered_bytes_ps: u64, aggregated: bool, others: usize) -> Self {
        let terms = Terms {
            aggregator: aggregated.then(|| place(AGGREGATOR)),
            remembered_bytes_ps,
            ..Terms::default()
        };
        Self {
            terminal: Terminal::new(0, own(100), terms, 0),
            aggregator: aggregated.then(|| Aggregator::new(0, own(AGGREGATOR), 0)),
            others: (0..others)
                .map(|n| Sender::new(key(), Purpose::CROWD, n as u64, 1))
                .collect(),
        }
    }

    /// The law's input after a period with these reports.
    fn after(&mut self, now_ns: u64, rate_bytes_ps: u32, acts: &[Act]) -> takt_algo::Group {
        for (number, act) in acts.iter().enumerate() {
            let Some((rate_bytes_ps, lends)) = *act else {
                continue;
            };
            let activity = Activity {
                lends,
                ..gets(rate_bytes_ps)
            };
            let report = Report {
                activity,
                within_ms: 240,
            };
            let mut datagram = [0; DATAGRAM_MAX_BYTES];
            let sealed = self.others[number].seal(&report.to_bytes(), &mut datagram);
            let from = place(number as u64);
            match &mut self.aggregator {
                Some(aggregator) => aggregator.hear(now_ns, from, sealed.unwrap()),
                None => self.terminal.hear(now_ns, from, sealed.unwrap()),
            };
        }
        if let Some(aggregator) = &mut self.aggregator {
            for sum in told(aggregator, now_ns) {
                self.terminal.hear(now_ns, place(AGGREGATOR), &sum);
            }
        }
        self.terminal.period(now_ns, gets(rate_bytes_ps))
    }
}

proptest! {
    /// With one false member a share is at most twice the own rate, over the members that
    /// share, larger than without it, and not below the share with one more member. The group's
    /// presumed rate grows by at most twice the largest own rate, and never shrinks.
    #[test]
    fn one_liar_moves_a_share_by_so_much(
        aggregated: bool,
        periods in prop::collection::vec(
            (1..10_000_000u32, prop::collection::vec(act(), 4), act()),
            1..60,
        ),
    ) {
        let (mut honest, mut lied_to) = (World::new(aggregated, 4), World::new(aggregated, 5));
        let mut largest = 0;
        for ((own, acts, lie), n) in periods.into_iter().zip(1..) {
            let now_ns = n * 2 * INTERVAL_NS;
            largest = largest.max(u64::from(own));
            let without = honest.after(now_ns, own, &acts);
            let with = lied_to.after(now_ns, own, &[acts, vec![lie]].concat());
            prop_assert!((without.users()..=without.users() + 1).contains(&with.users()));
            let (share, moved) = (without.share_bytes_ps(), with.share_bytes_ps());
            prop_assert!(moved <= share + 2 * u64::from(own) / with.users() + 1);
            prop_assert!(moved + 1 >= share * without.users() / (without.users() + 1));
            let (capacity, moved) = (without.capacity_bytes_ps(), with.capacity_bytes_ps());
            prop_assert!((capacity..=capacity + 2 * largest).contains(&moved));
        }
    }

    /// With an absurd memory and one false member of five, the presumed capacity is at most what
    /// the group has got at some time, or the highest rate of an honest terminal for each.
    #[test]
    fn a_false_memory_counts_as_far_as_honest_reports_confirm_it(
        aggregated: bool,
        periods in prop::collection::vec(
            (0..10_000_000u32, prop::collection::vec(0..10_000_000u32, 4), act()),
            1..100,
        ),
    ) {
        let mut world = World::remembering(ABSURD_BYTES_PS, aggregated, 5);
        let mut most = 0;
        for ((own, rates, lie), n) in periods.into_iter().zip(1..) {
            let mut acts: Vec<Act> = rates.iter().map(|rate| Some((*rate, false))).collect();
            acts.push(lie);
            let group = world.after(n * 2 * INTERVAL_NS, own, &acts);
            let highest = rates.into_iter().chain([own]).max().map_or(0, u64::from);
            most = most.max(group.rate_bytes_ps()).max(group.users() * highest);
            prop_assert!(group.capacity_bytes_ps() <= most);
        }
    }

    /// With any number of false members a share is less than twice the own rate, and not less
    /// than an equal part of the own rate among the most members that can be known.
    #[test]
    fn no_number_of_liars_moves_a_share_further(
        aggregated: bool,
        periods in prop::collection::vec(
            (1..10_000_000u32, prop::collection::vec(act(), 40)),
            1..12,
        ),
    ) {
        let mut world = World::new(aggregated, 40);
        for ((own, acts), n) in periods.into_iter().zip(1..) {
            let group = world.after(n * 2 * INTERVAL_NS, own, &acts);
            let (own, share) = (u64::from(own), group.share_bytes_ps());
            prop_assert!(share <= 2 * own);
            prop_assert!(share >= own / (MEMBERS_MAX as u64 + 1));
            prop_assert!(group.users() <= 41);
        }
    }
}
