//! A link without a rate: the device asks whenever it has room, and guarantees follow what it takes.

use takt_algo::{
    Dequeued, Link,
    sys::{TAKT_RATE_MAX_BPS, takt_class_params, takt_plan},
    zeroed_box,
};

const MBIT: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;
const FRAME: u32 = 1500;

/// Classes 1 and 2 are guaranteed so much each, and class 3 has the rest.
fn plan(guaranteed_bps: [u64; 2]) -> Box<takt_plan> {
    let mut plan = zeroed_box::<takt_plan>();
    plan.generation = 1;
    plan.by_device = 1;
    plan.link.rate_bps = TAKT_RATE_MAX_BPS;
    plan.link.lag_max_ns = 10_000_000;
    for (class, rate_bps) in (1..).zip(guaranteed_bps) {
        plan.class_params[class] = takt_class_params {
            rate_bps,
            ceil_bps: 100 * MBIT,
            weight_bps: MBIT,
            queue_packets: 1000,
            priority: 3,
            ..takt_class_params::default()
        };
    }
    plan.class_params[3] = takt_class_params {
        weight_bps: MBIT,
        queue_packets: 1000,
        priority: 7,
        ..takt_class_params::default()
    };
    plan
}

/// What each class sends in five seconds, in Mbit/s, on a wire of this rate whose device holds one
/// frame. All always have more to send.
fn shares(guaranteed_bps: [u64; 2], wire_bps: u64) -> [f64; 3] {
    let plan = plan(guaranteed_bps);
    let mut link = Link::new();
    let mut now_ns = NS_PER_S;
    let frame_ns = u64::from(FRAME) * 8 * NS_PER_S / wire_bps;
    let mut sent = [0_u64; 3];
    for _ in 0..50 {
        for id in 1..=3 {
            link.enqueue(&plan, id, FRAME, 1, now_ns);
        }
    }
    while now_ns < 6 * NS_PER_S {
        let class = match link.dequeue(&plan, now_ns) {
            Dequeued::Packet { class, .. } => class,
            // It has moved entries, and wants to be asked again at once.
            Dequeued::Wait { until_ns } if until_ns <= now_ns => continue,
            other => panic!("the device asks, packets are queued: {other:?}"),
        };
        sent[class as usize - 1] += 1;
        link.enqueue(&plan, class, FRAME, 1, now_ns);
        now_ns += frame_ns;
    }
    sent.map(|frames| (frames * u64::from(FRAME) * 8) as f64 / 5e6)
}

fn assert_near(shares: [f64; 3], wanted: [f64; 3]) {
    let is_near = |(got, wanted): (f64, f64)| (got - wanted).abs() <= 0.03 * wanted.max(1.0);
    assert!(
        shares.into_iter().zip(wanted).all(is_near),
        "{shares:?}, not {wanted:?}"
    );
}

#[test]
fn guarantees_are_kept_at_any_rate_of_the_wire() {
    let two_to_one = [2 * MBIT, MBIT];
    // What is beyond them goes to the better priority, by weight.
    assert_near(shares(two_to_one, 3_100_000), [2.05, 1.05, 0.0]);
    assert_near(shares(two_to_one, 10 * MBIT), [5.5, 4.5, 0.0]);
}

#[test]
fn guarantees_shrink_in_proportion_on_a_slower_wire() {
    assert_near(shares([8 * MBIT, 2 * MBIT], 5 * MBIT), [4.0, 1.0, 0.0]);
    assert_near(shares([8 * MBIT, 2 * MBIT], MBIT), [0.8, 0.2, 0.0]);
}

/// Ceilings hold as ever: the device asks, and there is nothing for it.
#[test]
fn a_ceiling_is_waited_for() {
    let mut plan = plan([MBIT, MBIT]);
    plan.class_params[1].ceil_bps = MBIT;
    let mut link = Link::new();
    for _ in 0..20 {
        link.enqueue(&plan, 1, FRAME, 1, NS_PER_S);
    }
    let (mut now_ns, mut sent) = (NS_PER_S, 0);
    while sent < 20 {
        match link.dequeue(&plan, now_ns) {
            Dequeued::Packet { .. } => sent += 1,
            Dequeued::Wait { until_ns } => now_ns = now_ns.max(until_ns),
            Dequeued::Empty => panic!("{sent} of 20 were sent"),
        }
    }
    let frame_ns = u64::from(FRAME) * 8_000;
    assert!(
        now_ns.abs_diff(NS_PER_S + 19 * frame_ns) < frame_ns / 100,
        "{now_ns}"
    );
}
