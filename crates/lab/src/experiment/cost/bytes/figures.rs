//! From two moments of a measurement to figures.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use super::case::Sent;
use super::flows::Flows;
use crate::experiment::error::Result;
use crate::experiment::load::Idle;
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair::{self, Exchanged};

const KB_BYTES: f64 = 1e3;
const MB_BYTES: f64 = 1e6;

/// What was counted until a moment.
struct Counted {
    at: Instant,
    exchanged: Exchanged,
    delivered_bytes: u64,
}

impl Counted {
    fn now(flows: &Flows) -> Result<Self> {
        Ok(Self {
            exchanged: pair::exchanged()?,
            at: Instant::now(),
            delivered_bytes: flows.delivered_bytes(),
        })
    }
}

/// What the machine did in a window.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    pub sent: Sent,
    pub elapsed: Duration,
    pub idle_share_percent: f64,
    /// By the sending device: a segmented packet is one, with one header.
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub received_packets: u64,
    /// Payload that was read.
    pub delivered_bytes: u64,
}

impl Work {
    /// In this time from now on.
    pub fn during(time: Duration, sent: Sent, flows: &Flows) -> Result<Self> {
        // Idle time is read inside of the counts: reading these is no work for a byte.
        let (before, idle) = (Counted::now(flows)?, Idle::now()?);
        sleep(time);
        let busy = Idle::now()?.since(&idle);
        let after = Counted::now(flows)?;
        let [now, then] = [after.exchanged, before.exchanged];
        Ok(Self {
            sent,
            elapsed: after.at - before.at,
            idle_share_percent: busy.idle_share_percent(),
            sent_packets: now.sent_packets - then.sent_packets,
            sent_bytes: now.sent_bytes - then.sent_bytes,
            received_packets: now.received_packets - then.received_packets,
            delivered_bytes: after.delivered_bytes - before.delivered_bytes,
        })
    }

    /// On the wire, where every segment has a header.
    pub fn achieved_bps(&self) -> f64 {
        let segment_bytes = f64::from(self.sent.segment_bytes());
        let header_bytes = f64::from(self.sent.header_bytes());
        let payload_bytes = self.sent_bytes as f64 - self.sent_packets as f64 * header_bytes;
        let wire_bytes = payload_bytes / segment_bytes * (segment_bytes + header_bytes);
        8.0 * wire_bytes / self.elapsed.as_secs_f64()
    }

    pub fn metrics(&self) -> Metrics {
        let busy_ns = self.elapsed.as_nanos() as f64 * (1.0 - self.idle_share_percent / 100.0);
        let delivered_bytes = self.delivered_bytes as f64;
        let [sent_packets, received_packets] =
            [self.sent_packets, self.received_packets].map(|count| count as f64);
        metrics([
            (
                "busy_ns_per_kb",
                json!(whole(busy_ns, delivered_bytes / KB_BYTES)),
            ),
            (
                "packet_bytes",
                json!(whole(self.sent_bytes as f64, sent_packets)),
            ),
            (
                "packets_per_mb",
                json!(whole(sent_packets, delivered_bytes / MB_BYTES)),
            ),
            (
                "acknowledgements_per_mb",
                json!(whole(received_packets, delivered_bytes / MB_BYTES)),
            ),
            ("achieved_bps", json!(self.achieved_bps().round())),
            ("idle_share_percent", json!(self.idle_share_percent)),
            ("duration_ns", json!(self.elapsed.as_nanos() as u64)),
        ])
    }
}

/// `None` of nothing.
fn whole(amount: f64, of: f64) -> Option<u64> {
    (of > 0.0).then(|| (amount / of).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten packets of two frames.
    const WORK: Work = Work {
        sent: Sent::Tcp,
        elapsed: Duration::from_millis(1),
        idle_share_percent: 75.0,
        sent_packets: 10,
        sent_bytes: 10 * (66 + 2 * 1448),
        received_packets: 5,
        delivered_bytes: 10 * 2 * 1448,
    };

    #[test]
    fn work_is_for_what_was_delivered() {
        let metrics = WORK.metrics();
        assert_eq!(metrics["busy_ns_per_kb"], json!(8_633));
        assert_eq!(metrics["packet_bytes"], json!(2_962));
        assert_eq!(metrics["packets_per_mb"], json!(345));
        assert_eq!(metrics["acknowledgements_per_mb"], json!(173));
    }

    #[test]
    fn a_rate_on_the_wire_counts_every_header() {
        assert_eq!(WORK.achieved_bps().round(), 8.0 * 20.0 * 1514.0 * 1e3);
    }

    #[test]
    fn nothing_delivered_costs_nothing_that_can_be_said() {
        let nothing = Work {
            delivered_bytes: 0,
            ..WORK
        };
        assert_eq!(nothing.metrics()["busy_ns_per_kb"], json!(null));
    }
}
