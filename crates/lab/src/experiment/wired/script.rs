//! What the wire's process is told, and what it says. Both are lines of JSON.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Script {
    pub ends: [End; 2],
    /// Frames of TCP to this port are counted apart.
    pub port: u16,
}

/// A device, and the direction from it to the other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct End {
    /// On the bus.
    pub name: String,
    pub mac: [u8; 6],
    /// Descriptors of its driver's ring for frames to be sent.
    pub transmit_ring: u16,
    pub speed: Speed,
}

/// In bits per second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Speed {
    /// 0: frames take no time.
    Fixed(u64),
    /// In turn, each for so long, from the wire's zero on.
    Steps(Vec<u64>, Duration),
}

impl From<Speed> for takt_vduse::Speed {
    fn from(speed: Speed) -> Self {
        match speed {
            Speed::Fixed(bps) => Self::Fixed(bps),
            Speed::Steps(bps, each) => Self::Steps { bps, each },
        }
    }
}

/// Each further line. All are answered with [`Counts`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Order {
    Count,
    /// The speed of the direction from this end, from now on.
    Speed(usize, Speed),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// By the wire's clock.
    pub at_ns: u64,
    /// Of the directions from each end.
    pub ways: [Way; 2],
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    pub frames: u64,
    /// How long frames were on the wire, and those that are counted apart.
    pub busy_ns: u64,
    pub apart_ns: u64,
    /// The other end's driver had no buffer for them.
    pub lost: u64,
}

impl Way {
    pub fn since(&self, before: &Self) -> Self {
        Self {
            frames: self.frames - before.frames,
            busy_ns: self.busy_ns - before.busy_ns,
            apart_ns: self.apart_ns - before.apart_ns,
            lost: self.lost - before.lost,
        }
    }
}
