//! The background yields to more important tasks.

use std::collections::VecDeque;

use proptest::prelude::*;
use takt_algo::{
    Dequeued, Link,
    sys::{
        TAKT_BACKGROUND, TAKT_CPU_IDLE, TAKT_ENTITIES, TAKT_FAST_PATH, TAKT_GATE_POLL_FIRST_NS,
        TAKT_GATE_POLL_NS, takt_arrival, takt_class_params, takt_plan,
    },
};

use super::plan::{self, MBIT};

const NICE_0: u32 = 122;
const NICE_10: u32 = 132;
const NICE_19: u32 = 141;
const POLL_NS: u64 = TAKT_GATE_POLL_NS as u64;
const START_NS: u64 = 1_000_000_000;

fn gated() -> takt_class_params {
    takt_class_params {
        gated: 1,
        ..plan::best_effort(MBIT, TAKT_BACKGROUND as u8)
    }
}

fn arrive(link: &mut Link, plan: &takt_plan, id: u32, task_prio: u32, now_ns: u64) -> Option<u32> {
    let arrival = takt_arrival {
        id,
        bytes: 1500,
        frames: 1,
        task_prio,
        now_ns,
        ..takt_arrival::default()
    };
    link.enqueue_of(plan, arrival)
}

/// The class of the packet that leaves, if one does.
fn leaves(link: &mut Link, plan: &takt_plan, now_ns: u64) -> Option<u32> {
    match link.dequeue(plan, now_ns) {
        Dequeued::Packet { class, .. } => Some(class),
        Dequeued::Wait { .. } | Dequeued::Empty => None,
    }
}

#[test]
fn the_sender_itself_passes() {
    let plan = plan::of(100 * MBIT, &[gated()]);
    let mut link = Link::new();
    link.run_task(NICE_0);
    arrive(&mut link, &plan, 1, NICE_0, START_NS);
    assert_eq!(leaves(&mut link, &plan, START_NS), Some(1));
}

/// Otherwise a burst would precede the next packet of the foreground.
#[test]
fn the_link_does_not_make_up_for_what_was_held() {
    let plan = plan::of(12 * MBIT, &[gated()]);
    let mut link = Link::new();
    link.run_task(NICE_0);
    for _ in 0..8 {
        arrive(&mut link, &plan, 1, NICE_19, START_NS);
    }
    assert_eq!(leaves(&mut link, &plan, START_NS), None);
    // A frame takes one millisecond; the gate is closed for five.
    link.run_task(TAKT_CPU_IDLE);
    let open_ns = START_NS + 5_000_000;
    assert_eq!(leaves(&mut link, &plan, open_ns), Some(1));
    assert_eq!(leaves(&mut link, &plan, open_ns + 990_000), None);
    assert_eq!(leaves(&mut link, &plan, open_ns + 1_000_000), Some(1));
}

#[test]
fn a_packet_without_a_local_sender_passes() {
    let plan = plan::of(100 * MBIT, &[gated()]);
    let mut link = Link::new();
    link.run_task(1);
    arrive(&mut link, &plan, 1, 0, START_NS);
    assert_eq!(leaves(&mut link, &plan, START_NS), Some(1));
}

#[test]
fn a_blocked_packet_leaves_when_the_task_has_stopped() {
    let plan = plan::of(100 * MBIT, &[gated()]);
    let mut link = Link::new();
    link.run_task(NICE_0);
    arrive(&mut link, &plan, 1, NICE_19, START_NS);
    assert_eq!(leaves(&mut link, &plan, START_NS), None);
    // Asked before that on an idle processor.
    link.run_task(TAKT_CPU_IDLE);
    let at_ns = START_NS + POLL_NS / 4;
    assert_eq!(leaves(&mut link, &plan, at_ns), Some(1));
    assert_eq!(link.state().order.blocked.task_ns, POLL_NS / 4);
    assert_eq!(link.dequeue(&plan, at_ns), Dequeued::Empty);
}

