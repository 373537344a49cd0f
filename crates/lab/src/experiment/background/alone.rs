//! A background upload alone on the link: does it get all of it?

use std::time::Duration;

use serde_json::json;

use super::figures::of_effort;
use super::segments::Segments;
use super::transfer::{Background, Effort, Stage};
use super::upload::Port;
use crate::experiment::error::Result;
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair;

impl Stage<'_> {
    /// An upload so long that its middle is all steady state.
    pub fn background_alone(
        &self,
        background: Background,
        rate_bps: u64,
        short: bool,
    ) -> Result<Metrics> {
        let watched = Duration::from_secs(if short { 2 } else { 10 });
        let watched_bytes = rate_bps / 8 * watched.as_secs();
        // As much again precedes and follows the measured part.
        let segments_before = Segments::now()?;
        let reception = self
            .server
            .expect(Port::Background, 3 * watched_bytes, watched_bytes)?;
        let program = self.start(Background {
            bytes: 3 * watched_bytes,
            ..background
        })?;
        reception.wait_early()?;

        let (before, come_before) = (self.observer.now()?, reception.received_bytes());
        let (frames_before, started) = (pair::received()?, std::time::Instant::now());
        std::thread::sleep(watched);
        let (frames_after, elapsed) = (pair::received()?, started.elapsed());
        let (after, come_after) = (self.observer.now()?, reception.received_bytes());
        reception.finish()?;
        program.finish()?;

        let segments = Segments::now()?.since(&segments_before);
        let bits = (frames_after.bytes - frames_before.bytes) as f64 * 8.0;
        let achieved_bps = bits / elapsed.as_secs_f64();
        let effort = Effort {
            work: self.observer.between(&before, &after),
            bytes: come_after - come_before,
        };
        let mut row = metrics([
            ("target_bps", json!(rate_bps)),
            ("achieved_bps", json!(achieved_bps)),
            (
                "link_share_percent",
                json!(100.0 * achieved_bps / rate_bps as f64),
            ),
            ("segments_retransmitted", json!(segments.retransmitted)),
            ("segments_out_of_order", json!(segments.out_of_order)),
        ]);
        row.extend(of_effort("", [effort]));
        Ok(row)
    }
}
