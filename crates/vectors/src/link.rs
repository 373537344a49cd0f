//! `algo/link.h`: the whole packet scheduler, step by step.

mod stories;

use serde::{Deserialize, Serialize};
use takt_algo::sys::{TAKT_CLASSES, takt_class, takt_class_params, takt_class_stats};

use crate::{
    Failure,
    concept::{Concept, Vector},
    machine::{Machine, State, Step},
    sys,
};

pub enum Link {}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    rate_bps: u64,
    lag_max_ns: u64,
    overhead_bytes: u32,
    classes: Vec<Class>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    id: u32,
    rate_bps: u64,
    queue_packets: u32,
    priority: u8,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// `idle`: nothing is queued, not even in the express place.
    Enqueue {
        class: u32,
        bytes: u32,
        frames: u32,
        idle: bool,
        now_ns: u64,
    },
    Dequeue {
        now_ns: u64,
    },
    /// Give up one packet.
    Flush,
    FlushExpress,
    /// Another policy.
    Replace(Plan),
    Counters {
        class: u32,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Kept {
        place: u32,
    },
    Dropped,
    /// A packet, and when its class and the wire are free again.
    Packet {
        place: u32,
        class: u32,
        bytes: u32,
        class_due_ns: u64,
        wire_due_ns: u64,
    },
    Wait {
        until_ns: u64,
    },
    Nothing,
    Replaced,
    Counters(Counters),
}

/// Those of `struct takt_class_stats`, and what is still queued.
#[derive(Serialize)]
pub struct Counters {
    enqueued_packets: u64,
    enqueued_bytes: u64,
    sent_packets: u64,
    sent_bytes: u64,
    dropped_packets: u64,
    dropped_bytes: u64,
    flushed_packets: u64,
    flushed_bytes: u64,
    queued_packets: u32,
    queued_bytes: u64,
    gso_packets: u64,
    late_max_ns: u64,
}

impl Concept for Link {
    const FILE: &'static str = "link.json";
    const ABOUT: &'static [&'static str] = &[
        "A link: of the classes that are due the best priority goes first, then the earliest.",
        "Place 65535 is the express place: its packet leaves before anything else is asked.",
    ];
    type Setup = Plan;
    type Call = Call;
    type Answer = Answer;

    fn prepare(plan: &Plan, state: &mut State) -> Result<(), Failure> {
        let tables = &mut state.plan;
        tables.link.rate_bps = plan.rate_bps;
        tables.link.lag_max_ns = plan.lag_max_ns;
        tables.overhead_bytes = plan.overhead_bytes;
        tables.class_params.fill_with(takt_class_params::default);
        for class in &plan.classes {
            tables.class_params[index(class.id)] = takt_class_params {
                rate_bps: class.rate_bps,
                ceil_bps: class.rate_bps,
                weight_bps: class.rate_bps.max(1),
                queue_packets: class.queue_packets,
                priority: class.priority,
                ..takt_class_params::default()
            };
        }
        Ok(())
    }

    fn call(call: &Call, machine: &mut dyn Machine) -> Result<Answer, Failure> {
        let mut step = Step::default();
        match *call {
            Call::Enqueue {
                class,
                bytes,
                frames,
                idle,
                now_ns,
            } => {
                step = Step {
                    op: sys::TAKT_VECTOR_ENQUEUE,
                    id: class,
                    bytes,
                    frames,
                    idle: idle.into(),
                    now_ns,
                    ..step
                };
                machine.run(&mut step)?;
                Ok(match step.answer as u32 {
                    0 => Answer::Dropped,
                    place => Answer::Kept { place },
                })
            }
            Call::Dequeue { now_ns } => {
                step.op = sys::TAKT_VECTOR_DEQUEUE;
                step.now_ns = now_ns;
                machine.run(&mut step)?;
                Ok(choice(machine.state()))
            }
            Call::Flush => {
                step.op = sys::TAKT_VECTOR_FLUSH;
                machine.run(&mut step)?;
                Ok(choice(machine.state()))
            }
            Call::FlushExpress => {
                step.op = sys::TAKT_VECTOR_FLUSH_EXPRESS;
                machine.run(&mut step)?;
                Ok(Answer::Nothing)
            }
            Call::Replace(ref plan) => {
                Self::prepare(plan, machine.state())?;
                Ok(Answer::Replaced)
            }
            Call::Counters { class } => Ok(Answer::Counters(counters(
                &machine.state().link.classes[index(class)],
            ))),
        }
    }

    fn record() -> Result<Vec<Vector<Self>>, Failure> {
        stories::all()
    }
}

fn index(class: u32) -> usize {
    (class & (TAKT_CLASSES - 1)) as usize
}

fn choice(state: &State) -> Answer {
    let choice = &state.choice;
    match (choice.packet, choice.wake_ns) {
        (0, u64::MAX) => Answer::Nothing,
        (0, until_ns) => Answer::Wait { until_ns },
        (place, _) => Answer::Packet {
            place,
            class: choice.class_id,
            bytes: choice.len,
            class_due_ns: state.link.classes[index(choice.class_id)].clock.due_ns,
            wire_due_ns: state.link.clock.due_ns,
        },
    }
}

fn counters(class: &takt_class) -> Counters {
    let takt_class_stats {
        enqueued_packets,
        enqueued_bytes,
        sent_packets,
        sent_bytes,
        dropped_packets,
        dropped_bytes,
        flushed_packets,
        flushed_bytes,
        late_max_ns,
        gso_packets,
    } = class.stats;
    Counters {
        enqueued_packets,
        enqueued_bytes,
        sent_packets,
        sent_bytes,
        dropped_packets,
        dropped_bytes,
        flushed_packets,
        flushed_bytes,
        queued_packets: class.queued_packets,
        queued_bytes: class.queued_bytes,
        gso_packets,
        late_max_ns,
    }
}