#[test]
fn a_blocked_packet_is_looked_at_soon_and_then_ever_later() {
    const FIRST_NS: u64 = TAKT_GATE_POLL_FIRST_NS as u64;
    let plan = plan::of(100 * MBIT, &[gated()]);
    let mut link = Link::new();
    link.run_task(NICE_0);
    arrive(&mut link, &plan, 1, NICE_19, START_NS);
    let mut now_ns = START_NS;
    // A new plan is followed at a pace of its own.
    for _ in 0..TAKT_ENTITIES {
        assert_eq!(leaves(&mut link, &plan, now_ns), None);
        now_ns += POLL_NS;
        if link.state().plan_hand >= TAKT_ENTITIES {
            break;
        }
    }
    link.run_task(TAKT_CPU_IDLE);
    assert_eq!(leaves(&mut link, &plan, now_ns), Some(1));
    now_ns += POLL_NS;
    link.run_task(NICE_0);
    arrive(&mut link, &plan, 1, NICE_19, now_ns);
    let mut waits = Vec::new();
    for _ in 0..8 {
        let Dequeued::Wait { until_ns } = link.dequeue(&plan, now_ns) else {
            panic!("the task runs on");
        };
        waits.push(until_ns - now_ns);
        now_ns = until_ns;
    }
    let doubled = [1, 1, 2, 4, 8, 16].map(|factor| factor * FIRST_NS);
    assert_eq!(waits[..6], doubled);
    assert_eq!(waits[6..], [POLL_NS; 2]);
}

#[test]
fn the_most_important_sender_goes_first() {
    let plan = plan::of(100 * MBIT, &[gated(), gated()]);
    let mut link = Link::new();
    link.run_task(NICE_0);
    arrive(&mut link, &plan, 1, NICE_19, START_NS);
    arrive(&mut link, &plan, 2, NICE_10, START_NS);
    assert_eq!(leaves(&mut link, &plan, START_NS), None);
    link.run_task(NICE_10);
    assert_eq!(leaves(&mut link, &plan, START_NS + 1), Some(2));
    assert_eq!(leaves(&mut link, &plan, START_NS + POLL_NS), None);
}

#[test]
fn a_sender_that_is_made_more_important_is_blocked_no_longer() {
    let plan = plan::of(100 * MBIT, &[gated()]);
    let mut link = Link::new();
    link.run_task(NICE_10);
    arrive(&mut link, &plan, 1, NICE_19, START_NS);
    assert_eq!(leaves(&mut link, &plan, START_NS), None);
    arrive(&mut link, &plan, 1, NICE_0, START_NS + 1);
    assert_eq!(leaves(&mut link, &plan, START_NS + 1), Some(1));
}

#[test]
fn others_take_the_fast_path_while_the_background_is_blocked() {
    let plan = plan::of(100 * MBIT, &[plan::best_effort(MBIT, 6), gated()]);
    let mut link = Link::new();
    link.run_task(NICE_0);
    arrive(&mut link, &plan, 2, NICE_19, START_NS);
    assert_eq!(leaves(&mut link, &plan, START_NS), None);
    let slot = arrive(&mut link, &plan, 1, 0, START_NS + 1);
    assert_eq!(slot, Some(TAKT_FAST_PATH));
    assert_eq!(leaves(&mut link, &plan, START_NS + 1), Some(1));
}

#[test]
fn a_floor_is_served_behind_a_closed_gate() {
    let floor = takt_class_params {
        floor_bps: MBIT,
        ..gated()
    };
    let plan = plan::of(100 * MBIT, &[floor]);
    let mut link = Link::new();
    link.run_task(NICE_0);
    let mut now_ns = START_NS;
    for _ in 0..100 {
        arrive(&mut link, &plan, 1, NICE_19, now_ns);
    }
    let mut sent = 0;
    while now_ns < START_NS + 500_000_000 {
        sent += u64::from(leaves(&mut link, &plan, now_ns).is_some());
        now_ns += 100_000;
    }
    let bits = sent * 1500 * 8;
    assert!((480_000..=520_000).contains(&bits), "{bits}");
}

