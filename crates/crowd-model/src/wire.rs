//! The wire between the access point and the servers: a delay, jitter that keeps the order, and
//! random loss.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::Setup;

const MILLION: u32 = 1_000_000;

/// One direction of one flow.
pub(crate) struct Wire {
    delay_ns: u64,
    jitter_ns: u64,
    loss_ppm: u32,
    last_ns: u64,
    random: Pcg64Mcg,
}

impl Wire {
    /// Its half of the round trip's delay and jitter; loses `loss_ppm` of what it carries.
    pub fn new(setup: &Setup, loss_ppm: u32, seed: u64) -> Self {
        Self {
            delay_ns: setup.delay_ns / 2,
            jitter_ns: setup.jitter_ns / 2,
            loss_ppm,
            last_ns: 0,
            random: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// When a packet arrives; `None`: it is lost.
    pub fn arrives_ns(&mut self, now_ns: u64) -> Option<u64> {
        let is_lost = self.random.random_range(0..MILLION) < self.loss_ppm;
        let jitter_ns = self.random.random_range(0..=self.jitter_ns);
        if is_lost {
            return None;
        }
        self.last_ns = (now_ns + self.delay_ns + jitter_ns).max(self.last_ns);
        Some(self.last_ns)
    }
}
