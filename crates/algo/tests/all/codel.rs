//! CoDel's law against RFC 8289's formula, in floating point.

use takt_algo::sys::{self, takt_codel};

const TARGET_NS: u32 = 5_000_000;
const INTERVAL_NS: u32 = 100_000_000;
const MANY_BYTES: u64 = 100_000;

fn drops(codel: &mut takt_codel, sojourn_ns: u64, behind: u64, now_ns: u64) -> bool {
    // SAFETY: a valid struct.
    unsafe { sys::takt_codel_drops(codel, TARGET_NS, INTERVAL_NS, sojourn_ns, behind, now_ns) != 0 }
}

/// The times of drops of a queue that stands from `from_ns` on, looked at every 100 us.
fn standing(codel: &mut takt_codel, from_ns: u64, for_ns: u64) -> Vec<u64> {
    let mut times = Vec::new();
    for now_ns in (from_ns..from_ns + for_ns).step_by(100_000) {
        while drops(codel, 20_000_000, MANY_BYTES, now_ns) {
            times.push(now_ns);
        }
    }
    times
}

#[test]
fn a_burst_shorter_than_an_interval_is_not_dropped_from() {
    let mut codel = takt_codel::default();
    assert_eq!(standing(&mut codel, 1, 99_000_000), []);
    assert!(!drops(&mut codel, 1_000_000, MANY_BYTES, 99_000_000));
    assert_eq!(standing(&mut codel, 99_000_001, 99_000_000), []);
}

#[test]
fn one_full_frame_is_no_standing_queue() {
    let mut codel = takt_codel::default();
    for now_ns in (1..10_000_000_000).step_by(1_000_000) {
        assert!(!drops(&mut codel, 900_000_000, 1514, now_ns));
    }
}

#[test]
fn drops_come_closer_by_the_control_law() {
    let mut codel = takt_codel::default();
    let times = standing(&mut codel, 1, 3_000_000_000);
    let mut next_ns = 100_000_001.0;
    for (n, at_ns) in times.iter().enumerate() {
        let late_ns = *at_ns as f64 - next_ns;
        assert!(
            (-2e6..2e6).contains(&late_ns),
            "drop {n} is {late_ns} ns late"
        );
        // The root is Newton's: it is off by some per cent for the first few.
        let gap_ns = f64::from(INTERVAL_NS) / (n as f64 + 1.0).sqrt();
        next_ns = match n {
            0..6 => *times.get(n + 1).unwrap_or(at_ns) as f64,
            _ => *at_ns as f64 + gap_ns,
        };
    }
    // The sum of interval / sqrt(n) reaches 2.9 s after some 210 drops.
    assert!((195..240).contains(&times.len()), "{}", times.len());
}

#[test]
fn a_queue_that_stands_again_soon_goes_on_at_its_rate() {
    let mut codel = takt_codel::default();
    let first = standing(&mut codel, 1, 1_000_000_000).len();
    assert!(!drops(&mut codel, 0, MANY_BYTES, 1_000_000_001));
    let again = standing(&mut codel, 1_000_100_001, 300_000_000).len();
    let mut fresh = takt_codel::default();
    let without = standing(&mut fresh, 1, 300_000_000).len();
    assert!(again > 2 * without, "{first} {again} {without}");
}

#[test]
fn stamps_wrap_and_are_never_none() {
    for now_ns in [0, 1, 1023, 1024, (1 << 42) - 1, 1 << 42, u64::MAX >> 1] {
        // SAFETY: no pointers.
        let (stamp, sojourn_ns) = unsafe {
            let stamp = sys::takt_codel_stamp(now_ns);
            (stamp, sys::takt_codel_sojourn(stamp, now_ns + 5_000_000))
        };
        assert_ne!(stamp, 0);
        assert!(
            (4_997_000..=5_001_100).contains(&sojourn_ns),
            "{now_ns}: {sojourn_ns}"
        );
    }
}
