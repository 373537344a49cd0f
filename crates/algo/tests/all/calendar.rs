//! The calendar against a sorted set.

use std::collections::BTreeSet;

use proptest::prelude::*;
use takt_algo::{Calendar, sys};

const BUCKET_NS: u64 = 1 << Calendar::SHIFT;
const HORIZON_NS: u64 = BUCKET_NS * sys::TAKT_CALENDAR_BUCKETS_MAX as u64;
const ENTRIES_MAX: u32 = Calendar::ENTRIES_MAX;

/// The calendar beside its specification.
#[derive(Default)]
struct Pair {
    calendar: Calendar,
    sorted: BTreeSet<(u64, u32)>,
    now_ns: u64,
}

impl Pair {
    fn insert(&mut self, id: u32, due_ns: u64) {
        self.calendar.insert(id, due_ns, self.now_ns);
        self.sorted.insert((due_ns, id));
    }

    fn remove(&mut self, id: u32) {
        self.calendar.remove(id);
        self.sorted.retain(|entry| entry.1 != id);
    }

    fn earliest(&self) -> Option<(u64, u32)> {
        self.sorted.first().copied()
    }

    /// Asks as the link does: again at once, for as long as it is told to.
    fn first(&mut self) -> Result<(u32, u64), u64> {
        loop {
            match self.calendar.first(self.now_ns) {
                Err(wake_ns) if wake_ns <= self.now_ns => {}
                answer => return answer,
            }
        }
    }

    /// The answer must be exact: an entry of the earliest due, or a time to ask again which is
    /// not too late.
    fn check_exact(&mut self) -> Option<u32> {
        assert_eq!(self.calendar.len(), self.sorted.len() as u32);
        match (self.first(), self.earliest()) {
            (Err(wake_ns), None) => {
                assert_eq!(wake_ns, u64::MAX);
                None
            }
            (Err(wake_ns), Some((due_ns, ..))) => {
                assert!(wake_ns <= due_ns, "woken at {wake_ns}, due {due_ns}");
                None
            }
            (Ok((id, due_ns)), Some((earliest_ns, ..))) => {
                assert_eq!(due_ns, earliest_ns);
                assert!(self.sorted.contains(&(due_ns, id)));
                Some(id)
            }
            (Ok(_), None) => panic!("an entry from nowhere"),
        }
    }
}

/// How far ahead an entry is due, at every scale that makes a difference.
fn ahead_ns() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => Just(0u64),
        3 => 0..BUCKET_NS,
        3 => 0..100 * BUCKET_NS,
        3 => 0..HORIZON_NS,
        2 => HORIZON_NS - 2 * BUCKET_NS..HORIZON_NS + 2 * BUCKET_NS,
        2 => 0..5 * HORIZON_NS,
    ]
}

#[derive(Debug, Clone)]
enum Step {
    /// A new entry, due this much later than now.
    Insert(u64),
    /// Time passes, and the first entry is served if it is due, and due again this much later.
    Serve { pass_ns: u64, again_ns: u64 },
    /// Time passes until the next event.
    Wake,
    /// An entry, not necessarily the first, is removed.
    Remove(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => ahead_ns().prop_map(Step::Insert),
        4 => (ahead_ns(), ahead_ns())
            .prop_map(|(pass_ns, again_ns)| Step::Serve { pass_ns, again_ns }),
        2 => Just(Step::Wake),
        1 => any::<prop::sample::Index>().prop_map(Step::Remove),
    ]
}

/// Serves the first entry if it is due; returns its id.
fn serve(pair: &mut Pair) -> Option<(u32, u64)> {
    let id = pair.check_exact()?;
    let (due_ns, ..) = pair.earliest()?;
    (due_ns <= pair.now_ns).then(|| {
        pair.remove(id);
        (id, due_ns)
    })
}

