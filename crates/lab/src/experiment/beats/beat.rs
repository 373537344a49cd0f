//! The threads that are to run on the beat, under any scheduler.

use super::clock::Rhythm;

/// A thread that declares period and budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    pub name: String,
    pub rhythm: Rhythm,
    pub budget_ns: u64,
}

/// Threads of one period and budget, and their time-slot grid.
#[derive(Debug, Clone)]
pub struct Beats {
    pub grid_ns: u64,
    /// Takt's lead for a thread that waits out the rest itself.
    pub lead_ns: u64,
    pub threads: Vec<Beat>,
}

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000 * US;
/// Of Debian's kernels, CONFIG_HZ=250. A busy processor has one at every
/// multiple of CLOCK_MONOTONIC.
const TICK_NS: u64 = 4 * MS;

impl Beats {
    /// The four threads of HiTactix (section 3.4), T = 40 ms and L = 8 ms: 80 % of the
    /// processor is assigned. Between any two a millisecond is free, which has room for a slot
    /// for the lead. No beat coincides with the kernel's tick, in the middle of which nothing
    /// can start.
    pub fn slow() -> Self {
        Self {
            grid_ns: 500 * US,
            lead_ns: 30 * US,
            threads: four(
                [1_000, 10_000, 19_000, 28_500].map(|us| us * US),
                40 * MS,
                8 * MS,
            ),
        }
    }

    /// The same share of the processor with a fortieth of the period.
    pub fn fast() -> Self {
        Self {
            grid_ns: 20 * US,
            lead_ns: 20 * US,
            threads: four([40, 280, 520, 760].map(|us| us * US), MS, 200 * US),
        }
    }

    /// A single thread, so that only the measured causes delay it.
    pub fn single() -> Self {
        let mut fast = Self::fast();
        fast.threads.truncate(1);
        fast
    }

    /// The same with twice the budget, of which a quarter is for interrupts.
    pub fn control() -> Self {
        let mut beats = Self::single();
        beats.threads[0].budget_ns *= 2;
        beats
    }

    /// One thread whose every beat coincides with the kernel's tick.
    pub fn on_the_tick() -> Self {
        let mut beats = Self::single();
        beats.threads[0].rhythm = Rhythm {
            period_ns: TICK_NS,
            phase_ns: 0,
        };
        beats
    }

    /// Two of them, the second's slot right after the first's.
    pub fn adjacent() -> Self {
        let mut fast = Self::fast();
        fast.threads.truncate(2);
        let first = &fast.threads[0];
        fast.threads[1].rhythm.phase_ns = first.rhythm.phase_ns + first.budget_ns;
        fast
    }
}

fn four(phases_ns: [u64; 4], period_ns: u64, budget_ns: u64) -> Vec<Beat> {
    phases_ns
        .into_iter()
        .enumerate()
        .map(|(at, phase_ns)| Beat {
            name: format!("beat-{at}"),
            rhythm: Rhythm {
                period_ns,
                phase_ns,
            },
            budget_ns,
        })
        .collect()
}

impl Beat {
    /// A thread's work on every beat: three quarters of its budget, so that interrupts do not
    /// make it overrun.
    pub fn work_ns(&self) -> u64 {
        self.budget_ns * 3 / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_on_the_grid_and_leads_have_room() {
        for beats in [Beats::slow(), Beats::fast(), Beats::adjacent()] {
            let lead_ns = beats.lead_ns.next_multiple_of(beats.grid_ns);
            for beat in &beats.threads {
                assert_eq!(beat.rhythm.phase_ns % beats.grid_ns, 0);
                assert_ne!(beat.rhythm.phase_ns % TICK_NS, 0);
                assert!(beat.rhythm.phase_ns >= lead_ns);
                assert!(beat.rhythm.phase_ns + beat.budget_ns <= beat.rhythm.period_ns);
            }
        }
        for beats in [Beats::slow(), Beats::fast()] {
            for pair in beats.threads.windows(2) {
                let end_ns = pair[0].rhythm.phase_ns + pair[0].budget_ns;
                let lead_ns = beats.lead_ns.next_multiple_of(beats.grid_ns);
                assert!(end_ns + lead_ns <= pair[1].rhythm.phase_ns);
            }
        }
    }
}
