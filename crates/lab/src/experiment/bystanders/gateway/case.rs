//! The links, paths and numbers of flows.

use std::time::Duration;

const MBIT: u64 = 1_000_000;

/// Which way the shaped traffic goes, seen from the gateway's house.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The link's scheduler is at the device towards the provider.
    Up,
    /// It is at an IFB that the provider's packets are redirected to.
    Down,
}

#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub direction: Direction,
    pub rate_bps: u64,
    /// Round trip of the path without queues.
    pub delay_ms: u64,
    pub flows: u32,
    pub duration: Duration,
    /// Packets of many frames, as hosts send and gateways merge them.
    pub offloads: bool,
}

impl Case {
    pub fn name(&self) -> String {
        let direction = match self.direction {
            Direction::Up => "up",
            Direction::Down => "down",
        };
        let (rate, delay, flows) = (self.rate_bps / MBIT, self.delay_ms, self.flows);
        let offloads = if self.offloads { "-offloads" } else { "" };
        format!("gateway-{direction}-{rate}mbit-{delay}ms-{flows}{offloads}")
    }
}

pub fn all(short: bool) -> Vec<Case> {
    let case = |direction, rate_mbit, delay_ms, flows, seconds| Case {
        direction,
        rate_bps: rate_mbit * MBIT,
        delay_ms,
        flows,
        duration: Duration::from_secs(seconds),
        offloads: false,
    };
    let with_offloads = |case: Case| Case {
        offloads: true,
        ..case
    };
    let (up, down) = (Direction::Up, Direction::Down);
    if short {
        let case = case(up, 20, 20, 4, 10);
        return vec![case, with_offloads(case)];
    }
    vec![
        case(up, 20, 20, 4, 60),
        case(down, 20, 20, 4, 60),
        case(up, 20, 20, 1, 60),
        case(up, 20, 20, 128, 60),
        case(down, 20, 20, 128, 60),
        case(up, 2, 20, 1, 60),
        case(up, 2, 50, 16, 60),
        case(up, 2, 20, 128, 60),
        case(up, 20, 200, 4, 60),
        case(up, 200, 10, 4, 15),
        case(down, 200, 10, 16, 15),
        case(up, 200, 200, 4, 30),
        case(up, 200, 20, 128, 15),
        with_offloads(case(up, 20, 20, 4, 60)),
        with_offloads(case(down, 20, 20, 4, 60)),
        with_offloads(case(up, 200, 10, 4, 15)),
    ]
}
