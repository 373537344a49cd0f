//! When the slots of a CPU's table begin and end. Decisions only: times in, what is due out.
//!
//! Frames are counted from the clock's zero, as the kernel's scheduler counts them, so the same
//! policy has the same beats with either.

use takt_planner::beats::CpuTable;

/// A slot of one frame, in times of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// An index into the plan's tasks.
    pub task: usize,
    /// With the lead.
    pub begin_ns: u64,
    /// When the budget begins.
    pub beat_ns: u64,
    pub end_ns: u64,
}

/// What is due, in this order; and when to look again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Step {
    pub ended: Option<Span>,
    pub begun: Option<Span>,
    /// Slots that began and ended unnoticed, because the dispatcher came too late.
    pub missed: u64,
    pub wake_ns: u64,
}

#[derive(Debug)]
pub struct Cycle {
    table: CpuTable,
    /// The slot that is open.
    open: Option<Span>,
    /// The number of the next slot from the clock's zero; `None` before the first step.
    next: Option<u64>,
    stepped_ns: u64,
}

impl Cycle {
    /// The planner's tables are never empty.
    pub fn new(table: CpuTable) -> Self {
        Self {
            table,
            open: None,
            next: None,
            stepped_ns: 0,
        }
    }

    /// What is due now. A clock that was set back begins anew.
    pub fn step(&mut self, now_ns: u64) -> Step {
        let was_set_back = now_ns < self.stepped_ns;
        if was_set_back {
            self.next = None;
        }
        self.stepped_ns = now_ns;
        let mut step = Step::default();
        if self
            .open
            .is_some_and(|open| was_set_back || now_ns >= open.end_ns)
        {
            step.ended = self.open.take();
        }
        if self.open.is_none() {
            let present = self.first_to_end_after(now_ns);
            // The slot that is under way at the start is not begun in its midst.
            let first = || present + u64::from(self.span(present).begin_ns < now_ns);
            let next = self.next.unwrap_or_else(first).max(present);
            step.missed = self.next.map_or(0, |expected| next - expected);
            let span = self.span(next);
            self.next = Some(next);
            if span.begin_ns <= now_ns {
                self.open = Some(span);
                self.next = Some(next + 1);
                step.begun = self.open;
            }
        }
        step.wake_ns = match (self.open, self.next) {
            (Some(open), _) => open.end_ns,
            (None, Some(next)) => self.span(next).begin_ns,
            // Not reached: a step without an open slot has a next one.
            (None, None) => now_ns,
        };
        step
    }

    /// The end of everything: what is open.
    pub fn close(&mut self) -> Option<Span> {
        self.open.take()
    }

    fn count(&self) -> u64 {
        self.table.slots.len() as u64
    }

    fn span(&self, number: u64) -> Span {
        let (frame, at) = (number / self.count(), number % self.count());
        let slot = self.table.slots[at as usize];
        let base_ns = self.table.frame_ns.edge_ns(frame);
        let at = |offset_ns: u32| base_ns.saturating_add(offset_ns.into());
        Span {
            task: slot.demand,
            begin_ns: at(slot.begin_ns),
            beat_ns: at(slot.beat_ns),
            end_ns: at(slot.end_ns),
        }
    }

