//! What a packet takes at a rate, as the kernel computes it (`psched_l2t_ns`): by a multiplication
//! and a shift, `net/sched/sch_generic.c`.

use takt_algo::sys::takt_framing;
use takt_policy::Framing;

/// A rate, and what the line carries of each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    multiplier: u32,
    shift: u32,
    framing: takt_framing,
}

impl Cost {
    /// `psched_ratecfg_precompute`. The rate counts whole bytes per second.
    pub fn new(rate_bps: u64, framing: Framing) -> Self {
        let rate_bytes_ps = (rate_bps / 8).max(1);
        let mut factor = 1_000_000_000u64;
        let mut shift = 0;
        loop {
            let multiplier = (factor / rate_bytes_ps) as u32;
            if multiplier >> 31 == 1 || factor >> 63 == 1 {
                return Self {
                    multiplier,
                    shift,
                    framing: takt_planner::framing(framing),
                };
            }
            factor <<= 1;
            shift += 1;
        }
    }

    /// The time of one packet.
    pub fn ns(&self, bytes: u32) -> i64 {
        let bytes = u64::from(self.framing.frame_bytes(bytes));
        ((bytes * u64::from(self.multiplier)) >> self.shift) as i64
    }
}

/// How long a burst takes at a rate, in ticks of 64 ns as `tc` passes them.
pub(super) fn burst_ns(bytes: u32, rate_bps: u64) -> i64 {
    const TICK_NS: u128 = 64;
    let ns = u128::from(bytes) * 8_000_000_000 / u128::from(rate_bps.max(1));
    i64::try_from(ns / TICK_NS * TICK_NS).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use takt_policy::{Beyond, Cells};

    use super::*;

    const ETHERNET: Framing = Framing {
        overhead_bytes: 24,
        min_frame_bytes: 0,
        cells: Cells::None,
        beyond: Beyond::Frame,
    };

    #[test]
    fn a_packet_takes_what_the_rate_says_to_a_nanosecond() {
        for rate_bps in [1_000, 64_000, 10_000_000, 999_999_992, 10_000_000_000] {
            let exact_ns = i64::try_from(1538 * 8_000_000_000u64 / rate_bps).unwrap();
            let ns = Cost::new(rate_bps, ETHERNET).ns(1514);
            assert!(
                (0..=1 + exact_ns / 1_000_000_000).contains(&(exact_ns - ns)),
                "{rate_bps}"
            );
        }
    }
}
