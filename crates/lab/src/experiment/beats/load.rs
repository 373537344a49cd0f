//! The machine's load while threads wait for their beats.

use super::beat::MS;
use super::clock::Rhythm;
use super::script::{Part, Record, Role};
use crate::experiment::namespace::Namespace;
use crate::experiment::pair::{A, B, RECEIVER, SENDER};

const PORT: u16 = 5_003;
const KILOBYTE: u64 = 1_000;

/// UDP sent and received, as much each way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Kilobytes of payload per second. Zero is no traffic.
    Rate(u64),
    /// As fast as the senders get the processor.
    Saturated,
}

/// HiTactix's loads in KB/s, and one that no 10 Mbit/s Ethernet could carry.
pub const LOADS: [Load; 8] = [
    Load::Rate(0),
    Load::Rate(100),
    Load::Rate(200),
    Load::Rate(300),
    Load::Rate(400),
    Load::Rate(500),
    Load::Rate(600),
    Load::Saturated,
];
/// No traffic, HiTactix's most, and the machine's most.
pub const EXTREMES: [Load; 3] = [Load::Rate(0), Load::Rate(600), Load::Saturated];

impl Load {
    /// The name in cases: `600kBps`.
    pub fn name(self) -> String {
        match self {
            Self::Rate(rate) => format!("{rate}kBps"),
            Self::Saturated => "saturated".to_owned(),
        }
    }

    /// The programs at both ends of the cable: each sends to the other.
    pub fn ends(self) -> Vec<(Namespace, Vec<Role>)> {
        let rate_bytes_per_s = match self {
            Self::Rate(0) => return Vec::new(),
            Self::Rate(rate) => Some(rate * KILOBYTE),
            Self::Saturated => None,
        };
        [(A, RECEIVER), (B, SENDER)]
            .into_iter()
            .filter_map(|(namespace, peer)| {
                let send = Part::Send {
                    to: peer.parse().ok()?,
                    port: PORT,
                    rate_bytes_per_s,
                };
                let receive = Part::Receive { port: PORT };
                let threads = vec![
                    Role::ordinary("receiver", receive),
                    Role::ordinary("sender", send),
                ];
                Some((namespace, threads))
            })
            .collect()
    }
}

/// Payload that was received and sent, at both ends together.
#[derive(Debug, Clone, Copy, Default)]
pub struct Carried {
    pub received_bytes: u64,
    pub sent_bytes: u64,
}

impl Carried {
    /// From the records of [`Load::ends`].
    pub fn of(ends: &[Vec<Record>]) -> Self {
        let sum = |at: usize| ends.iter().filter_map(|end| Some(end.get(at)?.done)).sum();
        Self {
            received_bytes: sum(0),
            sent_bytes: sum(1),
        }
    }
}

/// Two threads that read the clock, and so know when they ran.
pub fn watched() -> Vec<Role> {
    let rhythm = Rhythm {
        period_ns: MS,
        phase_ns: 0,
    };
    ["busy-0", "busy-1"]
        .map(|name| Role::ordinary(name, Part::Watch { rhythm }))
        .into()
}

/// Two busy ordinary threads.
pub fn busy() -> Vec<Role> {
    ["busy-0", "busy-1"]
        .map(|name| Role::ordinary(name, Part::Compute))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_sends_to_the_other() {
        assert!(Load::Rate(0).ends().is_empty());
        let ends = Load::Saturated.ends();
        assert_eq!(ends.len(), 2);
        assert!(ends.iter().all(|(_, threads)| threads.len() == 2));
    }
}
