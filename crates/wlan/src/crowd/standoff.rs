//! Whether members yield to a queue that others fill, or compete for it.
//!
//! Windows that follow the law keep one small queue together. Beside senders that fill queues and
//! belong to no group that is no longer worth it: whatever members leave, the others take. Copa
//! (V. Arun and H. Balakrishnan, NSDI 2018, section 3) competes as soon as a queue does not empty
//! any more, and so does a group here: its flows are CUBIC's, without bounds. Since its members
//! then fill the queue themselves, they have to yield from time to time, all at once, to see
//! whether others still do.
//!
//! Others may take what members leave without a queue that members see: where a stranger always has
//! a frame, it waits in the stranger's own device. Then members get clearly less than the air carries
//! although they keep their queue. So does a group whose uploads are held up behind the air, in a slow
//! line. Only a trial tells the two apart: members compete, and look whether they get more by that.

const S_NS: u64 = 1_000_000_000;

/// A queue of this many times what the group keeps was filled by senders outside the group.
const CROWDED: u64 = 4;
/// It has to stand for so long, or members be short: the group's own beginnings overshoot for less.
const CROWDED_NS: u64 = 3 * S_NS;
/// A queue that members filled takes some time to drain.
const DRAIN_NS: u64 = 3 * S_NS;
/// The first time of competing; each further one is twice as long, up to the longest. To yield
/// costs three seconds' rate where others are there.
const COMPETE_NS: u64 = 60 * S_NS;
const COMPETE_MAX_NS: u64 = 240 * S_NS;
/// After so much time without a crowd the next time of competing is short again.
const CALM_NS: u64 = 20 * S_NS;

/// CUBIC's windows need so long to grow into a queue of two seconds.
const TRIAL_NS: u64 = 15 * S_NS;
/// A trial is worth it if members get this much more by it, or less after it.
const WORTH: (u64, u64) = (5, 4);
/// Between trials that are not; twice as long each time, up to the longest.
const UNTRIED_NS: u64 = 120 * S_NS;
const UNTRIED_MAX_NS: u64 = 3600 * S_NS;

/// What a period showed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look {
    /// What stands in queues, in segments.
    pub queued_segments: u64,
    /// What the group keeps there, in segments.
    pub standing_segments: u64,
    /// What members get together, in bytes per second.
    pub rate_bytes_ps: u64,
    /// They keep a queue, and get clearly less than the air carries.
    pub is_short: bool,
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
    /// Since when others fill the queue that it competes for.
    filled_since_ns: u64,
    /// Since when senders outside the group fill the queue; `None`: they do not.
    crowded_since_ns: Option<u64>,
    calm_since_ns: u64,
    compete_ns: u64,
    /// What members get, over some periods.
    rate_bytes_ps: u64,
    trial: Trial,
    /// No trial before; and how long that was.
    untried_until_ns: u64,
    untried_ns: u64,
}

/// Whether it competes to see what members get by that.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Trial {
    #[default]
    None,
    /// It does, and members had this before, in bytes per second.
    Runs(u64),
    /// It did, and they had this.
    Over(u64),
}

fn is_worth(more_bytes_ps: u64, less_bytes_ps: u64) -> bool {
    more_bytes_ps.saturating_mul(WORTH.1) > less_bytes_ps.saturating_mul(WORTH.0)
}

impl Standoff {
    /// A period is over; returns whether to compete in the next: for how long others have filled
    /// the queue, or `None`.
    pub fn period(&mut self, now_ns: u64, look: Look) -> Option<u64> {
        if look.is_protected {
            *self = Self::default();
            return None;
        }
        self.rate_bytes_ps = (7 * self.rate_bytes_ps + look.rate_bytes_ps) / 8;
        if self.competes {
            self.compete(now_ns, look)
        } else {
            self.stand_by(now_ns, look)
        }
        let filled_ns = now_ns.saturating_sub(self.filled_since_ns);
        self.competes.then_some(filled_ns)
    }

    fn compete(&mut self, now_ns: u64, look: Look) {
        let passed_ns = now_ns.saturating_sub(self.since_ns);
        if let Trial::Runs(before_bytes_ps) = self.trial
            && passed_ns >= TRIAL_NS
        {
            if !is_worth(self.rate_bytes_ps, before_bytes_ps) {
                self.trial = Trial::Over(self.rate_bytes_ps);
                return self.turn(now_ns, false);
            }
            self.trial = Trial::None;
            self.untried_ns = 0;
        }
        // The first whose time is over takes the others with it.
        let follows = look.others_yield && passed_ns >= self.compete_ns / 2;
        if passed_ns >= self.compete_ns || follows {
            self.turn(now_ns, false);
        }
    }

