//! The uplink behind the host's device: a rate, then a server far away.
//!
//! Frames that come out of the cable in `b` go through an IFB first, whose netem sends them one
//! after the other at the wire's rate and then delays them by half of the round trip;
//! acknowledgements are delayed by the other half on the cable's other end. Nothing is lost
//! there.

use std::time::Duration;

use crate::experiment::command;
use crate::experiment::error::Result;
use crate::experiment::pair::{B, PEER_DEVICE};

/// The device that models the wire.
const WIRE: &str = "wire";
/// "80 ms away" is the round trip.
pub const ROUND_TRIP: Duration = Duration::from_millis(80);
/// Frames; far more than are ever in flight.
const LIMIT: u32 = 10_000;

/// Removed when it is dropped.
pub struct Wire(());

impl Wire {
    pub fn build() -> Result<Self> {
        let wire = Self(());
        B.run(|| {
            command::run("ip", &["link", "add", WIRE, "type", "ifb"])?;
            command::run("ip", &["link", "set", WIRE, "up"])?;
            command::tc_batch(&[
                format!("qdisc add dev {PEER_DEVICE} clsact"),
                format!(
                    "filter add dev {PEER_DEVICE} ingress matchall \
                     action mirred egress redirect dev {WIRE}"
                ),
                format!("qdisc add dev {PEER_DEVICE} root {}", netem("")),
            ])
        })?;
        Ok(wire)
    }

    /// Sets the rate from now on; to be called while nothing is on the wire.
    pub fn set_rate(&self, rate_bps: u64) -> Result<()> {
        let netem = netem(&format!(" rate {rate_bps}bit"));
        B.run(|| command::tc_batch(&[format!("qdisc replace dev {WIRE} root {netem}")]))
    }
}

fn netem(more: &str) -> String {
    let one_way_us = ROUND_TRIP.as_micros() / 2;
    format!("netem delay {one_way_us}us{more} limit {LIMIT}")
}

impl Drop for Wire {
    fn drop(&mut self) {
        let lines = [
            format!("qdisc del dev {PEER_DEVICE} root"),
            format!("qdisc del dev {PEER_DEVICE} clsact"),
        ];
        let removed = B.run(|| {
            command::tc_batch(&lines)?;
            command::run("ip", &["link", "del", WIRE]).map(drop)
        });
        if let Err(error) = removed {
            eprintln!("while cleaning up: {error}");
        }
    }
}
