//! CUBIC (RFC 9438), with the delay rule of HyStart.

use crate::control::Acked;

const C: f64 = 0.4;
/// What is left of the window after a loss.
const BETA: f64 = 0.7;
/// A round with fewer round trips does not end slow start, as in Linux.
const HYSTART_MIN_SAMPLES: u32 = 8;
const HYSTART_LOW_WINDOW: f64 = 16.0;
const HYSTART_SLACK_NS: std::ops::RangeInclusive<u64> = 4_000_000..=16_000_000;

#[derive(Debug)]
pub(crate) struct Cubic {
    pub window: f64,
    pub threshold: f64,
    window_max: f64,
    epoch_ns: Option<u64>,
    k_s: f64,
    reno: f64,
    round_end: u64,
    round_rtt_min_ns: u64,
    round_rtts: u32,
}

impl Cubic {
    pub fn new(initial: f64) -> Self {
        Self {
            window: initial,
            threshold: f64::INFINITY,
            window_max: 0.0,
            epoch_ns: None,
            k_s: 0.0,
            reno: 0.0,
            round_end: 0,
            round_rtt_min_ns: u64::MAX,
            round_rtts: 0,
        }
    }

    pub fn acked(&mut self, acked: &Acked) {
        if let Some(rtt_ns) = acked.rtt_ns {
            self.round_rtt_min_ns = self.round_rtt_min_ns.min(rtt_ns);
            self.round_rtts += 1;
        }
        if !(acked.is_open && acked.is_limited || acked.in_timeout) {
            return;
        }
        if self.window < self.threshold {
            self.window += acked.count as f64;
            self.hystart(acked);
            return;
        }
        let epoch_ns = *self.epoch_ns.get_or_insert_with(|| {
            self.window_max = self.window_max.max(self.window);
            self.k_s = ((self.window_max - self.window) / C).cbrt();
            self.reno = self.window;
            acked.now_ns
        });
        let since_s = (acked.now_ns - epoch_ns) as f64 / 1e9 + acked.rtt_min_ns as f64 / 1e9;
        let cubic = C * (since_s - self.k_s).powi(3) + self.window_max;
        self.reno += 3.0 * (1.0 - BETA) / (1.0 + BETA) * acked.count as f64 / self.window;
        let target = cubic.max(self.reno).clamp(self.window, self.window * 1.5);
        self.window += (target - self.window) / self.window * acked.count as f64;
    }

    /// Leave slow start when a round's least round trip rises.
    fn hystart(&mut self, acked: &Acked) {
        if acked.una < self.round_end {
            return;
        }
        let slack_ns =
            (acked.rtt_min_ns / 8).clamp(*HYSTART_SLACK_NS.start(), *HYSTART_SLACK_NS.end());
        if self.window >= HYSTART_LOW_WINDOW
            && self.round_rtts >= HYSTART_MIN_SAMPLES
            && self.round_rtt_min_ns > acked.rtt_min_ns + slack_ns
        {
            self.threshold = self.window;
        }
        self.round_end = acked.next;
        self.round_rtt_min_ns = u64::MAX;
        self.round_rtts = 0;
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
        let is_falling = self.window < self.window_max;
        self.window_max = if is_falling {
            self.window * (1.0 + BETA) / 2.0
        } else {
            self.window
        };
        self.threshold = (self.window * BETA).max(2.0).max(lower);
        self.epoch_ns = None;
    }
}
