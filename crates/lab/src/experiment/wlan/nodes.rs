//! The medium's numbers of nodes.

use takt_medium::{NodeId, SnrPath};

use super::plan::Station;
use super::script::Motion;

/// The medium's number for a station; the access point is 0.
pub fn node(station: usize) -> NodeId {
    NodeId(station as u16 + 1)
}

pub fn station(node: NodeId) -> Option<usize> {
    usize::from(node.0).checked_sub(1)
}

/// The station that a frame is for.
pub fn receiver(frame: &[u8]) -> Option<usize> {
    of_address(frame.first_chunk()?)
}

/// The station that a frame is from.
pub fn sender(frame: &[u8]) -> Option<usize> {
    of_address(frame.get(6..)?.first_chunk()?)
}

fn of_address(address: &[u8; 6]) -> Option<usize> {
    Station::first(usize::MAX).position(|station| station.mac() == *address)
}

pub fn is_for_group(frame: &[u8]) -> bool {
    /// In a destination's first byte.
    const MULTICAST: u8 = 1;
    frame.first().is_some_and(|first| first & MULTICAST != 0)
}

/// Whether a frame is a whole datagram of UDP over IPv4, to or from this port.
pub fn is_of_port(frame: &[u8], port: u16) -> bool {
    const ETHERNET_BYTES: usize = 14;
    const IPV4: [u8; 2] = [8, 0];
    const UDP: u8 = 17;
    let header = frame.get(ETHERNET_BYTES..).unwrap_or_default();
    let (Some(&[version, ..]), Some(&UDP)) = (header.first_chunk::<1>(), header.get(9)) else {
        return false;
    };
    let ports = header.get(usize::from(version & 15) * 4..);
    let Some(&[from_high, from_low, to_high, to_low]) = ports.and_then(|ports| ports.first_chunk())
    else {
        return false;
    };
    let port = port.to_be_bytes();
    frame.get(12..ETHERNET_BYTES) == Some(&IPV4)
        && ([from_high, from_low] == port || [to_high, to_low] == port)
}

pub fn path(motion: &Motion) -> SnrPath {
    match motion {
        Motion::Still { snr_centidb } => SnrPath::constant(*snr_centidb),
        Motion::RoundTrip {
            far_centidb,
            near_centidb,
        } => SnrPath::round_trip(*far_centidb, *near_centidb),
        Motion::Steps { centidb, each } => steps(centidb, each.as_nanos() as u64),
    }
}

/// Several strengths in turn, repeatedly.
fn steps(centidb: &[i32], each_ns: u64) -> SnrPath {
    let each_ns = each_ns.max(2);
    let points = (0..).zip(centidb).flat_map(|(step, snr_centidb)| {
        let from_ns = step * each_ns;
        [
            (from_ns, *snr_centidb),
            (from_ns + each_ns - 1, *snr_centidb),
        ]
    });
    let period_ns = centidb.len() as u64 * each_ns;
    // Without steps there is no signal.
    SnrPath::repeating(points.collect(), period_ns).unwrap_or(SnrPath::constant(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_a_port_are_told_apart() {
        let frame = |kind: u8, ports: [u8; 4]| {
            let mut frame = vec![0; 12];
            frame.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, kind, 0, 0]);
            frame.extend([10, 8, 0, 11, 10, 8, 0, 2]);
            frame.extend(ports);
            frame
        };
        let port = 7642;
        let [high, low] = u16::to_be_bytes(port);
        assert!(is_of_port(&frame(17, [1, 2, high, low]), port));
        assert!(is_of_port(&frame(17, [high, low, 1, 2]), port));
        assert!(!is_of_port(&frame(6, [1, 2, high, low]), port));
        assert!(!is_of_port(&frame(17, [1, high, low, 2]), port));
        let mut cut = frame(17, [1, 2, high, low]);
        while cut.pop().is_some() {
            assert!(!is_of_port(&cut, port));
        }
    }

    #[test]
    fn steps_follow_each_other_again_and_again() {
        let path = steps(&[2000, 300], 1000);
        let at: Vec<i32> = [0, 998, 1000, 1998, 2000, 3500]
            .into_iter()
            .map(|now_ns| path.snr_centidb(now_ns))
            .collect();
        assert_eq!(at, [2000, 2000, 300, 300, 2000, 300]);
        assert_eq!(steps(&[], 5).snr_centidb(7), 0);
    }
}
