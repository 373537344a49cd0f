//! Reno (RFC 5681).

use crate::control::Acked;

/// What is left of the window after a loss.
const BETA: f64 = 0.5;

#[derive(Debug)]
pub(crate) struct Reno {
    pub window: f64,
    pub threshold: f64,
}

impl Reno {
    pub fn new(initial: f64) -> Self {
        Self {
            window: initial,
            threshold: f64::INFINITY,
        }
    }

    pub fn acked(&mut self, acked: &Acked) {
        if !(acked.is_open && acked.is_limited || acked.in_timeout) {
            return;
        }
        let count = acked.count as f64;
        self.window += if self.window < self.threshold {
            count
        } else {
            count / self.window
        };
    }

    pub fn lost(&mut self, lower: f64) {
        self.reduce(lower);
        self.window = self.threshold;
    }

    pub fn timed_out(&mut self) {
        self.reduce(0.0);
        self.window = 1.0;
    }

    fn reduce(&mut self, lower: f64) {
        self.threshold = (self.window * BETA).max(2.0).max(lower);
    }
}
