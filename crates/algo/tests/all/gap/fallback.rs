//! Without templates the timer paces, as if gap mode were off, until there are enough again.

use takt_algo::Left;

use super::wire::{Wire, plan};

const RATE_BPS: u64 = 10_000_000;
const PACKET_NS: u64 = 1538 * 8 * 1_000_000_000 / RATE_BPS;

/// Runs for a time without feeding.
fn starve(wire: &mut Wire, ns: u64) -> Vec<u64> {
    let end_ns = wire.now_ns + ns;
    let mut sent_ns = Vec::new();
    while wire.now_ns < end_ns {
        match wire.dequeue() {
            Left::Packet { class, .. } => {
                sent_ns.push(wire.now_ns);
                wire.enqueue(class, 1514);
            }
            Left::Gap { .. } => {}
            Left::Wait { until_ns } => wire.now_ns = wire.now_ns.max(until_ns),
            Left::Empty => panic!("there are packets"),
        }
    }
    sent_ns
}

#[test]
fn a_link_without_a_feeder_paces_by_the_timer() {
    let mut wire = Wire::new(plan(&[RATE_BPS]), 0);
    wire.enqueue(1, 1514);
    wire.enqueue(1, 1514);
    let sent_ns = starve(&mut wire, 1_000_000_000);
    assert!(
        sent_ns
            .windows(2)
            .all(|pair| pair[1] - pair[0] == PACKET_NS)
    );
    assert_eq!(wire.link.gap().frames, 0);
    assert_eq!(wire.link.gap().fallbacks, 0);
}

#[test]
fn a_feeder_that_dies_ends_gap_mode_and_another_begins_it() {
    let mut wire = Wire::new(plan(&[RATE_BPS]), 0);
    wire.feed(48);
    wire.enqueue(1, 1514);
    wire.enqueue(1, 1514);
    let sent_ns = starve(&mut wire, 1_000_000_000);
    let gaps = wire.link.gap().frames;
    assert!(gaps >= 48);
    assert_eq!(wire.link.gap().flowing, 0);
    assert_eq!(wire.link.gap().fallbacks, 1);
    // The change loses and doubles nothing.
    let rate = sent_ns.len() as f64 / (1e9 / PACKET_NS as f64);
    assert!((0.99..1.01).contains(&rate), "{rate}");
    assert!(
        sent_ns[20..]
            .windows(2)
            .all(|pair| pair[1] - pair[0] == PACKET_NS)
    );

    // A few templates are not enough.
    wire.feed(2);
    starve(&mut wire, 100_000_000);
    assert_eq!(wire.link.gap().frames, gaps);
    wire.feed(48);
    starve(&mut wire, 5_000_000);
    assert_eq!(wire.link.gap().flowing, 1);
    assert!(wire.link.gap().frames > gaps);
    assert_eq!(wire.link.gap().fallbacks, 1);
}
