//! Any traffic, any plans: every answer and every counter equals the model's. The model never
//! lets a packet go early, always serves a due class, and keeps each class's packets in order.
//! So does the link if it equals the model.

use proptest::prelude::*;
use takt_algo::{
    Dequeued, Link,
    sys::{takt_class_params, takt_plan},
};

use super::{model, plan};

const CLASSES: u32 = 12;

#[derive(Debug, Clone)]
enum Step {
    Enqueue {
        id: u32,
        bytes: u32,
        frames: u32,
    },
    Dequeue {
        times: u32,
    },
    /// The watchdog fires this late.
    Wake {
        late_ns: u64,
    },
    Pass {
        ns: u64,
    },
    Replace(Policy),
    Flush,
}

#[derive(Debug, Clone)]
struct Policy {
    rate_bps: u64,
    lag_max_ns: u64,
    overhead_bytes: i32,
    classes: Vec<(u64, u16, u8)>,
}

impl Policy {
    fn plan(&self, generation: u64) -> Box<takt_plan> {
        let mut plan = plan::link(self.rate_bps);
        plan.link.lag_max_ns = self.lag_max_ns;
        plan.framing.overhead_bytes = self.overhead_bytes;
        for (params, class) in plan.class_params[1..].iter_mut().zip(&self.classes) {
            let (rate_bps, queue_packets, priority) = *class;
            *params = takt_class_params {
                queue_packets,
                ..plan::class(rate_bps, priority)
            };
        }
        plan.generation = generation;
        plan
    }
}

fn policy() -> impl Strategy<Value = Policy> {
    // Slow enough for far moments, fast enough for crowded ones.
    let class = (
        prop_oneof![1_000..100_000u64, 1_000_000..400_000_000_000u64],
        prop_oneof![1 => Just(0u16), 4 => 1..8u16, 2 => Just(1000)],
        0..8u8,
    );
    (
        1_000_000..400_000_000_000u64,
        100_000..1_000_000_000u64,
        0..30i32,
        prop::collection::vec(class, CLASSES as usize),
    )
        .prop_map(|(rate_bps, lag_max_ns, overhead_bytes, classes)| Policy {
            rate_bps,
            lag_max_ns,
            overhead_bytes,
            classes,
        })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (1..=CLASSES, 60..9000u32, prop_oneof![5 => Just(1u32), 1 => 2..44u32])
            .prop_map(|(id, bytes, frames)| Step::Enqueue { id, bytes: bytes * frames, frames }),
        6 => (1..4u32).prop_map(|times| Step::Dequeue { times }),
        6 => prop_oneof![2 => Just(0u64), 2 => 0..20_000_000u64]
            .prop_map(|late_ns| Step::Wake { late_ns }),
        3 => prop_oneof![0..1_000_000u64, 0..10_000_000_000u64].prop_map(|ns| Step::Pass { ns }),
        1 => policy().prop_map(Step::Replace),
        1 => Just(Step::Flush),
    ]
}

/// Asks again for as long as the link says "now": it moves a few dozen far classes at a time.
fn dequeue(link: &mut Link, plan: &takt_plan, now_ns: u64) -> Dequeued {
    loop {
        match link.dequeue(plan, now_ns) {
            Dequeued::Wait { until_ns } if until_ns <= now_ns => {}
            answer => return answer,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_answer_is_the_models(
        start_ns in 0..1u64 << 61,
        first in policy(),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut now_ns = start_ns;
        let mut plan = first.plan(1);
        let mut link = Link::new();
        let mut model = model::Link::new(CLASSES as usize + 1);
        for step in steps {
            match step {
                Step::Enqueue { id, bytes, frames } => {
                    let slot = link.enqueue(&plan, id, bytes, frames, now_ns);
                    model.enqueue(&plan, &link, id, bytes, frames, now_ns, slot);
                }
                Step::Dequeue { times } => {
                    for _ in 0..times {
                        model.replace(&plan, &link, now_ns);
                        let answer = dequeue(&mut link, &plan, now_ns);
                        model.dequeue(&plan, &link, now_ns, answer);
                    }
                }
                Step::Wake { late_ns } => {
                    model.replace(&plan, &link, now_ns);
                    let answer = dequeue(&mut link, &plan, now_ns);
                    model.dequeue(&plan, &link, now_ns, answer);
                    if let Dequeued::Wait { until_ns } = answer {
                        now_ns = until_ns + late_ns;
                        let answer = dequeue(&mut link, &plan, now_ns);
                        model.dequeue(&plan, &link, now_ns, answer);
                    }
                }
                Step::Pass { ns } => now_ns += ns,
                Step::Replace(policy) => plan = policy.plan(plan.generation + 1),
                Step::Flush => {
                    prop_assert_eq!(link.flush(), model.queued_packets());
                    model.flush();
                }
            }
            model.check(&link);
        }
    }
}

/// A class that has left the policy accepts no packets and sends all it has.
#[test]
fn a_class_that_left_drains() {
    let mut plan = plan::equals(1_000_000_000, &[1_000_000]);
    let mut link = Link::new();
    for _ in 0..10 {
        assert!(link.enqueue(&plan, 1, 1500, 1, 0).is_some());
    }
    plan.class_params[1] = takt_class_params {
        queue_packets: 0,
        ..plan::class(1_000_000_000, 6)
    };
    assert_eq!(link.enqueue(&plan, 1, 1500, 1, 0), None);
    let (mut now_ns, mut left) = (0, 0);
    loop {
        match link.dequeue(&plan, now_ns) {
            Dequeued::Packet { .. } => left += 1,
            Dequeued::Wait { until_ns } => now_ns = until_ns,
            Dequeued::Empty => break,
        }
    }
    assert_eq!(left, 10);
    assert_eq!(
        link.enqueue(&plan, 1, 1500, 1, now_ns + 1_000_000_000),
        None
    );
    assert_eq!(link.entity(1).stats.dropped_packets, 2);
}
