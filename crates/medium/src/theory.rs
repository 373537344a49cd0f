//! Closed formulas for such networks, to validate the medium. Times are in seconds, throughputs
//! in bit/s of Ethernet frames.

use crate::{Profile, Rate};

/// A profile at one of its rates, with frames of one length.
#[derive(Debug, Clone)]
pub struct Saturation {
    profile: Profile,
    /// In one transmission.
    frame_bits: f64,
    data_s: f64,
    ack_s: f64,
}

impl Saturation {
    /// For stations that always have frames of this many bytes.
    pub fn new(profile: Profile, rate: usize, bytes: u32) -> Self {
        Self::of_aggregates(profile, rate, bytes, 1)
    }

    /// The same with so many frames in each transmission, whatever the profile's limits are.
    pub fn of_aggregates(profile: Profile, rate: usize, bytes: u32, frames: u32) -> Self {
        let on_air = |rate: &Rate, bytes| rate.airtime_ns(bytes) + profile.propagation_ns;
        let frame_bytes = profile.air_bytes(bytes);
        let all_bytes = match &profile.aggregation {
            Some(aggregation) if frames > 1 => aggregation.subframe_bytes(frame_bytes) * frames,
            _ => frame_bytes,
        };
        Saturation {
            frame_bits: f64::from(bytes) * 8.0 * f64::from(frames),
            data_s: seconds(on_air(&profile.rates[rate], all_bytes)),
            ack_s: seconds(profile.answer_ns(rate, frames as usize)),
            profile,
        }
    }

    /// One station alone: DIFS, mean backoff, frame, SIFS, acknowledgement.
    pub fn alone_bps(&self) -> f64 {
        let backoff_s = self.slot_s() * f64::from(self.profile.cw_min) / 2.0;
        self.frame_bits / (self.success_s() + backoff_s)
    }

    /// `stations` that always have frames (G. Bianchi, Performance analysis of
    /// the IEEE 802.11 distributed coordination function, JSAC 2000, basic
    /// access, equations 7, 9, 13 and 14).
    pub fn bianchi_bps(&self, stations: u32) -> f64 {
        let (window, stages) = (self.window(), self.stages());
        let attempt = |collision: f64| {
            let doubled = 2.0 * collision;
            // (1 - doubled^m) / (1 - doubled), which is a sum and has no pole.
            let sum: f64 = (0..stages).map(|i| doubled.powi(i)).sum();
            2.0 / (window + 1.0 + collision * window * sum)
        };
        let attempt = fixed_point(attempt, stations);
        let collision_s = self.data_s + seconds(self.profile.difs_ns);
        let slots = Slots::of(attempt, stations);
        self.frame_bits * slots.success
            / (slots.idle * self.slot_s()
                + slots.success * self.success_s()
                + slots.collision * collision_s)
    }

    /// The same under the standard's rules: backoffs stand still while the air is busy, so that
    /// only the last sender can use the slot right after; EIFS follows collisions; retries are
    /// limited (G. Bianchi and I. Tinnirello, Remarks on IEEE 802.11 DCF performance analysis,
    /// IEEE Communications Letters 2005).
    pub fn standard_bps(&self, stations: u32) -> f64 {
        let (window, stages) = (self.window(), self.stages());
        let attempts = self.profile.attempts_max.unwrap_or(64) as i32;
        let attempt = |collision: f64| {
            let weights = || (0..attempts).map(|i| collision.powi(i));
            let backoff = |i: i32| (window * 2f64.powi(i.min(stages)) - 1.0) / 2.0;
            let mean: f64 = weights()
                .zip(0..)
                .map(|(weight, i)| weight * backoff(i))
                .sum::<f64>()
                / weights().sum::<f64>();
            1.0 / (1.0 + mean - (1.0 - collision) / 2.0)
        };
        let attempt = fixed_point(attempt, stations);
        let again = 1.0 / (1.0 - 1.0 / window);
        let success_s = self.success_s() * again + self.slot_s();
        let collision_s = self.data_s + seconds(self.profile.eifs_ns()) + self.slot_s();
        let slots = Slots::of(attempt, stations);
        self.frame_bits * slots.success * again
            / (slots.idle * self.slot_s()
                + slots.success * success_s
                + slots.collision * collision_s)
    }

    /// The throughput of each of `stations` if one of them sends like `slow` and all others
    /// like this (M. Heusse et al., Performance anomaly of 802.11b, INFOCOM 2003, section III).
    pub fn anomaly_bps(&self, slow: &Saturation, stations: u32) -> f64 {
        let n = f64::from(stations);
        let cw = f64::from(self.profile.cw_min);
        let collision = 1.0 - (1.0 - 1.0 / cw).powf(n - 1.0);
        let contention_s = self.slot_s() * (1.0 + collision) / (2.0 * n) * cw / 2.0;
        let fast_s = self.success_s() + contention_s;
        let slow_s = slow.success_s() + contention_s;
        let jam_s = 2.0 / n * slow_s + (1.0 - 2.0 / n) * fast_s;
        self.frame_bits / ((n - 1.0) * fast_s + slow_s + collision * jam_s * n)
    }

    fn success_s(&self) -> f64 {
        self.data_s + seconds(self.profile.sifs_ns) + self.ack_s + seconds(self.profile.difs_ns)
    }

    fn slot_s(&self) -> f64 {
        seconds(self.profile.slot_ns)
    }

    fn window(&self) -> f64 {
        f64::from(self.profile.cw_min) + 1.0
    }

    /// How often the window doubles.
    fn stages(&self) -> i32 {
        (self.profile.cw_max + 1).ilog2() as i32 - (self.profile.cw_min + 1).ilog2() as i32
    }
}

/// The probabilities of kinds of slots.
struct Slots {
    idle: f64,
    success: f64,
    collision: f64,
}

impl Slots {
    fn of(attempt: f64, stations: u32) -> Self {
        let n = f64::from(stations);
        let idle = (1.0 - attempt).powf(n);
        let success = n * attempt * (1.0 - attempt).powf(n - 1.0);
        Slots {
            idle,
            success,
            collision: 1.0 - idle - success,
        }
    }
}

/// The fixed point: the probability of an attempt in a slot, which `attempt` gives for the
/// probability of a collision that follows from it.
fn fixed_point(attempt: impl Fn(f64) -> f64, stations: u32) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        let collision = 1.0 - (1.0f64 - middle).powf(f64::from(stations) - 1.0);
        if attempt(collision) > middle {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shape of figure 6 of Bianchi's paper: with more stations a larger first window gains
    /// more, and so do more doublings.
    #[test]
    fn bianchis_curves() {
        let share = |window, stages, stations| {
            let profile = Profile::bianchi(window, stages);
            Saturation::new(profile, 0, 1023).bianchi_bps(stations) / 1e6
        };
        assert!(share(32, 3, 5) > 0.8 && share(32, 3, 50) < 0.6);
        assert!(share(32, 3, 50) < share(32, 5, 50) && share(32, 5, 50) < share(128, 3, 50));
        assert!(share(128, 3, 2) < share(32, 3, 2));
    }
}
