//! Lost tails, and marks in a round trip.

use super::*;
use crate::Receiver;

const RTT_NS: u64 = 1_000_000;

/// Ten segments of a connection that knows its round trip, sent at once at 0.
fn sent() -> Sender {
    let mut sender = Sender::new(Control::Reno, 10, 1000);
    sender.measure(RTT_NS);
    sender.probes = true;
    sender.data_end = 10;
    for number in 0..10 {
        assert_eq!(sender.send(0), Send::Segment(number));
    }
    assert_eq!(sender.send(0), Send::Nothing);
    sender
}

/// Acknowledgements of these segments arrive.
fn arrive(sender: &mut Sender, receiver: &mut Receiver, now_ns: u64, numbers: &[u64]) {
    for number in numbers {
        let ack = receiver.receive(now_ns, *number);
        sender.take(now_ns, &ack.expect("at first each is acknowledged"));
    }
}

#[test]
fn a_lost_tail_is_found_by_one_probe() {
    let (mut sender, mut receiver) = (sent(), Receiver::default());
    arrive(&mut sender, &mut receiver, RTT_NS, &[0, 1, 2, 3, 4, 5, 6]);
    let probes_ns = sender.timeout_ns().unwrap();
    assert_eq!(probes_ns, RTT_NS + 2 * RTT_NS + PROBE_NS);
    sender.time_out(probes_ns);
    assert_eq!(sender.send(probes_ns), Send::Segment(9));
    // The probe says nothing of the window yet, and is the only one.
    assert_eq!(sender.window(), 17);
    assert_eq!(sender.send(probes_ns), Send::Nothing);
    assert!(sender.timeout_ns().unwrap() >= probes_ns + RTO_MIN_NS);
    let now_ns = probes_ns + RTT_NS;
    arrive(&mut sender, &mut receiver, now_ns, &[9]);
    assert_eq!(sender.send(now_ns), Send::Segment(7));
    assert_eq!(sender.send(now_ns), Send::Segment(8));
    assert_eq!(sender.window(), 8);
    arrive(&mut sender, &mut receiver, now_ns + RTT_NS, &[7, 8]);
    assert_eq!(sender.acknowledged(), 10);
}

#[test]
fn a_probe_that_repairs_the_only_loss_reduces_the_window() {
    let (mut sender, mut receiver) = (sent(), Receiver::default());
    arrive(
        &mut sender,
        &mut receiver,
        RTT_NS,
        &[0, 1, 2, 3, 4, 5, 6, 7, 8],
    );
    // A single segment may only be acknowledged late.
    let probes_ns = sender.timeout_ns().unwrap();
    assert!(probes_ns >= RTT_NS + RTO_MIN_NS);
    sender.time_out(probes_ns);
    assert_eq!(sender.send(probes_ns), Send::Segment(9));
    arrive(&mut sender, &mut receiver, probes_ns + RTT_NS, &[9]);
    assert_eq!(sender.window(), 9);
    assert_eq!(sender.probed, None);
}

#[test]
fn without_probes_a_tail_waits_for_the_timeout() {
    let (mut sender, mut receiver) = (sent(), Receiver::default());
    sender.probes = false;
    arrive(&mut sender, &mut receiver, RTT_NS, &[0, 1, 2, 3, 4, 5, 6]);
    assert!(sender.timeout_ns().unwrap() >= RTT_NS + RTO_MIN_NS);
}

#[test]
fn marks_of_a_round_trip_reduce_the_window_once() {
    let (mut sender, mut receiver) = (sent(), Receiver::default());
    for number in [0, 1, 2, 3] {
        receiver.notice_mark(RTT_NS, number < 2);
        arrive(&mut sender, &mut receiver, RTT_NS, &[number]);
    }
    assert_eq!(sender.recovery, Recovery::Reduced(10));
    assert_eq!(sender.window(), 5);
    arrive(&mut sender, &mut receiver, RTT_NS, &[4, 5, 6, 7, 8, 9]);
    assert_eq!(sender.recovery, Recovery::Open);
    assert_eq!(sender.window(), 5);
}
