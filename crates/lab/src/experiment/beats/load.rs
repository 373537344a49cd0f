//! The machine's load while threads wait for their beats.

use std::net::Ipv4Addr;

use super::beat::MS;
use super::clock::Rhythm;
use super::outside;
use super::script::{Part, Record, Role};
use super::stage::Cast;
use crate::experiment::pair::{A, B, RECEIVER, SENDER};

const PORT: u16 = 5_003;
const KILOBYTE: u64 = 1_000;
const SENDS: &str = "sender";
const RECEIVES: &str = "receiver";

/// UDP sent and received.
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
/// From outside the machine.
pub const STORMS: [Load; 4] = [
    Load::Rate(0),
    Load::Rate(300),
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
    pub fn ends(self) -> Cast {
        [(A, RECEIVER), (B, SENDER)]
            .into_iter()
            .filter_map(|(namespace, peer)| {
                let threads = vec![receiver(), self.sender(vec![peer.parse().ok()?])?];
                Some((namespace, threads))
            })
            .collect()
    }

    /// The programs at both ends of the cables outside the machine: the far one sends.
    pub fn outside_ends(self) -> Cast {
        match self.sender(outside::receivers()) {
            Some(sender) => vec![(A, vec![receiver()]), (B, vec![sender])],
            None => Vec::new(),
        }
    }

    fn sender(self, to: Vec<Ipv4Addr>) -> Option<Role> {
        let rate_bytes_per_s = match self {
            Self::Rate(0) => return None,
            Self::Rate(rate) => Some(rate * KILOBYTE),
            Self::Saturated => None,
        };
        let send = Part::Send {
            to,
            port: PORT,
            rate_bytes_per_s,
        };
        Some(Role::ordinary(SENDS, send))
    }
}

fn receiver() -> Role {
    Role::ordinary(RECEIVES, Part::Receive { port: PORT })
}

/// Payload that was received and sent, at both ends together.
#[derive(Debug, Clone, Copy, Default)]
pub struct Carried {
    pub received_bytes: u64,
    pub sent_bytes: u64,
}

impl Carried {
    /// From the records of [`Load::ends`] or [`Load::outside_ends`].
    pub fn of(ends: &[Vec<Record>]) -> Self {
        let sum = |name: &str| {
            let records = ends.iter().flatten().filter(|record| record.name == name);
            records.map(|record| record.done).sum()
        };
        Self {
            received_bytes: sum(RECEIVES),
            sent_bytes: sum(SENDS),
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

    #[test]
    fn from_outside_packets_come_one_way() {
        assert!(Load::Rate(0).outside_ends().is_empty());
        let ends = Load::Rate(600).outside_ends();
        let record = |(_, threads): &(_, Vec<Role>)| {
            let record = |role: &Role| Record {
                name: role.name.clone(),
                done: 7,
                ..Record::default()
            };
            threads.iter().map(record).collect()
        };
        let records: Vec<_> = ends.iter().map(record).collect();
        let carried = Carried::of(&records);
        assert_eq!((carried.received_bytes, carried.sent_bytes), (7, 7));
    }
}
