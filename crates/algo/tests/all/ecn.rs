//! Which packets are marked.

use takt_algo::sys::{self, takt_ecn_marks, takt_ecn_of_flow};

const MS: u64 = 1_000_000;
const RATE_BPS: u64 = 100_000_000;

fn marks(ecn: u32, drops: bool, sojourn_ns: u64, rate_bps: u64) -> bool {
    // SAFETY: it takes numbers alone.
    unsafe { takt_ecn_marks(ecn, drops.into(), sojourn_ns, rate_bps) != 0 }
}

#[test]
fn classic_senders_are_marked_when_codel_would_drop() {
    for ecn in [sys::TAKT_ECN_ECT0, sys::TAKT_ECN_CE] {
        assert!(marks(ecn, true, 0, RATE_BPS));
        assert!(!marks(ecn, false, 1000 * MS, RATE_BPS));
    }
}

#[test]
fn l4s_senders_are_marked_from_a_fixed_delay_on() {
    let ect1 = sys::TAKT_ECN_ECT1;
    assert!(!marks(ect1, true, MS - 1, RATE_BPS));
    assert!(marks(ect1, false, MS, RATE_BPS));
    // Two frames take 24 ms at a megabit per second.
    assert!(!marks(ect1, false, 24 * MS, 1_000_000));
    assert!(marks(ect1, false, 25 * MS, 1_000_000));
    assert!(!marks(ect1, false, MS, 0));
}

#[test]
fn a_marked_packet_counts_as_its_flows_last_unmarked_one() {
    let mut l4s = 0;
    // SAFETY: a valid number.
    let mut of_flow = |ecn| unsafe { takt_ecn_of_flow(&raw mut l4s, ecn) };
    let (ect1, ect0, ce) = (sys::TAKT_ECN_ECT1, sys::TAKT_ECN_ECT0, sys::TAKT_ECN_CE);
    let seen = [ce, ect1, ce, 0, ce, ect0, ce].map(&mut of_flow);
    assert_eq!(seen, [ce, ect1, ect1, 0, ect1, ect0, ce]);
}
