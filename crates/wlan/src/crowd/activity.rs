//! A terminal's throughput and flows.

/// 1, as a ratio in 1/256.
const RATIO_ONE: u64 = 256;
/// A wait's unit, in microseconds.
const WAIT_UNIT_US: u32 = 64;
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
    /// round trips of half a round trip over the shortest of all. It is reported in steps of 64.
    pub wait_us: u32,
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

    /// Big-endian: rate, flows with the two bits, ratio, wait.
    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let lends = if self.lends { LENDS } else { 0 };
        let competes = if self.competes { COMPETES } else { 0 };
        let flows = self.flows.min(Self::FLOWS_MAX) | lends | competes;
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.rate_bytes_ps.to_be_bytes());
        bytes[4..6].copy_from_slice(&flows.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.rtt_ratio_q8.to_be_bytes());
        let wait = (self.wait_us / WAIT_UNIT_US).min(u16::MAX.into()) as u16;
        bytes[8..].copy_from_slice(&wait.to_be_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let [r0, r1, r2, r3, f0, f1, q0, q1, w0, w1] = bytes;
        let flows = u16::from_be_bytes([f0, f1]);
        Self {
            rate_bytes_ps: u32::from_be_bytes([r0, r1, r2, r3]),
            flows: flows & Self::FLOWS_MAX,
            lends: flows & LENDS != 0,
            competes: flows & COMPETES != 0,
            rtt_ratio_q8: u16::from_be_bytes([q0, q1]),
            wait_us: u32::from(u16::from_be_bytes([w0, w1])) * WAIT_UNIT_US,
        }
    }
}
