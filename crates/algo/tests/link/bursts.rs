//! Bursts of a station: frames of one go one after another, in the bounds of bytes and time, and
//! shares, priorities and newcomers are what they are without.

use proptest::prelude::*;
use takt_algo::{
    Dequeued,
    sys::{self, takt_plan},
};

use super::{
    plan,
    stations::{Air, FRAME_MAX, LINK_BPS, WHOLE, air, sizes, station, weights},
};

/// What the link carries in a burst's time.
const TIME_BYTES: u64 = LINK_BPS * sys::TAKT_BURST_NS as u64 / 8_000_000_000;

fn with_bursts(mut plan: Box<takt_plan>, bytes: u32) -> Box<takt_plan> {
    plan.station_burst_bytes = bytes;
    plan
}

/// Lengths of the runs of one sender, in frames, without the first and the last.
fn runs(air: &mut Air, frames: usize) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for _ in 0..frames {
        let index = air.step().expect("work conserving");
        match runs.last_mut() {
            Some((last, length)) if *last == index => *length += 1,
            _ => runs.push((index, 1)),
        }
    }
    runs[1..runs.len() - 1].to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn shares_are_a_fluids_to_within_a_burst(
        weights_ppm in weights(2..24), sizes in sizes(), burst_bytes in 1..40_000u32,
        class_weights in prop::collection::vec(1_000_000..5_000_000u64, 1..4),
    ) {
        let classes = class_weights.len() as u32;
        let plan = with_bursts(air(&class_weights), 0);
        let mut air = Air::busy(plan, classes, &weights_ppm, sizes);
        air.plan.station_burst_bytes = burst_bytes;
        for sender in &mut air.senders {
            sender.sent_bytes = 0.0;
        }
        let share = |id: u32| air.link.entity(id).share.due_ns;
        let begun: Vec<_> = air.senders.iter().map(|sender| share(sender.id)).collect();
        prop_assume!(begun.iter().all(|tag| *tag == begun[0]));
        for _ in 0..2_000 {
            prop_assert!(air.step().is_some(), "work conserving");
            air.assert_fluid();
        }
    }

    #[test]
    fn no_change_of_weight_gives_more_than_a_burst(
        first in weights(2..40), sizes in sizes(), burst_bytes in 1..40_000u32,
        changes in prop::collection::vec(
            (0..40usize, prop_oneof![1 => Just(0u32), 3 => 1..=WHOLE, 1 => Just(WHOLE)], 0..20usize),
            1..200,
        ),
    ) {
        let plan = with_bursts(air(&[1_000_000, 3_000_000]), burst_bytes);
        let mut air = Air::busy(plan, 2, &first, sizes);
        for (count, (n, weight_ppm, steps)) in changes.iter().enumerate() {
            air.set(n % first.len(), *weight_ppm);
            for _ in 0..*steps {
                let all_are_throttled = air.step().is_none();
                if all_are_throttled {
                    let throttled = |id: u32| air.link.entity(id).throttled != 0;
                    prop_assert!(air.senders.iter().all(|s| throttled(s.id)), "work conserving");
                    break;
                }
            }
            air.assert_worth(count);
        }
    }
}

#[test]
fn frames_of_a_station_go_one_after_another() {
    let plan = with_bursts(air(&[1_000_000]), 4 * FRAME_MAX);
    let mut air = Air::busy(plan, 1, &[WHOLE; 5], vec![FRAME_MAX]);
    for (_, length) in runs(&mut air, 1000) {
        assert_eq!(length, 4);
    }
}

#[test]
fn a_burst_is_as_long_as_the_weight() {
    let plan = with_bursts(air(&[1_000_000]), 4 * FRAME_MAX);
    let mut air = Air::busy(plan, 1, &[WHOLE, WHOLE, 500_000, 250_000], vec![FRAME_MAX]);
    for (index, length) in runs(&mut air, 1000) {
        assert_eq!(length, [4, 4, 2, 1][index]);
    }
}

#[test]
fn a_burst_is_bounded_in_time() {
    let plan = with_bursts(air(&[1_000_000]), 1_000_000);
    let mut air = Air::busy(plan, 1, &[WHOLE; 3], vec![FRAME_MAX]);
    // Its time counts from its second frame on.
    let most = TIME_BYTES.div_ceil(FRAME_MAX.into()) as usize + 1;
    for (_, length) in runs(&mut air, 1000) {
        assert!((most - 1..=most).contains(&length), "{length} {most}");
    }
}

