//! When a CPU is taken, seen from a task of a certain period.

use std::ops::Range;

use super::cpu::Cpu;
use super::effort::Effort;

/// Computing a greatest common divisor takes several divisions.
const STEPS_PER_CYCLE: usize = 5;

/// The phases of one period that other tasks leave free or take. A task of another period recurs at
/// every greatest common divisor of the two.
pub(super) struct Phases {
    period: u64,
    taken: Vec<Taken>,
}

/// Slots that are taken in every cycle, counted from 0.
struct Taken {
    cycle: u64,
    begin: u64,
    width: u64,
}

impl Taken {
    /// How far `phase` is past the latest beginning of the taken slots.
    fn past_begin(&self, phase: u64) -> u64 {
        (phase + self.cycle - self.begin) % self.cycle
    }

    /// The end of the obstacle within `width` slots from `begin` on.
    fn end_of_obstacle(&self, begin: u64, width: u64) -> Option<u64> {
        let past = self.past_begin(begin);
        if past < self.width {
            Some(begin + self.width - past)
        } else if past + width > self.cycle {
            Some(begin + self.cycle - past + self.width)
        } else {
            None
        }
    }
}

impl Phases {
    pub fn new(cpu: &Cpu, period: u64, effort: &mut Effort) -> Phases {
        effort.take(STEPS_PER_CYCLE * (cpu.held().len() + 1));
        let taken = cpu.held().iter().map(|held| {
            let cycle = gcd(period, held.period);
            Taken {
                cycle,
                begin: held.begin % cycle,
                width: held.end - held.begin,
            }
        });
        Phases {
            period,
            taken: taken.collect(),
        }
    }

    /// The earliest phase from `from` on with `width` free slots in a row, none beyond the period.
    pub fn whole(&self, from: u64, width: u64, effort: &mut Effort) -> Option<u64> {
        if self.taken.iter().any(|t| t.width + width > t.cycle) {
            return None;
        }
        let mut begin = from;
        while begin + width <= self.period {
            let ends = |taken: &Taken| taken.end_of_obstacle(begin, width);
            effort.take(self.taken.len() + 1);
            match self.taken.iter().find_map(ends) {
                Some(end) => begin = end,
                None => return Some(begin),
            }
        }
        None
    }

    /// All stretches of free slots within the period.
    pub fn runs(&self, effort: &mut Effort) -> Vec<Range<u64>> {
        let mut runs = Vec::new();
        let mut phase = 0;
        while phase < self.period {
            effort.take(self.taken.len() + 1);
            let ends = |taken: &Taken| taken.end_of_obstacle(phase, 1);
            if let Some(end) = self.taken.iter().find_map(ends) {
                phase = end;
                continue;
            }
            let left = |taken: &Taken| taken.cycle - taken.past_begin(phase);
            let length = self.taken.iter().map(left).min().unwrap_or(self.period);
            let end = self.period.min(phase + length);
            runs.push(phase..end);
            phase = end;
        }
        runs
    }
}

pub(super) fn gcd(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}

pub(super) fn lcm(a: u64, b: u64) -> u64 {
    a / gcd(a, b) * b
}
