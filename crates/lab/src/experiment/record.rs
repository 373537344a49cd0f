//! The record of a flow's end, and the measured window.

use std::time::Duration;

use crate::experiment::beats::now_ns;

/// The interval of throughput samples, as in SoCPS's figures.
pub const INTERVAL: Duration = Duration::from_secs(3);
/// How long receivers wait for more before they read the clock.
pub const PATIENCE: Duration = Duration::from_millis(100);

/// The measured window, in CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Traffic begins: queues fill and flows find their rates.
    pub warm_up_ns: u64,
    pub begin_ns: u64,
    pub end_ns: u64,
}

impl Window {
    /// The earliest window, if this much has to be done before its warm-up.
    pub fn after(preparation: Duration, warm_up: Duration, length: Duration) -> Self {
        let warm_up_ns = now_ns() + preparation.as_nanos() as u64;
        let begin_ns = warm_up_ns + warm_up.as_nanos() as u64;
        Self {
            warm_up_ns,
            begin_ns,
            end_ns: begin_ns + length.as_nanos() as u64,
        }
    }

    /// Moves it later, so that it begins with a step of this length, counted from `began_ns`.
    pub fn aligned(self, began_ns: u64, step: Duration) -> Self {
        let step_ns = step.as_nanos() as u64;
        let passed_ns = self.begin_ns.saturating_sub(began_ns);
        let later_ns = passed_ns.next_multiple_of(step_ns) - passed_ns;
        Self {
            warm_up_ns: self.warm_up_ns + later_ns,
            begin_ns: self.begin_ns + later_ns,
            end_ns: self.end_ns + later_ns,
        }
    }

    pub fn contains(self, at_ns: u64) -> bool {
        (self.begin_ns..self.end_ns).contains(&at_ns)
    }

    pub fn is_over(self) -> bool {
        now_ns() >= self.end_ns
    }

    fn intervals(self) -> usize {
        (self.end_ns - self.begin_ns).div_ceil(INTERVAL.as_nanos() as u64) as usize
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    pub bytes_per_interval: Vec<u64>,
    /// Datagrams sent within the window; none for TCP.
    pub sent: u64,
    /// The delays of those of them that arrived.
    pub delays_ns: Vec<u64>,
}

impl Record {
    pub fn new(window: Window) -> Self {
        Self {
            bytes_per_interval: vec![0; window.intervals()],
            ..Self::default()
        }
    }

    pub fn received(&mut self, window: Window, at_ns: u64, bytes: usize) {
        if window.contains(at_ns) {
            let interval = (at_ns - window.begin_ns) / INTERVAL.as_nanos() as u64;
            self.bytes_per_interval[interval as usize] += bytes as u64;
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes_per_interval.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comes_within_the_window_counts() {
        let second = |at: u64| at * 1_000_000_000;
        let window = Window {
            warm_up_ns: second(7),
            begin_ns: second(10),
            end_ns: second(18),
        };
        let mut record = Record::new(window);
        for (at_s, bytes) in [(9, 1), (10, 2), (12, 4), (13, 8), (17, 16), (18, 32)] {
            record.received(window, second(at_s), bytes);
        }
        assert_eq!(record.bytes_per_interval, [6, 8, 16]);
        assert_eq!(record.bytes(), 30);
    }

    #[test]
    fn a_window_can_wait_for_a_step() {
        let window = |begin_ns, end_ns| Window {
            warm_up_ns: begin_ns,
            begin_ns,
            end_ns,
        };
        let aligned =
            |begin_ns| window(begin_ns, begin_ns + 10).aligned(5, Duration::from_nanos(100));
        let places = |window: Window| (window.begin_ns, window.end_ns);
        assert_eq!(places(aligned(106)), (205, 215));
        assert_eq!(places(aligned(105)), (105, 115));
    }
}
