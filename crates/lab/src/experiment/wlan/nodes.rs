//! What the medium calls whom.

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
    let to = frame.first_chunk::<6>()?;
    Station::first(usize::MAX).position(|station| station.mac() == *to)
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

/// One strength after the other, again and again.
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
    // Without steps there is nothing to hear.
    SnrPath::repeating(points.collect(), period_ns).unwrap_or(SnrPath::constant(0))
}

#[cfg(test)]
mod tests {
    use super::*;

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
