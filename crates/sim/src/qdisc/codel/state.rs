//! CoDel as the kernel computes it: `include/net/codel_impl.h`, to the bit of its roots. A limit
//! that is reached raises the count at once, and one step of Newton's method is far from the root
//! then; Takt's own CoDel ([`takt_algo`]) has no such jumps.

use super::CodelTerms;
use crate::packet::{Loss, Packet, Why};

/// Times are in units of 1024 ns (`CODEL_SHIFT`).
const SHIFT: u32 = 10;
/// Below this nothing is dropped: the device's largest frame.
const FRAME_BYTES: u64 = 1514;
/// Intervals for which a rate of drops is remembered.
const MEMORY: u64 = 16;

/// What becomes of the packet that was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Leaves,
    Marks,
    /// The next one is to be looked at.
    Drops,
}

/// Where in `codel_dequeue` the next packet is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Step {
    #[default]
    First,
    /// One was dropped while CoDel was dropping.
    AfterDrop,
    /// One was dropped, and CoDel begins with it.
    AfterFirstDrop,
}

/// The state of one queue (`struct codel_vars`).
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::qdisc) struct State {
    count: u32,
    count_before: u32,
    is_dropping: bool,
    /// 1 / sqrt(count), of 2^16.
    inverse: u16,
    /// When the sojourn has stood for an interval; 0: it is below the target.
    above: u64,
    next: u64,
    step: Step,
}

impl State {
    /// A device asks for a packet.
    pub fn begin(&mut self) {
        self.step = Step::First;
    }

    /// There is none left.
    pub fn emptied(&mut self) {
        match self.step {
            Step::First | Step::AfterDrop => self.is_dropping = false,
            Step::AfterFirstDrop => {}
        }
        self.above = 0;
    }

    /// So many packets were dropped since there was no room (`fq_codel_drop`).
    pub fn overflowed(&mut self, packets: u32) {
        self.count = self.count.wrapping_add(packets);
    }

    /// `codel_Newton_step`: what overflows, overflows there, too.
    fn step_root(&mut self) {
        let inverse = u64::from(self.inverse) << 16;
        let square = (inverse * inverse) >> 32;
        let error = u64::from(self.count) * square;
        let value = (3u64 << 32).wrapping_sub(error) >> 2;
        let value = value.wrapping_mul(inverse) >> 31;
        self.inverse = (value >> 16) as u16;
    }

    /// `codel_control_law`
    fn after(&self, from: u64, terms: &CodelTerms) -> u64 {
        let interval = terms.interval_ns >> SHIFT;
        from + ((interval * (u64::from(self.inverse) << 16)) >> 32)
    }

    /// `codel_should_drop`
    fn stands(&mut self, terms: &CodelTerms, waited_ns: u64, behind: u64, now: u64) -> bool {
        if waited_ns >> SHIFT < terms.target_ns >> SHIFT || behind <= FRAME_BYTES {
            self.above = 0;
            return false;
        }
        if self.above == 0 {
            self.above = now + (terms.interval_ns >> SHIFT);
            return false;
        }
        now > self.above
    }

    /// The first packet of the queue, which has left it and is marked instead of dropped if it
    /// `marks`. `None`: it is dropped, and the next one is to be looked at.
    pub fn pass(
        &mut self,
        terms: &CodelTerms,
        mut packet: Packet,
        marks: bool,
        behind_bytes: u64,
        now_ns: u64,
        losses: &mut Vec<Loss>,
    ) -> Option<Packet> {
        let waited_ns = now_ns - packet.arrived_ns;
        match self.judge(terms, waited_ns, behind_bytes, marks, now_ns) {
            Fate::Drops => {
                losses.push(Loss {
                    packet,
                    why: Why::Managed,
                });
                None
            }
            fate => {
                packet.is_marked |= fate == Fate::Marks;
                Some(packet)
            }
        }
    }

    /// `codel_dequeue`: the first packet of the queue waited for so long, and so many bytes wait
    /// behind it.
    fn judge(
        &mut self,
        terms: &CodelTerms,
        waited_ns: u64,
        behind_bytes: u64,
        marks: bool,
        now_ns: u64,
    ) -> Fate {
        let now = now_ns >> SHIFT;
        let stands = self.stands(terms, waited_ns, behind_bytes, now);
        match self.step {
            Step::AfterFirstDrop => return Fate::Leaves,
            Step::AfterDrop if stands => self.next = self.after(self.next, terms),
            Step::AfterDrop | Step::First => {}
        }
        if !self.is_dropping {
            return if stands {
                self.enter(terms, marks, now)
            } else {
                Fate::Leaves
            };
        }
        if !stands {
            self.is_dropping = false;
            return Fate::Leaves;
        }
        if now < self.next {
            return Fate::Leaves;
        }
        self.count = self.count.wrapping_add(1);
        self.step_root();
        if marks {
            self.next = self.after(self.next, terms);
            Fate::Marks
        } else {
            self.step = Step::AfterDrop;
            Fate::Drops
        }
    }

    /// The queue stands: CoDel begins to drop, at the rate of before if that was lately.
    fn enter(&mut self, terms: &CodelTerms, marks: bool, now: u64) -> Fate {
        self.is_dropping = true;
        let more = self.count.wrapping_sub(self.count_before);
        let lately = now < self.next + MEMORY * (terms.interval_ns >> SHIFT);
        if more > 1 && lately {
            self.count = more;
            self.step_root();
        } else {
            self.count = 1;
            self.inverse = u16::MAX;
        }
        self.count_before = self.count;
        self.next = self.after(now, terms);
        if marks {
            Fate::Marks
        } else {
            self.step = Step::AfterFirstDrop;
            Fate::Drops
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drops(waited_ns: u64, marks: bool) -> Vec<u64> {
        let mut state = State::default();
        let terms = CodelTerms::default();
        let packets = (0..2000u64).map(|at| at * 500_000);
        let judged = packets.filter(|now_ns| {
            state.begin();
            let mut judge = || state.judge(&terms, waited_ns, 30_000, marks, *now_ns);
            let first = judge();
            if first == Fate::Drops {
                // The packet behind it waited as long.
                while judge() == Fate::Drops {}
            }
            first != Fate::Leaves
        });
        judged.collect()
    }

    #[test]
    fn drops_come_by_the_root_of_their_count() {
        let drops = drops(20_000_000, false);
        // RFC 8289, section 4.3. Newton's first steps, from 1 on, are not exact.
        let distances = drops.windows(2).map(|pair| pair[1] - pair[0]);
        for (distance_ns, count) in distances.zip(1u32..).skip(4) {
            let due_ns = 100e6 / f64::from(count).sqrt();
            assert!(
                (distance_ns as f64 / due_ns - 1.0).abs() < 0.06,
                "{drops:?}"
            );
        }
        assert!(drops.len() > 20, "{drops:?}");
    }

    #[test]
    fn marks_come_as_often_as_drops() {
        let (drops, marks) = (drops(20_000_000, false), drops(20_000_000, true));
        assert!(
            drops.len().abs_diff(marks.len()) <= 1,
            "{drops:?} {marks:?}"
        );
    }

    #[test]
    fn queues_below_the_target_stay_whole() {
        assert!(drops(4_900_000, false).is_empty());
    }

    #[test]
    fn an_overflow_raises_the_rate_of_drops_and_breaks_nothing() {
        let mut state = State::default();
        let terms = CodelTerms::default();
        for at in 0..100_000u64 {
            if at % 1000 == 0 {
                state.overflowed(64);
            }
            state.begin();
            let _ = state.judge(&terms, 50_000_000, 30_000, false, at * 500_000);
        }
    }
}