    fn stand_by(&mut self, now_ns: u64, look: Look) {
        let is_filled = look.queued_segments > CROWDED * look.standing_segments;
        let is_short = look.is_short && now_ns >= self.untried_until_ns;
        if !is_filled && !is_short {
            self.trial = Trial::None;
            if self.crowded_since_ns.take().is_some() {
                self.calm_since_ns = now_ns;
            }
            if now_ns.saturating_sub(self.calm_since_ns) >= CALM_NS {
                self.compete_ns = 0;
            }
            return;
        }
        let crowded_ns = now_ns - *self.crowded_since_ns.get_or_insert(now_ns);
        let drained = self.compete_ns == 0 || now_ns.saturating_sub(self.since_ns) >= DRAIN_NS;
        let is_sure = crowded_ns >= CROWDED_NS || look.others_compete;
        if !drained || !is_sure {
            return;
        }
        match std::mem::take(&mut self.trial) {
            // The others may have taken more meanwhile: then members have less without it.
            Trial::Over(bytes_ps) if !is_filled && !is_worth(bytes_ps, self.rate_bytes_ps) => {
                self.untried_ns = (self.untried_ns * 2).clamp(UNTRIED_NS, UNTRIED_MAX_NS);
                self.untried_until_ns = now_ns.saturating_add(self.untried_ns);
                self.crowded_since_ns = None;
                return;
            }
            Trial::None if !is_filled => self.trial = Trial::Runs(self.rate_bytes_ps),
            _ => {}
        }
        self.compete_ns = (self.compete_ns * 2).clamp(COMPETE_NS, COMPETE_MAX_NS);
        self.filled_since_ns = now_ns - crowded_ns;
        self.turn(now_ns, true);
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
            let look = look(now_ns / S_NS - 10, was);
            let is = standoff.period(now_ns, look).is_some();
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
        let turns = turns(240, |_, _| queue(500));
        let lengths: Vec<u64> = turns.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(turns[0], 3);
        assert_eq!(lengths[..3], [60, 3, 120]);
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

    /// Members keep their queue, and get this much.
    fn short(rate_bytes_ps: u64) -> Look {
        Look {
            is_short: true,
            rate_bytes_ps,
            ..queue(6)
        }
    }

    #[test]
    fn it_competes_where_that_is_worth_it() {
        // A stranger takes half of the air while members yield.
        let turns = turns(240, |_, competes| {
            if competes {
                short(2_700_000)
            } else {
                short(1_500_000)
            }
        });
        let lengths: Vec<u64> = turns.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(lengths[..3], [60, 3, 120], "{turns:?}");
    }

    /// Members that were short from the beginning, and have less without than with.
    #[test]
    fn a_trial_may_be_worth_it_by_what_comes_after() {
        let turns = turns(60, |at, competes| match (at, competes) {
            (0..4, _) | (_, true) => short(1_500_000),
            (_, false) => short(500_000),
        });
        // After the trial it yields for as long as it takes to be sure.
        assert_eq!(turns, [3, 18, 21], "{turns:?}");
    }

    #[test]
    fn a_slow_line_is_tried_rarely() {
        // It carries the same, whatever members do, and their queue is all there is.
        let turns = turns(4000, |_, competes| Look {
            queued_segments: if competes { 500 } else { 6 },
            ..short(600_000)
        });
        let begins: Vec<u64> = turns.iter().step_by(2).copied().collect();
        let ends = turns.iter().skip(1).step_by(2);
        assert!(
            begins
                .iter()
                .zip(ends)
                .all(|(begin, end)| end - begin <= 15),
            "{turns:?}"
        );
        let between: Vec<u64> = begins.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (between, least) in between.iter().zip([120, 240, 480, 960]) {
            assert!(*between > least, "{turns:?}");
        }
        assert!(begins.len() <= 6, "{turns:?}");
    }

    proptest! {
        /// Any input: it competes for its time at most, and is back after it.
        #[test]
        fn any_looks(
            looks in prop::collection::vec(any::<(u64, u64, u64, bool, bool, bool)>(), 1..500),
        ) {
            let (mut standoff, mut competed_ns) = (Standoff::default(), 0);
            for (at, look) in looks.into_iter().enumerate() {
                let look = Look {
                    queued_segments: look.0,
                    standing_segments: look.1 % (1 << 60),
                    rate_bytes_ps: look.2 % (1 << 40),
                    is_short: look.3,
                    others_compete: look.4,
                    others_yield: look.5,
                    is_protected: false,
                };
                let competes = standoff.period(at as u64 * PERIOD_NS, look).is_some();
                competed_ns = if competes { competed_ns + PERIOD_NS } else { 0 };
                prop_assert!(competed_ns <= COMPETE_MAX_NS + PERIOD_NS);
            }
        }

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
                let competes = standoff.period(now_ns, look).is_some();
                prop_assert!(was || !competes || queued > 24);
                competes_since_ns = competes.then(|| competes_since_ns.unwrap_or(now_ns));
                let since_ns = competes_since_ns.unwrap_or(now_ns);
                prop_assert!(now_ns - since_ns <= COMPETE_MAX_NS);
            }
        }
    }
}