    /// The number of the first slot whose end is later than this.
    fn first_to_end_after(&self, now_ns: u64) -> u64 {
        let frame = self.table.frame_ns.whole_in(now_ns);
        let into_ns = now_ns - self.table.frame_ns.edge_ns(frame).min(now_ns);
        let slots = &self.table.slots;
        let past = slots.partition_point(|slot| u64::from(slot.end_ns) <= into_ns);
        frame * self.count() + past as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use takt_planner::beats::Slot;
    use takt_policy::ExactTime;

    use super::*;

    /// Two slots in 1,000 ns: 100 to 300 and 300 to 400.
    fn cycle() -> Cycle {
        let slot = |demand, begin_ns, end_ns| Slot {
            demand,
            begin_ns,
            beat_ns: begin_ns,
            end_ns,
        };
        Cycle::new(CpuTable {
            cpu: 0,
            frame_ns: 1_000.into(),
            slots: vec![slot(0, 100, 300), slot(1, 300, 400)],
        })
    }

    fn due(step: Step) -> (Option<usize>, Option<usize>, u64, u64) {
        let task = |span: Option<Span>| span.map(|span| span.task);
        (
            task(step.ended),
            task(step.begun),
            step.missed,
            step.wake_ns,
        )
    }

    #[test]
    fn slots_follow_each_other_through_frames() {
        let mut cycle = cycle();
        let steps = [
            (5_050, (None, None, 0, 5_100)),
            (5_101, (None, Some(0), 0, 5_300)),
            (5_302, (Some(0), Some(1), 0, 5_400)),
            (5_400, (Some(1), None, 0, 6_100)),
            (6_100, (None, Some(0), 0, 6_300)),
        ];
        for (now_ns, expected) in steps {
            assert_eq!(due(cycle.step(now_ns)), expected, "at {now_ns}");
        }
    }

    #[test]
    fn a_wake_before_its_time_changes_nothing() {
        let mut cycle = cycle();
        cycle.step(5_100);
        assert_eq!(due(cycle.step(5_200)), (None, None, 0, 5_300));
        assert_eq!(due(cycle.step(5_300)), (Some(0), Some(1), 0, 5_400));
    }

    #[test]
    fn a_slot_under_way_at_the_start_is_not_begun() {
        assert_eq!(due(cycle().step(5_150)), (None, None, 0, 5_300));
    }

    #[test]
    fn slots_that_a_late_dispatcher_missed_are_counted() {
        let mut cycle = cycle();
        cycle.step(5_100);
        // The rest of frame 5, all of 6, and the first slot of 7.
        assert_eq!(due(cycle.step(7_350)), (Some(0), Some(1), 4, 7_400));
    }

    #[test]
    fn a_clock_that_is_set_back_begins_anew() {
        let mut cycle = cycle();
        cycle.step(5_100);
        assert_eq!(due(cycle.step(3_150)), (Some(0), None, 0, 3_300));
    }

    proptest! {
        /// With fractions, too, no slot is begun twice, and each that is begun ends before the next.
        #[test]
        fn each_slot_is_begun_once(late_ns in proptest::collection::vec(0u64..50_000, 1..200)) {
            let period = ExactTime::new(64_000_000_000, 48_000).unwrap();
            let slot = |demand, begin_ns: u32| Slot {
                demand, begin_ns, beat_ns: begin_ns, end_ns: begin_ns + 100_000,
            };
            let mut cycle = Cycle::new(CpuTable {
                cpu: 0,
                frame_ns: period,
                slots: vec![slot(0, 0), slot(1, 1_000_000)],
            });
            let (mut now_ns, mut open, mut begun) = (86_400_000_000_123, None, 0);
            let mut first = None;
            for late_ns in late_ns {
                let step = cycle.step(now_ns);
                prop_assert_eq!(step.missed, 0);
                if let Some(ended) = step.ended {
                    prop_assert_eq!(open.take(), Some(ended));
                    prop_assert!(now_ns >= ended.end_ns);
                }
                if let Some(span) = step.begun {
                    prop_assert!(open.is_none() && span.begin_ns <= now_ns);
                    first.get_or_insert(span);
                    begun += 1;
                    open = Some(span);
                }
                prop_assert!(step.wake_ns > now_ns);
                now_ns = step.wake_ns + late_ns;
            }
            if let (Some(first), Some(last)) = (first, open) {
                let passed = (last.begin_ns - first.begin_ns) as f64 / (4e6 / 3.0) * 2.0;
                // The two slots are not half a period apart.
                prop_assert!((passed - f64::from(begun - 1)).abs() < 0.6, "{passed} {begun}");
            }
        }
    }
}
