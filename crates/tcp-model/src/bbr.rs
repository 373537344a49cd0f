//! BBR, version 1: N. Cardwell et al., BBR congestion-based congestion control (ACM Queue 14, 5,
//! 2016), with what Linux's `tcp_bbr` adds: compensation for acknowledgements that come in
//! batches, as on a WLAN, and packet conservation in the first round of a recovery. Without its
//! detection of policers.

use std::collections::VecDeque;

use crate::control::Acked;

/// 2 / ln 2: doubles the rate each round trip.
const HIGH_GAIN: f64 = 2.885;
const WINDOW_GAIN: f64 = 2.0;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Round trips for which the largest rate counts.
const BW_ROUNDS: u64 = 10;
/// The pipe is full if the rate grew less than this in so many rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
const RTT_MIN_VALID_NS: u64 = 10_000_000_000;
const PROBE_RTT_NS: u64 = 200_000_000;
const WINDOW_MIN: f64 = 4.0;
/// The pacing rate is this much below the estimate, so that no queue builds up.
const PACING_MARGIN: f64 = 0.99;
/// Rounds for which the largest batch counts, and the longest time that a batch may stand for.
const EXTRA_ROUNDS: u64 = 5;
const EXTRA_MAX_S: f64 = 0.1;
/// Segments that the device takes at once.
const QUANTUM: f64 = 3.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

#[derive(Debug)]
pub(crate) struct Bbr {
    pub window: f64,
    mode: Mode,
    /// Rounds and rates, the largest first.
    rates: VecDeque<(u64, f64)>,
    rtt_min_ns: u64,
    rtt_min_since_ns: u64,
    srtt_ns: f64,
    round: u64,
    round_ends_at: u64,
    full_rate: f64,
    full_rounds: u32,
    phase: usize,
    phase_since_ns: u64,
    probe_rtt_until_ns: Option<u64>,
    prior_window: f64,
    conserves: bool,
    extra_since_ns: u64,
    extra_acked: u64,
    extras: [f64; 2],
    extra_rounds: u64,
}

impl Bbr {
    pub fn new(initial: f64) -> Self {
        Self {
            window: initial,
            mode: Mode::Startup,
            rates: VecDeque::new(),
            rtt_min_ns: u64::MAX,
            rtt_min_since_ns: 0,
            srtt_ns: 1e6,
            round: 0,
            round_ends_at: 0,
            full_rate: 0.0,
            full_rounds: 0,
            phase: 2,
            phase_since_ns: 0,
            probe_rtt_until_ns: None,
            prior_window: 0.0,
            conserves: false,
            extra_since_ns: 0,
            extra_acked: 0,
            extras: [0.0; 2],
            extra_rounds: 0,
        }
    }

    fn rate(&self) -> f64 {
        self.rates.front().map_or(0.0, |(_, rate)| *rate)
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => 1.0 / HIGH_GAIN,
            Mode::ProbeBw => CYCLE[self.phase],
            Mode::ProbeRtt => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw => WINDOW_GAIN,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// Between two segments.
    pub fn pacing_ns(&self) -> u64 {
        let rate = match self.rate() {
            // Of the first window over the first round trip.
            0.0 => HIGH_GAIN * self.window / (self.srtt_ns / 1e9),
            rate => rate * self.pacing_gain() * PACING_MARGIN,
        };
        (1e9 / rate.max(1.0)) as u64
    }

    fn pipe(&self, gain: f64) -> f64 {
        match self.rtt_min_ns {
            u64::MAX => self.window,
            rtt_ns => gain * self.rate() * rtt_ns as f64 / 1e9,
        }
    }

    pub fn acked(&mut self, acked: &Acked) {
        if let Some(rtt_ns) = acked.rtt_ns {
            self.srtt_ns = match self.rtt_min_ns {
                u64::MAX => rtt_ns as f64,
                _ => self.srtt_ns + (rtt_ns as f64 - self.srtt_ns) / 8.0,
            };
        }
        let round_starts = acked.delivered_at_send >= self.round_ends_at;
        if round_starts {
            self.round += 1;
            self.round_ends_at = acked.delivered;
            self.conserves = false;
        }
        self.measure_rate(acked);
        self.measure_extra(acked, round_starts);
        self.cycle(acked);
        self.check_full(round_starts);
        self.check_drain(acked);
        self.check_rtt(acked);
        self.set_window(acked);
    }

    fn measure_rate(&mut self, acked: &Acked) {
        if let Some(rate) = acked.rate {
            while self.rates.back().is_some_and(|(_, less)| *less <= rate) {
                self.rates.pop_back();
            }
            self.rates.push_back((self.round, rate));
        }
        while self.rates.len() > 1 && self.rates[0].0 + BW_ROUNDS < self.round {
            self.rates.pop_front();
        }
    }

    /// Batches: acknowledged beyond what the rate explains.
    fn measure_extra(&mut self, acked: &Acked, round_starts: bool) {
        if round_starts {
            self.extra_rounds += 1;
            if self.extra_rounds >= EXTRA_ROUNDS {
                self.extra_rounds = 0;
                self.extras = [0.0, self.extras[0]];
            }
        }
        let passed_s = (acked.now_ns - self.extra_since_ns) as f64 / 1e9;
        let expected = self.rate() * passed_s;
        if self.extra_acked as f64 <= expected {
            self.extra_acked = 0;
            self.extra_since_ns = acked.now_ns;
        }
        let expected = match self.extra_acked {
            0 => 0.0,
            _ => expected,
        };
        self.extra_acked += acked.count;
        let extra = (self.extra_acked as f64 - expected).min(self.window);
        self.extras[0] = self.extras[0].max(extra);
    }

    fn cycle(&mut self, acked: &Acked) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let is_full_length = acked.now_ns - self.phase_since_ns > self.rtt_min_ns;
        let gain = CYCLE[self.phase];
        let ends = match gain {
            gain if gain > 1.0 => {
                is_full_length && (acked.lost > 0 || acked.before as f64 >= self.pipe(gain))
            }
            gain if gain < 1.0 => is_full_length || acked.before as f64 <= self.pipe(1.0),
            _ => is_full_length,
        };
        if ends {
            self.phase = (self.phase + 1) % CYCLE.len();
            self.phase_since_ns = acked.now_ns;
        }
    }

