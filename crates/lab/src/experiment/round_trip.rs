//! A round trip of the pair, on the way of acknowledgements: so it disturbs no queue of the sender.

use std::time::Duration;

use super::command;
use super::error::Result;
use super::pair::{B, PEER_DEVICE};

/// Until this is dropped.
#[must_use]
pub struct RoundTrip;

impl RoundTrip {
    pub fn of(duration: Duration) -> Result<Self> {
        let line = format!(
            "qdisc replace dev {PEER_DEVICE} root netem delay {}us limit 100000",
            duration.as_micros()
        );
        B.run(|| command::tc_batch(&[line]))?;
        Ok(Self)
    }
}

impl Drop for RoundTrip {
    fn drop(&mut self) {
        let remove = || command::run("tc", &["qdisc", "del", "dev", PEER_DEVICE, "root"]).map(drop);
        if let Err(error) = B.run(remove) {
            eprintln!("while cleaning up: {error}");
        }
    }
}
