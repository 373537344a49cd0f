//! What is counted of one source's packets in one class.

use hdrhistogram::Histogram;

use crate::packet::Why;

/// Percentiles are exact to one in a hundred; extremes are exact.
const DIGITS: u8 = 2;

/// Times, for percentiles.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    histogram: Histogram<u64>,
    max_ns: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            // It grows with what is recorded.
            histogram: Histogram::new(DIGITS).expect("two digits are allowed"),
            max_ns: 0,
        }
    }
}

impl Times {
    pub fn add(&mut self, ns: u64) {
        self.histogram.record(ns).expect("it grows");
        self.max_ns = self.max_ns.max(ns);
    }

    pub fn merge(&mut self, other: &Self) {
        // Both have the same digits, and grow.
        self.histogram.add(&other.histogram).expect("of one kind");
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    pub fn quantile_ns(&self, part: f64) -> u64 {
        self.histogram.value_at_quantile(part).min(self.max_ns)
    }

    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }
}

/// Where packets spent their time, summed up.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HeldSums {
    pub behind_own_ns: u128,
    pub by_clock_ns: u128,
    pub by_others_ns: u128,
    pub by_timer_ns: u128,
    pub in_device_ns: u128,
}

/// One source's packets in one class.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub offered_packets: u64,
    pub offered_bytes: u64,
    pub delivered_packets: u64,
    pub delivered_bytes: u64,
    pub marked_packets: u64,
    pub full_packets: u64,
    pub managed_packets: u64,
    pub beyond_packets: u64,
    pub on_air_packets: u64,
    pub delay: Times,
    pub transfers: Times,
    pub spacing_error: Times,
    pub held: HeldSums,
}

impl Tally {
    pub fn lose(&mut self, why: Why) {
        match why {
            Why::QueueFull => self.full_packets += 1,
            Why::Managed => self.managed_packets += 1,
            Why::BeyondHorizon => self.beyond_packets += 1,
            Why::OnAir => self.on_air_packets += 1,
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.offered_packets += other.offered_packets;
        self.offered_bytes += other.offered_bytes;
        self.delivered_packets += other.delivered_packets;
        self.delivered_bytes += other.delivered_bytes;
        self.marked_packets += other.marked_packets;
        self.full_packets += other.full_packets;
        self.managed_packets += other.managed_packets;
        self.beyond_packets += other.beyond_packets;
        self.on_air_packets += other.on_air_packets;
        self.delay.merge(&other.delay);
        self.transfers.merge(&other.transfers);
        self.spacing_error.merge(&other.spacing_error);
        self.held.behind_own_ns += other.held.behind_own_ns;
        self.held.by_clock_ns += other.held.by_clock_ns;
        self.held.by_others_ns += other.held.by_others_ns;
        self.held.by_timer_ns += other.held.by_timer_ns;
        self.held.in_device_ns += other.held.in_device_ns;
    }
}
