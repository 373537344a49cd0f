//! The length of everything. Busy virtual time takes about its own length in wall time, and
//! this experiment is almost all busy.

use std::time::Duration;

use super::calls::Call;
use super::contender::Contender;
use super::edges::Cause;
use super::load::{EXTREMES, LOADS, Load, STORMS};

pub struct Extent {
    short: bool,
    pub storm: Duration,
    pub switches: Duration,
    pub edges: Duration,
    pub call: Duration,
    pub overrun: Duration,
    pub group: Duration,
    pub throughput: Duration,
}

/// In a full run only.
pub const CYCLICTEST: Duration = ms(5_000);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

impl Extent {
    pub fn of(short: bool) -> Self {
        if short {
            Self {
                short,
                storm: ms(400),
                switches: ms(200),
                edges: ms(200),
                call: ms(100),
                overrun: ms(400),
                group: ms(400),
                throughput: ms(200),
            }
        } else {
            Self {
                short,
                // Two thousand periods of the four threads together.
                storm: ms(20_000),
                switches: ms(2_000),
                edges: ms(5_000),
                call: ms(1_000),
                overrun: ms(20_000),
                // Twenty thousand periods.
                group: ms(20_000),
                throughput: ms(10_000),
            }
        }
    }

    /// Causes of delay that are tried with a contender.
    pub fn causes(&self, contender: Contender) -> &'static [Cause] {
        match contender {
            Contender::Takt => &Cause::ALL,
            Contender::Fifo | Contender::Deadline if !self.short => &Cause::ALL,
            _ => &[],
        }
    }

    /// The system calls beside which a contender's beats are measured.
    pub fn calls(&self, contender: Contender) -> &'static [Call] {
        match contender {
            Contender::Takt if self.short => &Call::ALL[..1],
            Contender::Takt | Contender::Fifo if !self.short => &Call::ALL,
            _ => &[],
        }
    }

    /// The loads at which cyclictest measures a contender.
    pub fn cyclictest_loads(&self, contender: Contender) -> &'static [Load] {
        match contender {
            Contender::Takt | Contender::Fifo | Contender::Default if !self.short => &EXTREMES,
            _ => &[],
        }
    }

    /// The loads from outside at which a contender's jitter is measured.
    pub fn storms(&self, contender: Contender, threaded: bool) -> &'static [Load] {
        use Contender::{Deadline, Default, Fifo, Takt};
        match (contender, self.short) {
            (Takt | Fifo, true) if threaded => &STORMS[3..],
            (Takt | Fifo, true) => &STORMS[2..3],
            (Takt | Fifo | Deadline | Default, false) => &STORMS,
            _ => &[],
        }
    }

    /// How long a contender's control loop is measured, if it is.
    pub fn control(&self, contender: Contender) -> Option<Duration> {
        use Contender::{Deadline, Default, Fifo, Takt, TaktLead};
        match (contender, self.short) {
            (Takt, true) => Some(ms(200)),
            // Ten thousand starts.
            (Takt | TaktLead | Fifo | Deadline | Default, false) => Some(ms(10_000)),
            _ => None,
        }
    }

    /// How long a contender's audio is measured, if it is.
    pub fn audio(&self, contender: Contender) -> Option<Duration> {
        use Contender::{Fifo, Takt};
        match (contender, self.short) {
            (Takt | Fifo, true) => Some(ms(1_000)),
            // Thirty seconds take minutes of the host's time.
            (Takt | Fifo, false) => Some(ms(30_000)),
            _ => None,
        }
    }

    /// The loads at which a contender's jitter is measured, and for how long.
    pub fn jitter(&self, contender: Contender, is_fast: bool) -> Vec<(Load, Duration)> {
        use Contender::{Deadline, DeadlineYield, Default, Fifo, FifoLead, Takt, TaktLead};
        let loads: &[Load] = match contender {
            DeadlineYield | FifoLead if self.short || is_fast => &[],
            // One measurement suffices to show why these are no peers.
            DeadlineYield | FifoLead => &[Load::Rate(600)],
            Default if self.short => &[],
            Takt | TaktLead | Fifo | Deadline | Default => match (self.short, is_fast) {
                (true, true) => &EXTREMES[2..],
                (true, false) => &[EXTREMES[0], EXTREMES[2]],
                (false, true) => &EXTREMES,
                (false, false) => &LOADS,
            },
        };
        let is_takt = matches!(contender, Takt | TaktLead);
        let length = |load| match (self.short, is_fast) {
            (true, false) => ms(400),
            (true, true) => ms(200),
            (false, true) => ms(3_000),
            // A thousand periods of the four threads together; for Takt, which gives
            // guarantees, a thousand of each.
            (false, false) if EXTREMES[1..].contains(&load) && is_takt => ms(40_000),
            (false, false) => ms(10_000),
        };
        loads.iter().map(|load| (*load, length(*load))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_run_of_the_jitter_stays_below_a_quarter_of_an_hour() {
        let whole: Duration = Contender::ALL
            .into_iter()
            .flat_map(|contender| {
                [false, true].map(|is_fast| Extent::of(false).jitter(contender, is_fast))
            })
            .flatten()
            .map(|(_, length)| length)
            .sum();
        assert!(whole < Duration::from_secs(15 * 60), "{whole:?}");
    }

    #[test]
    fn a_short_run_has_two_storms() {
        let count = |short, contender| -> usize {
            let storms = |threaded| Extent::of(short).storms(contender, threaded).len();
            storms(false) + storms(true)
        };
        for contender in Contender::ALL {
            assert!(count(true, contender) <= 2);
            assert!([0, 8].contains(&count(false, contender)));
        }
        assert_eq!(count(true, Contender::Fifo), 2);
        assert_eq!(count(false, Contender::Takt), 8);
    }
}
