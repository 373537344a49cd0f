//! From packets to bursts and rates.

use std::collections::BTreeMap;

use takt_report::{achieved_bps, nearest_rank, rate_error_ppm};

use super::case::{Case, Pace};
use super::leaving::Packet;

/// What leaves back to back of the packets that share a pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Burst {
    /// Its first packet left.
    at_ns: u64,
    /// On the wire.
    bytes: u64,
}

/// The 99th percentile of the bytes that leave back to back; `None` without packets.
pub fn burst_p99_bytes(case: &Case, packets: &[Packet]) -> Option<u64> {
    let streams = streams(case, packets);
    let bursts = streams.iter().flat_map(|stream| bursts(case, stream));
    let mut bytes: Vec<u64> = bursts.map(|burst| burst.bytes).collect();
    bytes.sort_unstable();
    nearest_rank(&bytes, 990)
}

/// The error of the mean rate of flows, or of all together, in whole bursts: exact, unlike a count
/// of packets within a window. `None` if there are too few.
pub fn error_ppm(case: &Case, packets: &[Packet]) -> Option<f64> {
    let streams = streams(case, packets);
    let rates_bps = streams.iter().map(|stream| mean_bps(&bursts(case, stream)));
    let rates_bps: Vec<f64> = rates_bps.collect::<Option<_>>()?;
    if rates_bps.is_empty() {
        return None;
    }
    let mean_bps = rates_bps.iter().sum::<f64>() / rates_bps.len() as f64;
    rate_error_ppm(mean_bps, case.pace.rate_bps() as f64)
}

/// The packets of each flow, or of all, by what has a rate.
fn streams(case: &Case, packets: &[Packet]) -> Vec<Vec<Packet>> {
    let mut streams = BTreeMap::<u16, Vec<Packet>>::new();
    for packet in packets {
        let stream = match case.pace {
            Pace::Flow { .. } => packet.flow,
            Pace::Class { .. } => 0,
        };
        streams.entry(stream).or_default().push(*packet);
    }
    streams.into_values().collect()
}

/// Packets are back to back if less than half of the time is between them that the first one has
/// at its rate.
fn bursts(case: &Case, stream: &[Packet]) -> Vec<Burst> {
    let wire_bytes = |packet: &Packet| u64::from(case.sent.wire_bytes(packet.bytes));
    let back_to_back = |one: &Packet, next: &Packet| {
        let gap_ns = u128::from(next.at_ns.saturating_sub(one.at_ns));
        let bits = 8 * u128::from(wire_bytes(one));
        2 * gap_ns * u128::from(case.pace.rate_bps()) < bits * 1_000_000_000
    };
    stream
        .chunk_by(back_to_back)
        .map(|packets| Burst {
            at_ns: packets[0].at_ns,
            bytes: packets.iter().map(wire_bytes).sum(),
        })
        .collect()
}

/// From the second burst on, since the first may have begun before the record. The last one ends
/// the time of those before it.
fn mean_bps(bursts: &[Burst]) -> Option<f64> {
    let (last, [_, whole @ ..]) = bursts.split_last()? else {
        return None;
    };
    let bytes: u64 = whole.iter().map(|burst| burst.bytes).sum();
    achieved_bps(whole.first()?.at_ns, last.at_ns, 8 * bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A byte in a microsecond.
    const RATE_BPS: u64 = 8_000_000;

    fn case(pace: Pace) -> Case {
        Case {
            pace,
            ..Case::ALL[0]
        }
    }

    fn each() -> Case {
        case(Pace::Flow { rate_bps: RATE_BPS })
    }

    fn all() -> Case {
        case(Pace::Class { rate_bps: RATE_BPS })
    }

    fn packet(at_us: u64, bytes: u32, flow: u16) -> Packet {
        Packet {
            at_ns: 1_000 * at_us,
            bytes,
            flow,
        }
    }

    #[test]
    fn what_follows_within_half_of_its_time_is_one_burst() {
        let packets = [(0, 1000), (499, 1000), (999, 500), (2000, 100)];
        let packets = packets.map(|(at_us, bytes)| packet(at_us, bytes, 1));
        let bytes: Vec<u64> = bursts(&all(), &packets)
            .iter()
            .map(|burst| burst.bytes)
            .collect();
        assert_eq!(bytes, [2000, 500, 100]);
    }

    #[test]
    fn flows_with_rates_of_their_own_do_not_make_bursts_together() {
        let packets = [(0, 1), (1, 2), (1000, 1), (1001, 2)];
        let packets = packets.map(|(at_us, flow)| packet(at_us, 1000, flow));
        assert_eq!(burst_p99_bytes(&each(), &packets), Some(1000));
        assert_eq!(burst_p99_bytes(&all(), &packets), Some(2000));
        assert_eq!(burst_p99_bytes(&all(), &[]), None);
    }

    #[test]
    fn a_rate_is_that_of_whole_bursts() {
        let packets = [
            packet(900, 500, 1),
            packet(1000, 1000, 1),
            packet(2000, 500, 2),
            packet(2500, 1000, 1),
            packet(4500, 1514, 1),
        ];
        assert_eq!(error_ppm(&all(), &packets[..4]), Some(0.0));
        assert_eq!(error_ppm(&all(), &packets), Some(-400_000.0));
        assert_eq!(error_ppm(&all(), &packets[3..]), None);
        assert_eq!(error_ppm(&each(), &packets), None);
        assert_eq!(error_ppm(&each(), &[]), None);
    }
}
