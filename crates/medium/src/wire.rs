//! A wired segment beside the air: a rate, a delay and a queue with a limit.

/// One direction of it.
#[derive(Debug, Clone)]
pub struct Wire {
    rate_bps: u64,
    delay_ns: u64,
    limit_ns: u64,
    free_ns: u64,
}

impl Wire {
    /// A wire with `rate_bps` of zero only delays. At most `limit_ns` of sending wait in front
    /// of it.
    pub fn new(rate_bps: u64, delay_ns: u64, limit_ns: u64) -> Self {
        Wire {
            rate_bps,
            delay_ns,
            limit_ns,
            free_ns: 0,
        }
    }

    /// Sends `bytes`; returns when the last of them arrives, or `None` if the queue is full and
    /// the frame is lost.
    pub fn carry(&mut self, now_ns: u64, bytes: u32) -> Option<u64> {
        let start_ns = self.free_ns.max(now_ns);
        if start_ns - now_ns > self.limit_ns {
            return None;
        }
        let sending_ns = (u64::from(bytes) * 8 * 1_000_000_000)
            .checked_div(self.rate_bps)
            .unwrap_or_default();
        self.free_ns = start_ns.saturating_add(sending_ns);
        Some(self.free_ns.saturating_add(self.delay_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_each_other_and_the_queue_ends() {
        let mut wire = Wire::new(100_000_000, 5000, 100_000);
        assert_eq!(wire.carry(0, 1250), Some(105_000));
        assert_eq!(wire.carry(0, 1250), Some(205_000));
        assert_eq!(wire.carry(0, 1250), None);
        assert_eq!(wire.carry(100_000, 125), Some(215_000));
        assert_eq!(wire.carry(1_000_000, 125), Some(1_015_000));
        assert_eq!(Wire::new(0, 7, 0).carry(3, 1500), Some(10));
    }
}