    fn check_full(&mut self, round_starts: bool) {
        if self.is_full() || !round_starts {
            return;
        }
        if self.rate() >= self.full_rate * FULL_GROWTH {
            self.full_rate = self.rate();
            self.full_rounds = 0;
        } else {
            self.full_rounds += 1;
        }
    }

    fn is_full(&self) -> bool {
        self.full_rounds >= FULL_ROUNDS
    }

    fn check_drain(&mut self, acked: &Acked) {
        if self.mode == Mode::Startup && self.is_full() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && acked.pipe as f64 <= self.pipe(1.0) {
            self.probe_bw(acked.now_ns);
        }
    }

    fn probe_bw(&mut self, now_ns: u64) {
        self.mode = Mode::ProbeBw;
        // Anywhere but at 3/4; at the same place for all, where Linux draws one.
        self.phase = 2 + (now_ns / 1000 % 6) as usize;
        self.phase_since_ns = now_ns;
    }

    fn check_rtt(&mut self, acked: &Acked) {
        let is_old = acked.now_ns > self.rtt_min_since_ns + RTT_MIN_VALID_NS;
        if let Some(rtt_ns) = acked.rtt_ns
            && (rtt_ns < self.rtt_min_ns || is_old)
        {
            self.rtt_min_ns = rtt_ns;
            self.rtt_min_since_ns = acked.now_ns;
        }
        if is_old && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.prior_window = self.window;
            self.probe_rtt_until_ns = None;
        }
        if self.mode != Mode::ProbeRtt {
            return;
        }
        match self.probe_rtt_until_ns {
            None if acked.pipe as f64 <= WINDOW_MIN => {
                self.probe_rtt_until_ns = Some(acked.now_ns + PROBE_RTT_NS);
            }
            Some(until_ns) if acked.now_ns > until_ns => {
                self.rtt_min_since_ns = acked.now_ns;
                self.window = self.window.max(self.prior_window);
                if self.is_full() {
                    self.probe_bw(acked.now_ns)
                } else {
                    self.mode = Mode::Startup;
                }
            }
            _ => {}
        }
    }

    fn set_window(&mut self, acked: &Acked) {
        if acked.lost > 0 {
            self.window = (self.window - acked.lost as f64).max(1.0);
        }
        if self.conserves {
            self.window = self.window.max((acked.pipe + acked.count) as f64);
            return;
        }
        let extra = if self.is_full() {
            let most = self.rate() * EXTRA_MAX_S;
            self.extras[0].max(self.extras[1]).min(most)
        } else {
            0.0
        };
        let probes = self.mode == Mode::ProbeBw && self.phase == 0;
        let target = self.pipe(self.window_gain())
            + 3.0 * QUANTUM
            + extra
            + f64::from(u8::from(probes)) * 2.0;
        if self.is_full() {
            self.window = (self.window + acked.count as f64).min(target);
        } else if self.window < target || acked.delivered < 10 {
            self.window += acked.count as f64;
        }
        self.window = self.window.max(WINDOW_MIN);
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(WINDOW_MIN);
        }
    }

    pub fn lost(&mut self) {
        self.prior_window = self.window;
        self.conserves = true;
    }

    pub fn timed_out(&mut self) {
        self.prior_window = self.window;
        self.window = 1.0;
        self.full_rate = 0.0;
        self.conserves = false;
    }

    pub fn recovered(&mut self) {
        self.conserves = false;
        self.window = self.window.max(self.prior_window);
    }
}
