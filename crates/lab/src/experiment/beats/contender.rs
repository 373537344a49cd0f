//! The schedulers, each set up as its experts would.

use super::beat::{Beat, Beats};
use super::policy;
use super::script::{Class, Wait};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    Takt,
    /// Takt releases a thread slightly early, which then reads the clock until its beat.
    TaktLead,
    Fifo,
    /// SCHED_FIFO that does the same: sleeps slightly less, and reads the clock.
    FifoLead,
    Deadline,
    /// SCHED_DEADLINE with `sched_yield()` at the end of a job, as its documentation says.
    DeadlineYield,
    /// The kernel's default class.
    Default,
}

impl Contender {
    pub const ALL: [Self; 7] = [
        Self::Takt,
        Self::TaktLead,
        Self::Fifo,
        Self::FifoLead,
        Self::Deadline,
        Self::DeadlineYield,
        Self::Default,
    ];

    /// The name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Takt => "takt",
            Self::TaktLead => "takt-lead",
            Self::Fifo => "fifo",
            Self::FifoLead => "fifo-lead",
            Self::Deadline => "deadline",
            Self::DeadlineYield => "deadline-yield",
            Self::Default => "default",
        }
    }

    /// Takt's policy, if it is Takt.
    pub fn policy(self, beats: &Beats) -> Option<String> {
        match self {
            Self::Takt | Self::TaktLead => Some(policy::of_threads(beats, self == Self::TaktLead)),
            Self::Fifo | Self::FifoLead | Self::Deadline | Self::DeadlineYield | Self::Default => {
                None
            }
        }
    }

    /// The scheduling parameters that the `at`th thread sets.
    pub fn class(self, at: usize, beat: &Beat) -> Class {
        // Above threaded interrupts (50), below the kernel's own watchdogs (99).
        // A priority of its own for every thread, in the order of their beats: the next thread
        // does not wait for a late one.
        const LOWEST_PRIORITY: u32 = 80;
        match self {
            // Takt recognises the thread by its name.
            Self::Takt | Self::TaktLead | Self::Default => Class::Ordinary,
            Self::Fifo | Self::FifoLead => Class::Fifo {
                priority: LOWEST_PRIORITY + at as u32,
            },
            Self::Deadline | Self::DeadlineYield => Class::Deadline {
                runtime_ns: beat.budget_ns,
                period_ns: beat.rhythm.period_ns,
            },
        }
    }

    /// How the threads wait for their beats. Under SCHED_DEADLINE a thread that yields runs
    /// again a period after its last run: one that began late stays late. A thread that sleeps
    /// until its beat does not, and is the better peer.
    pub fn wait(self, beats: &Beats) -> Wait {
        let lead_ns = match self {
            Self::TaktLead | Self::FifoLead => beats.lead_ns,
            _ => 0,
        };
        match self {
            Self::Takt | Self::TaktLead => Wait::Yield { lead_ns },
            Self::Fifo | Self::FifoLead | Self::Deadline | Self::Default => Wait::Sleep { lead_ns },
            Self::DeadlineYield => Wait::YieldPeriod,
        }
    }

    /// The class of the threads that process packets, where there are such threads. With the
    /// kernel's own classes they get the priority of its threads for interrupts: before ordinary
    /// threads and after the beats. Takt puts ordinary ones there by itself, and beside ordinary
    /// threads nothing needs to be done.
    pub fn network_class(self) -> Class {
        const INTERRUPT_THREADS: u32 = 50;
        match self {
            Self::Fifo | Self::FifoLead | Self::Deadline | Self::DeadlineYield => Class::Fifo {
                priority: INTERRUPT_THREADS,
            },
            Self::Takt | Self::TaktLead | Self::Default => Class::Ordinary,
        }
    }

    /// Whether the machine must be set up for SCHED_FIFO.
    pub fn is_fifo(self) -> bool {
        matches!(self, Self::Fifo | Self::FifoLead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_go_before_packets() {
        let beats = Beats::slow();
        for contender in [Contender::Fifo, Contender::FifoLead] {
            let Class::Fifo { priority: packets } = contender.network_class() else {
                panic!("{contender:?}");
            };
            for (at, beat) in beats.threads.iter().enumerate() {
                let class = contender.class(at, beat);
                assert!(matches!(class, Class::Fifo { priority } if priority > packets));
            }
        }
    }

    #[test]
    fn only_takt_is_told_a_policy() {
        let beats = Beats::slow();
        for contender in Contender::ALL {
            let is_takt = contender.name().starts_with("takt");
            assert_eq!(contender.policy(&beats).is_some(), is_takt);
            let lead = contender
                .policy(&beats)
                .is_some_and(|text| text.contains("lead"));
            assert_eq!(lead, contender == Contender::TaktLead);
        }
    }
}
