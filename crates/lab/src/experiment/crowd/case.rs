//! The cases for the contenders.

use std::time::Duration;

use crate::experiment::namespace::Namespace;
use crate::experiment::wlan::{SERVER, SERVER_ADDRESS, Station};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    pub terminals: usize,
    /// The wire's round trip.
    pub wired_rtt: Duration,
    pub traffic: Traffic,
    /// Random loss of the terminals' data, on the wire.
    pub loss_ppm: u32,
    /// The last terminal's congestion control, if it is not the contender's.
    pub stranger: Option<Stranger>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// One flow from each terminal to the server.
    Up,
    Down,
    Both,
    /// Every second terminal sends in the middle third only.
    ComeAndGo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stranger {
    pub congestion_control: &'static str,
    /// It begins before or after the others.
    pub is_first: bool,
}

/// One direction of one terminal's traffic; times are of the contest, from its warm-up on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    pub station: Station,
    pub is_upload: bool,
    pub begins: Duration,
    /// `None`: with the contest.
    pub ends: Option<Duration>,
}

/// Terminals begin one after the other.
const STAGGER: Duration = Duration::from_millis(50);

impl Case {
    pub const fn upload(terminals: usize, wired_ms: u64) -> Self {
        Self {
            terminals,
            wired_rtt: Duration::from_millis(wired_ms),
            traffic: Traffic::Up,
            loss_ppm: 0,
            stranger: None,
        }
    }

    pub fn name(&self) -> String {
        let traffic = match self.traffic {
            Traffic::Up => "upload",
            Traffic::Down => "download",
            Traffic::Both => "both",
            Traffic::ComeAndGo => "come-and-go",
        };
        let mut name = format!(
            "{traffic}-{}-{}ms",
            self.terminals,
            self.wired_rtt.as_millis()
        );
        if self.loss_ppm > 0 {
            name += &format!("-loss-{}%", f64::from(self.loss_ppm) / 1e4);
        }
        if let Some(stranger) = self.stranger {
            let order = if stranger.is_first { "first" } else { "later" };
            name += &format!("-{}-{order}", stranger.congestion_control);
        }
        name
    }

    /// Traffic before the measurement lasts `warm_up`, the contest with it `length`. The
    /// stranger, or the terminals that join it, begin in the middle of the warm-up.
    pub fn flows(&self, warm_up: Duration, length: Duration) -> Vec<Flow> {
        let mut flows = Vec::new();
        for station in Station::first(self.terminals) {
            let is_last = station.index() + 1 == self.terminals;
            let comes_later = self
                .stranger
                .is_some_and(|stranger| stranger.is_first != is_last);
            let is_guest = self.traffic == Traffic::ComeAndGo && station.index() % 2 == 1;
            let third = (length - warm_up) / 3;
            let from = match (is_guest, comes_later) {
                (true, _) => warm_up + third,
                (false, true) => warm_up / 2,
                (false, false) => Duration::ZERO,
            };
            let flow = |is_upload| Flow {
                station,
                is_upload,
                begins: from + STAGGER * station.index() as u32,
                ends: is_guest.then_some(warm_up + third * 2),
            };
            if self.traffic != Traffic::Down {
                flows.push(flow(true));
            }
            if matches!(self.traffic, Traffic::Down | Traffic::Both) {
                flows.push(flow(false));
            }
        }
        flows
    }
}

impl Flow {
    pub fn sender(&self) -> Namespace {
        if self.is_upload {
            self.station.namespace()
        } else {
            SERVER
        }
    }

    pub fn receiver(&self) -> (Namespace, std::net::Ipv4Addr) {
        if self.is_upload {
            (SERVER, SERVER_ADDRESS)
        } else {
            (self.station.namespace(), self.station.address())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARM_UP: Duration = Duration::from_secs(4);
    const LENGTH: Duration = Duration::from_secs(16);

    fn begin_ms(case: &Case) -> Vec<u128> {
        let flows = case.flows(WARM_UP, LENGTH);
        flows.iter().map(|flow| flow.begins.as_millis()).collect()
    }

    #[test]
    fn the_stranger_comes_first_or_later() {
        let case = |is_first| Case {
            stranger: Some(Stranger {
                congestion_control: "bbr",
                is_first,
            }),
            ..Case::upload(3, 16)
        };
        assert_eq!(begin_ms(&case(true)), [2000, 2050, 100]);
        assert_eq!(begin_ms(&case(false)), [0, 50, 2100]);
        assert_eq!(case(false).name(), "upload-3-16ms-bbr-later");
    }

    #[test]
    fn guests_are_there_in_the_middle_third() {
        let case = Case {
            traffic: Traffic::ComeAndGo,
            ..Case::upload(2, 16)
        };
        let flows = case.flows(WARM_UP, LENGTH);
        assert_eq!(begin_ms(&case), [0, 8050]);
        assert_eq!(
            flows.iter().map(|flow| flow.ends).collect::<Vec<_>>(),
            [None, Some(Duration::from_secs(12))]
        );
    }

    #[test]
    fn both_directions_are_two_flows_of_each() {
        let case = Case {
            traffic: Traffic::Both,
            ..Case::upload(5, 0)
        };
        let flows = case.flows(WARM_UP, LENGTH);
        assert_eq!(flows.iter().filter(|flow| flow.is_upload).count(), 5);
        assert_eq!(flows.len(), 10);
        assert_eq!(case.name(), "both-5-0ms");
    }
}
