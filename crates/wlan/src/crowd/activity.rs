//! A terminal's throughput and flows.

use super::Radio;

/// 1, as a ratio in 1/256.
const RATIO_ONE: u64 = 256;
/// A ratio is reported in steps of 1/16.
const RATIO_SHIFT: u32 = 4;
/// Waits and rates on the air are reported as sixteenths of the power of two of these units, with
/// an error of 2.2 %; less than a unit as none.
const WAIT_UNIT_US: u64 = 64;
const PHY_UNIT_BPS: u64 = 1_000_000;
const LOG_STEPS: f64 = 16.0;
/// Retries are reported in steps of 1/256.
const RETRIES_SHIFT: u32 = 2;
/// The two highest bits of the flow count say whether the terminal lends, and competes.
const LENDS: u16 = 1 << 15;
const COMPETES: u16 = 1 << 14;

/// What a terminal did in a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Activity {
    /// Bytes per second delivered to the other ends.
    pub rate_bytes_ps: u32,
    /// Flows that delivered data. 0: the terminal is idle, and leaves the group.
    pub flows: u16,
    /// Its applications limit its rate, not its windows.
    pub lends: bool,
    /// Its windows have no bounds, since others fill the queue.
    pub competes: bool,
    /// The mean round trip over the shortest, in 1/256; 0: none was measured.
    pub rtt_ratio_q8: u16,
    /// The time in queues that do not empty, in microseconds, up to 4.2 seconds: the shortest
    /// round trips of half a round trip over the shortest of all. Below 64 none is reported.
    pub wait_us: u32,
    /// What its radio does; all zero: unknown.
    pub radio: Radio,
}

impl Activity {
    pub(crate) const BYTES: usize = 10;
    pub(crate) const FLOWS_MAX: u16 = COMPETES - 1;

    pub(crate) const fn is_idle(&self) -> bool {
        self.flows == 0
    }

    /// The ratio of two times, or of two sums with as many terms.
    pub(crate) fn ratio_q8(rtt: u64, rtt_min: u64) -> u16 {
        let ratio = rtt.saturating_mul(RATIO_ONE).checked_div(rtt_min);
        ratio.unwrap_or(0).min(u16::MAX.into()) as u16
    }

    /// Big-endian: rate, flows with the two bits, wait, ratio, rate on the air, retries.
    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let lends = if self.lends { LENDS } else { 0 };
        let competes = if self.competes { COMPETES } else { 0 };
        let flows = self.flows.min(Self::FLOWS_MAX) | lends | competes;
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.rate_bytes_ps.to_be_bytes());
        bytes[4..6].copy_from_slice(&flows.to_be_bytes());
        bytes[6] = log_of(self.wait_us.into(), WAIT_UNIT_US);
        bytes[7] = (self.rtt_ratio_q8 >> RATIO_SHIFT).min(u8::MAX.into()) as u8;
        bytes[8] = log_of(self.radio.phy_bps, PHY_UNIT_BPS);
        bytes[9] = (self.radio.retries_q10 >> RETRIES_SHIFT).min(u8::MAX.into()) as u8;
        bytes
    }

    pub(crate) fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let [r0, r1, r2, r3, f0, f1, wait, ratio, phy, retries] = bytes;
        let flows = u16::from_be_bytes([f0, f1]);
        Self {
            rate_bytes_ps: u32::from_be_bytes([r0, r1, r2, r3]),
            flows: flows & Self::FLOWS_MAX,
            lends: flows & LENDS != 0,
            competes: flows & COMPETES != 0,
            rtt_ratio_q8: u16::from(ratio) << RATIO_SHIFT,
            wait_us: of_log(wait, WAIT_UNIT_US) as u32,
            radio: Radio {
                phy_bps: of_log(phy, PHY_UNIT_BPS),
                retries_q10: u32::from(retries) << RETRIES_SHIFT,
            },
        }
    }
}

/// 0 for less than a unit; else 1 and the logarithm.
fn log_of(value: u64, unit: u64) -> u8 {
    if value < unit {
        0
    } else {
        (1.0 + (LOG_STEPS * (value as f64 / unit as f64).log2()).round()) as u8
    }
}

fn of_log(code: u8, unit: u64) -> u64 {
    match code {
        0 => 0,
        code => (unit as f64 * (f64::from(code - 1) / LOG_STEPS).exp2()).round() as u64,
    }
}