proptest! {
    #[test]
    fn order_is_exact_as_long_as_a_bucket_can_be_searched(
        start_ns in 0..1u64 << 62,
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let mut pair = Pair { now_ns: start_ns, ..Pair::default() };
        let mut absent: Vec<u32> = (1..=sys::TAKT_SCAN_MAX).map(|n| n * 127).collect();
        for step in steps {
            match step {
                Step::Insert(ahead_ns) => {
                    if let Some(id) = absent.pop() {
                        pair.insert(id, pair.now_ns + ahead_ns);
                    }
                }
                Step::Serve { pass_ns, again_ns } => {
                    pair.now_ns += pass_ns;
                    // Due after it was due: possibly still in the past.
                    if let Some((id, due_ns)) = serve(&mut pair) {
                        pair.insert(id, due_ns + again_ns);
                    }
                }
                Step::Wake => {
                    pair.now_ns = match pair.first() {
                        Ok((_, due_ns)) => due_ns.max(pair.now_ns),
                        Err(u64::MAX) => pair.now_ns,
                        Err(wake_ns) => wake_ns,
                    };
                    absent.extend(serve(&mut pair).map(|(id, _)| id));
                }
                Step::Remove(which) => {
                    let waiting: Vec<u32> = pair.sorted.iter().map(|entry| entry.1).collect();
                    if !waiting.is_empty() {
                        let id = *which.get(&waiting);
                        pair.remove(id);
                        absent.push(id);
                    }
                }
            }
            pair.check_exact();
        }
    }

    /// More than a search reaches, in a handful of buckets.
    #[test]
    fn in_a_full_bucket_none_is_overtaken_by_more_than_a_bucket(
        start_ns in 0..1u64 << 62,
        mut dues_ns in prop::collection::vec(0..4 * BUCKET_NS, 1..1000),
    ) {
        let mut pair = Pair { now_ns: start_ns, ..Pair::default() };
        for (id, due_ns) in (1..).zip(&mut dues_ns) {
            *due_ns += start_ns;
            pair.insert(id, *due_ns);
        }
        while let Some((earliest_ns, ..)) = pair.earliest() {
            let (id, due_ns) = pair.first().expect("within the horizon");
            prop_assert!(due_ns < earliest_ns + BUCKET_NS);
            prop_assert_eq!(due_ns >> Calendar::SHIFT, earliest_ns >> Calendar::SHIFT);
            pair.remove(id);
        }
        prop_assert!(pair.calendar.is_empty());
    }

    /// All entries far ahead of the ring, at first all in its last bucket.
    #[test]
    fn far_entries_are_all_served_and_none_too_early(
        start_ns in 0..1u64 << 62,
        dues_ns in prop::collection::vec(0..20 * HORIZON_NS, 1..500),
    ) {
        let mut pair = Pair { now_ns: start_ns, ..Pair::default() };
        for (id, due_ns) in (1..).zip(&dues_ns) {
            pair.insert(id, start_ns + due_ns);
        }
        while let Some((earliest_ns, ..)) = pair.earliest() {
            match pair.first() {
                Ok((id, due_ns)) => {
                    prop_assert!(due_ns < earliest_ns + BUCKET_NS);
                    pair.now_ns = pair.now_ns.max(due_ns);
                    pair.remove(id);
                }
                Err(wake_ns) => {
                    prop_assert!(wake_ns <= earliest_ns);
                    prop_assert!(wake_ns > pair.now_ns);
                    pair.now_ns = wake_ns;
                }
            }
        }
        prop_assert!(pair.calendar.is_empty());
    }
}

#[test]
fn an_empty_calendar_has_no_first() {
    assert_eq!(Calendar::new().first(12_345), Err(u64::MAX));
}

#[test]
fn all_that_fit_at_one_moment_leave_in_the_order_they_came() {
    let mut pair = Pair {
        now_ns: 1 << 40,
        ..Pair::default()
    };
    for id in 1..=ENTRIES_MAX {
        pair.insert(id, pair.now_ns);
    }
    for id in 1..=ENTRIES_MAX {
        assert_eq!(pair.check_exact(), Some(id));
        pair.remove(id);
    }
    assert!(pair.calendar.is_empty());
}

#[test]
fn one_in_every_fourth_bucket_of_the_ring_is_in_order() {
    let mut pair = Pair::default();
    let step_ns = HORIZON_NS / u64::from(ENTRIES_MAX);
    for id in (1..=ENTRIES_MAX).rev() {
        pair.insert(id, u64::from(id) * step_ns);
    }
    for id in 1..=ENTRIES_MAX {
        assert_eq!(pair.check_exact(), Some(id));
        pair.remove(id);
    }
}

/// The ring is traversed many times, its start in every position.
#[test]
fn order_holds_round_and_round() {
    let mut pair = Pair::default();
    let step_ns = |id: u32| 40_000_019 + u64::from(id) * 7_000_003;
    for id in 1..=31 {
        pair.insert(id, step_ns(id));
    }
    let mut served = 0;
    while pair.now_ns < 100 * HORIZON_NS {
        let id = pair.check_exact().expect("never far ahead");
        let (due_ns, ..) = pair.earliest().expect("the calendar is not empty");
        pair.now_ns = due_ns;
        pair.remove(id);
        pair.insert(id, due_ns + step_ns(id));
        served += 1;
    }
    assert!(served > 10_000);
}
