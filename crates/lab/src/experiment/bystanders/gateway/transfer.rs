//! TCP flows from the sender to the receiver, iperf3's.

use std::time::Duration;

use super::network::{RECEIVER, RECEIVER_ADDRESS, SENDER};
use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::iperf::{Client, Server};

pub struct Transfer {
    client: Client,
    _server: Server,
}

/// Of all flows, after the warm-up.
pub struct Figures {
    pub goodput_bps: f64,
    /// The mean of the flows' means, by their own measurements.
    pub rtt_mean_ns: f64,
    pub retransmits: u64,
}

impl Transfer {
    pub fn start(flows: u32, warm_up: Duration, duration: Duration) -> Result<Self> {
        let server = Server::start_in(RECEIVER)?;
        let client = Client::start_to(SENDER, RECEIVER_ADDRESS, flows, warm_up, duration)?;
        Ok(Self {
            client,
            _server: server,
        })
    }

    pub fn finish(self) -> Result<Figures> {
        let end = self.client.finish()?;
        let number = |value: &serde_json::Value, what: &str| {
            value.as_f64().ok_or_else(|| ExperimentError::Output {
                command: "iperf3 --client".to_owned(),
                reason: format!("no {what}"),
            })
        };
        let streams = end["streams"].as_array().map_or(&[][..], Vec::as_slice);
        let mut rtts_us = 0.0;
        for stream in streams {
            rtts_us += number(&stream["sender"]["mean_rtt"], "mean_rtt")?;
        }
        Ok(Figures {
            goodput_bps: number(&end["sum_received"]["bits_per_second"], "goodput")?,
            rtt_mean_ns: rtts_us * 1000.0 / streams.len().max(1) as f64,
            retransmits: number(&end["sum_sent"]["retransmits"], "retransmits")? as u64,
        })
    }
}
