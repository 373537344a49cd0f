//! Whether members yield to a queue that others fill, or compete for it.
//!
//! Windows that follow the law keep one small queue together. Beside senders that fill queues and
//! belong to no group that is no longer worth it: whatever members leave, the others take. Copa
//! (V. Arun and H. Balakrishnan, NSDI 2018, section 3) competes as soon as a queue does not empty
//! any more, and so does a group here: its flows are CUBIC's, without bounds. Since its members
//! then fill the queue themselves, they have to yield from time to time, all at once, to see
//! whether others still do.

const S_NS: u64 = 1_000_000_000;

/// A queue of this many times what the group keeps was filled by senders outside the group.
const CROWDED: u64 = 4;
/// It has to stand for so long: the group's own beginnings overshoot for less.
const CROWDED_NS: u64 = 3 * S_NS;
/// A queue that members filled takes some time to drain.
const DRAIN_NS: u64 = 3 * S_NS;
/// The first time of competing; each further one is twice as long, up to the longest.
const COMPETE_NS: u64 = 30 * S_NS;
const COMPETE_MAX_NS: u64 = 240 * S_NS;
/// After so much time without a crowd the next time of competing is short again.
const CALM_NS: u64 = 20 * S_NS;

/// What a period showed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look {
    /// What stands in queues, in segments.
    pub queued_segments: u64,
    /// What the group keeps there, in segments.
    pub standing_segments: u64,
    /// Whether any other member competes, and whether any does not.
    pub others_compete: bool,
    /// As above.
    pub others_yield: bool,
    /// An access point protects members' shares: there is nothing to compete for.
    pub is_protected: bool,
}

/// A member's part.
#[derive(Debug, Default)]
pub struct Standoff {
    competes: bool,
    since_ns: u64,
    /// Since when senders outside the group fill the queue; `None`: they do not.
    crowded_since_ns: Option<u64>,
    calm_since_ns: u64,
    compete_ns: u64,
}

impl Standoff {
    /// A period is over; returns whether to compete in the next.
    pub fn period(&mut self, now_ns: u64, look: Look) -> bool {
        if look.is_protected {
            *self = Self::default();
            return false;
        }
        if self.competes {
            self.compete(now_ns, look)
        } else {
            self.stand_by(now_ns, look)
        }
        self.competes
    }

    fn compete(&mut self, now_ns: u64, look: Look) {
        let passed_ns = now_ns.saturating_sub(self.since_ns);
        // The first whose time is over takes the others with it.
        let follows = look.others_yield && passed_ns >= self.compete_ns / 2;
        if passed_ns >= self.compete_ns || follows {
            self.turn(now_ns, false);
        }
    }

    fn stand_by(&mut self, now_ns: u64, look: Look) {
        if look.queued_segments <= CROWDED * look.standing_segments {
            if self.crowded_since_ns.take().is_some() {
                self.calm_since_ns = now_ns;
            }
            if now_ns.saturating_sub(self.calm_since_ns) >= CALM_NS {
                self.compete_ns = 0;
            }
            return;
        }
        let crowded_ns = now_ns - *self.crowded_since_ns.get_or_insert(now_ns);
        let drained = now_ns.saturating_sub(self.since_ns) >= DRAIN_NS;
        let is_sure = crowded_ns >= CROWDED_NS || look.others_compete;
        if drained && is_sure {
            self.compete_ns = (self.compete_ns * 2).clamp(COMPETE_NS, COMPETE_MAX_NS);
            self.turn(now_ns, true);
        }
    }

    fn turn(&mut self, now_ns: u64, competes: bool) {
        self.competes = competes;
        self.since_ns = now_ns;
        self.crowded_since_ns = None;
        self.calm_since_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PERIOD_NS: u64 = 200_000_000;

    fn queue(queued_segments: u64) -> Look {
        Look {
            queued_segments,
            standing_segments: 6,
            ..Look::default()
        }
    }

    /// The seconds at which it turns, with this look at each.
    fn turns(seconds: u64, look: impl Fn(u64, bool) -> Look) -> Vec<u64> {
        let (mut standoff, mut turns, mut was) = (Standoff::default(), Vec::new(), false);
        for now_ns in (10 * S_NS..(10 + seconds) * S_NS).step_by(PERIOD_NS as usize) {
            let is = standoff.period(now_ns, look(now_ns / S_NS - 10, was));
            if is != was {
                turns.push(now_ns / S_NS - 10);
            }
            was = is;
        }
        turns
    }

    #[test]
    fn it_yields_as_long_as_the_queue_is_its_own() {
        assert_eq!(turns(100, |_, _| queue(24)), Vec::<u64>::new());
        // A beginning overshoots.
        let starts = |at, _| queue(if at < 2 { 100 } else { 6 });
        assert_eq!(turns(100, starts), Vec::<u64>::new());
    }

    #[test]
    fn it_competes_for_longer_and_longer_and_looks_in_between() {
        let turns = turns(180, |_, _| queue(500));
        let lengths: Vec<u64> = turns.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(turns[0], 3);
        assert_eq!(lengths[..3], [30, 3, 60]);
    }

    #[test]
    fn it_comes_back_when_the_others_are_gone() {
        // The queue is its own while it competes.
        let turns = turns(100, |at, competes| {
            queue(if at < 20 || competes { 500 } else { 6 })
        });
        assert_eq!(turns.len() % 2, 0, "{turns:?}");
        assert!(*turns.last().unwrap() < 80, "{turns:?}");
    }

    proptest! {
        /// Whatever others say, it does not compete while the queue is its own, nor longer than
        /// its time.
        #[test]
        fn others_do_not_keep_it_competing(
            says in prop::collection::vec((any::<bool>(), any::<bool>(), 0..60u64), 1..500),
        ) {
            let mut standoff = Standoff::default();
            let mut competes_since_ns = None;
            for (at, (others_compete, others_yield, queued)) in says.into_iter().enumerate() {
                let now_ns = at as u64 * PERIOD_NS;
                let look = Look { others_compete, others_yield, ..queue(queued) };
                let was = competes_since_ns.is_some();
                let competes = standoff.period(now_ns, look);
                prop_assert!(was || !competes || queued > 24);
                competes_since_ns = competes.then(|| competes_since_ns.unwrap_or(now_ns));
                let since_ns = competes_since_ns.unwrap_or(now_ns);
                prop_assert!(now_ns - since_ns <= COMPETE_MAX_NS);
            }
        }
    }
}