#[test]
fn what_is_of_a_better_priority_goes_within_a_burst() {
    let mut plan = with_bursts(air(&[1_000_000, 1_000_000, 1_000_000]), 8 * FRAME_MAX);
    // By its share, and by a guarantee.
    plan.class_params[2].priority = 1;
    plan.class_params[3] = plan::class(plan::MBIT, 2);
    for class in [2, 3] {
        let mut air = Air::busy(plan.clone(), 1, &[WHOLE; 4], vec![FRAME_MAX]);
        for at in 0..200 {
            // The shortest packet of a station, of the one in the burst or not, in any phase of it.
            let id = air
                .link
                .station_entity(&air.plan, class, station(at % 4), air.now_ns);
            air.link.enqueue(&air.plan, id, 64, 1, air.now_ns);
            loop {
                match air.link.dequeue(&air.plan, air.now_ns) {
                    Dequeued::Packet { class, .. } => {
                        assert_eq!(class, id, "nothing goes before it");
                        break;
                    }
                    Dequeued::Wait { until_ns } => air.now_ns = until_ns,
                    Dequeued::Empty => panic!("it waits"),
                }
            }
            for _ in 0..at % 11 {
                air.step();
            }
        }
    }
}

#[test]
fn a_newcomer_waits_for_no_more_than_the_burst() {
    let plan = with_bursts(air(&[1_000_000]), 4 * FRAME_MAX);
    let mut air = Air::busy(plan, 1, &[WHOLE; 6], vec![FRAME_MAX]);
    // Virtual time begins at 0, which nothing is before.
    for _ in 0..30 {
        air.step();
    }
    for at in 0..100 {
        for _ in 0..at % 9 {
            air.step();
        }
        let newcomer = 100 + at;
        air.set(newcomer, WHOLE);
        let id = air
            .link
            .station_entity(&air.plan, 1, station(newcomer), air.now_ns);
        air.link.enqueue(&air.plan, id, 64, 1, air.now_ns);
        let mut before = 0;
        loop {
            match air.link.dequeue(&air.plan, air.now_ns) {
                Dequeued::Packet { class, .. } if class == id => break,
                Dequeued::Packet { class, .. } => {
                    let index = air.senders.iter().position(|sender| sender.id == class);
                    let sender = &air.senders[index.expect("a sender's")];
                    let (station, class) = (sender.station, sender.class);
                    air.arrive(station, class);
                    before += 1;
                }
                Dequeued::Wait { until_ns } => air.now_ns = until_ns,
                Dequeued::Empty => panic!("it waits"),
            }
        }
        assert!(before <= 4, "{before}");
    }
}

/// Two tenants with weights of 1 and 3, each with two stations: a station's burst is its tenant's.
#[test]
fn bursts_go_through_tenants() {
    let mut plan = with_bursts(air(&[1_000_000; 2]), 4 * FRAME_MAX);
    plan::tenant(&mut plan, 11, 1, plan::best_effort(plan::MBIT, 6), &[1]);
    plan::tenant(&mut plan, 12, 2, plan::best_effort(3 * plan::MBIT, 6), &[2]);
    let mut air = Air::busy(plan, 2, &[WHOLE; 2], vec![FRAME_MAX]);
    let runs = runs(&mut air, 4000);
    assert!(runs.iter().all(|(_, length)| *length == 4), "{runs:?}");
    let sent = |class: u32| -> usize {
        let of = runs
            .iter()
            .filter(|(index, _)| air.senders[*index].class == class);
        of.map(|(_, length)| length).sum()
    };
    let (light, heavy) = (sent(1), sent(2));
    assert!(heavy.abs_diff(3 * light) <= 3 * 8, "{light} {heavy}");
}

/// A frame of a better priority is followed by the rest that its station has, for one transmission.
#[test]
fn what_else_its_station_has_follows_an_urgent_frame() {
    let mut plan = with_bursts(air(&[1_000_000, 1_000_000]), 4 * FRAME_MAX);
    plan.class_params[2].priority = 1;
    let mut air = Air::busy(plan, 1, &[WHOLE; 4], vec![FRAME_MAX]);
    let mut followed = 0;
    for at in 0..100 {
        for _ in 0..at % 11 {
            air.step();
        }
        let id = air
            .link
            .station_entity(&air.plan, 2, station(at % 4), air.now_ns);
        air.link.enqueue(&air.plan, id, 64, 1, air.now_ns);
        while let Dequeued::Wait { until_ns } = air.link.dequeue(&air.plan, air.now_ns) {
            air.now_ns = until_ns;
        }
        let next = air.step().expect("work conserving");
        followed += usize::from(air.senders[next].station == at % 4);
    }
    // Not if it had its burst already.
    assert!(followed > 60, "{followed}");
}