/// Events on the CPU.
#[derive(Debug, Clone)]
enum Event {
    Runs(u32),
    Arrives { id: u32, task_prio: u32 },
    Asks { after_ns: u64 },
}

fn task() -> impl Strategy<Value = u32> {
    prop_oneof![
        Just(NICE_0),
        Just(NICE_10),
        Just(NICE_19),
        Just(TAKT_CPU_IDLE),
        1..=142u32
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => task().prop_map(Event::Runs),
        4 => (1..=4u32, task()).prop_map(|(id, task_prio)| Event::Arrives { id, task_prio }),
        6 => (0..2_000_000u64).prop_map(|after_ns| Event::Asks { after_ns }),
    ]
}

/// Class 1 in the foreground, 2 and 3 gated, 3 within a tenant, 4 only in the background.
fn all_classes() -> Box<takt_plan> {
    let mut plan = plan::of(
        100 * MBIT,
        &[
            plan::best_effort(MBIT, 6),
            gated(),
            gated(),
            plan::best_effort(MBIT, TAKT_BACKGROUND as u8),
        ],
    );
    plan::tenant(&mut plan, 10, 1, plan::best_effort(MBIT, 6), &[3]);
    plan
}

proptest! {
    /// No class passes a closed gate, no open class is blocked, and nothing is lost or
    /// overtaken.
    #[test]
    fn the_gate_blocks_exactly_closed_classes(events in prop::collection::vec(event(), 1..400)) {
        let plan = all_classes();
        let mut link = Link::new();
        let mut queues = vec![VecDeque::new(); 5];
        let mut senders = [0u32; 5];
        let mut running = TAKT_CPU_IDLE;
        let mut now_ns = START_NS;
        link.run_task(running);
        for event in events {
            match event {
                Event::Runs(task_prio) => {
                    running = task_prio;
                    link.run_task(running);
                }
                Event::Arrives { id, task_prio } => {
                    let slot = arrive(&mut link, &plan, id, task_prio, now_ns);
                    queues[id as usize].push_back(slot.expect("there is room"));
                    senders[id as usize] = task_prio;
                }
                Event::Asks { after_ns } => {
                    now_ns += after_ns;
                    let open = |id: usize| ![2, 3].contains(&id) || running >= senders[id];
                    let waits = |id: usize| !queues[id].is_empty();
                    match link.dequeue(&plan, now_ns) {
                        Dequeued::Packet { slot, class, .. } => {
                            let id = class as usize;
                            // It was released when it arrived.
                            let fast = slot == TAKT_FAST_PATH;
                            prop_assert!(fast || open(id),
                                "{id} under {running} from {}", senders[id]);
                            prop_assert!(fast || id == 1 || !waits(1) || id == 3);
                            prop_assert_eq!(queues[id].pop_front(), Some(slot));
                        }
                        Dequeued::Wait { until_ns } => {
                            prop_assert!((1..5).any(waits));
                            prop_assert!(until_ns >= now_ns);
                            let blocked = (1..5).any(|id| waits(id) && !open(id));
                            prop_assert!(!blocked || until_ns <= now_ns + POLL_NS);
                            // Only the link itself delays classes whose gate is open.
                            let kept = (1..5).any(|id| waits(id) && open(id));
                            prop_assert!(!kept || link.free_ns() > now_ns);
                        }
                        Dequeued::Empty => prop_assert!(!(1..5).any(waits)),
                    }
                }
            }
        }
        link.run_task(TAKT_CPU_IDLE);
        let mut left: usize = queues.iter().map(VecDeque::len).sum();
        while left > 0 {
            now_ns += 1_000_000;
            let left_before = left;
            left -= usize::from(leaves(&mut link, &plan, now_ns).is_some());
            prop_assert!(left < left_before);
        }
        prop_assert_eq!(link.dequeue(&plan, now_ns), Dequeued::Empty);
        prop_assert_eq!(link.state().order.blocked.by_task.count, 0);
        prop_assert_eq!(link.state().order.blocked.backlogged, 0);
    }
}
