//! A model of the rule of cake-autorate (version 3), by its documentation and its default values: six
//! reflectors, twenty answers a second; a baseline that follows delays down by 0.9 and up by 0.001 of
//! the difference; more than 30 ms over it in three of six answers is bufferbloat. Then the rate is
//! the greater one of 0.9 of itself and 0.9 of what was carried, at most each 300 ms. At a load of
//! more than 0.75 without bufferbloat, it rises by 1 % with each answer; otherwise it returns to the
//! base by 1 % each second.

use std::collections::VecDeque;

use crate::run::BOUNDS;

const THRESHOLD_MS: f64 = 30.0;

pub struct Cake {
    pub rate_bps: f64,
    baseline_ms: Option<f64>,
    late: VecDeque<bool>,
    lowered_ms: u64,
    decayed_ms: u64,
}

impl Cake {
    pub fn new() -> Self {
        Self {
            rate_bps: BOUNDS.base_bps as f64,
            baseline_ms: None,
            late: VecDeque::new(),
            lowered_ms: 0,
            decayed_ms: 0,
        }
    }

    /// An answer with this delay has come, and so much was carried of late.
    pub fn hear(&mut self, ms: u64, delay_ms: f64, carried_bps: f64) {
        let baseline = self.baseline_ms.get_or_insert(delay_ms);
        let part = if delay_ms > *baseline { 0.001 } else { 0.9 };
        *baseline += part * (delay_ms - *baseline);
        self.late.push_back(delay_ms - *baseline > THRESHOLD_MS);
        if self.late.len() > 6 {
            self.late.pop_front();
        }
        let is_bloated = self.late.iter().filter(|late| **late).count() >= 3;
        let load = carried_bps / self.rate_bps;
        if is_bloated {
            if ms >= self.lowered_ms + 300 {
                self.lowered_ms = ms;
                self.rate_bps = (0.9 * self.rate_bps).max(0.9 * carried_bps.min(self.rate_bps));
            }
        } else if load > 0.75 {
            self.rate_bps *= 1.01;
        } else if ms >= self.decayed_ms + 1_000 {
            self.decayed_ms = ms;
            let base = BOUNDS.base_bps as f64;
            self.rate_bps += (base - self.rate_bps).clamp(-0.01 * base, 0.01 * base);
        }
        let (min, max) = (BOUNDS.min_bps as f64, BOUNDS.max_bps as f64);
        self.rate_bps = self.rate_bps.clamp(min, max);
    }
}
