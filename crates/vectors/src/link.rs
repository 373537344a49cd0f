//! `algo/link.h`: the whole packet scheduler, step by step.

mod stories;

use serde::{Deserialize, Serialize};
use takt_algo::{
    Address, Stations,
    sys::{
        TAKT_CLASSES, TAKT_ENTITIES, TAKT_NODES, TAKT_STATIONS_MAC, TAKT_STATIONS_NONE,
        takt_class_params, takt_class_stats, takt_entity, takt_entity_sum, takt_link_lay_out,
    },
};

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
    overhead_bytes: i32,
    /// The link has stations, by MAC.
    #[serde(default, skip_serializing_if = "is_false")]
    stations: bool,
    classes: Vec<Class>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    id: u32,
    rate_bps: u64,
    /// Without it, the class's rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ceil_bps: Option<u64>,
    /// Without it, the class's rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weight_bps: Option<u64>,
    #[serde(default, skip_serializing_if = "is_none")]
    floor_bps: u64,
    queue_packets: u16,
    priority: u8,
    /// The class is in the background.
    #[serde(default, skip_serializing_if = "is_false")]
    gated: bool,
    /// The class's tenant.
    #[serde(default, skip_serializing_if = "is_none")]
    node: u8,
    /// Of a tenant: its node.
    #[serde(default, skip_serializing_if = "is_none")]
    heads: u8,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Zero is left out of the file.
fn is_none<T: Copy + Into<u64>>(value: &T) -> bool {
    (*value).into() == 0
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// `idle`: nothing is queued, not even on the fast path.
    Enqueue {
        class: u32,
        /// The class of the packet under the previous plan.
        #[serde(default, skip_serializing_if = "is_none")]
        before: u32,
        bytes: u32,
        frames: u32,
        idle: bool,
        /// The priority of the task that sent it; see algo/gate.h.
        #[serde(default, skip_serializing_if = "is_none")]
        task_prio: u32,
        now_ns: u64,
    },
    /// User space sets a station's weight; see algo/station.h.
    Weigh {
        station: Mac,
        weight_ppm: u32,
        #[serde(default, skip_serializing_if = "is_false")]
        by_hand: bool,
    },
    /// User space forgets the station.
    Forget {
        station: Mac,
    },
    /// User space is alive.
    Beat {
        now_ns: u64,
    },
    /// A packet for this station, in this class: which entity?
    Station {
        class: u32,
        station: Mac,
        now_ns: u64,
    },
    /// The CPU runs a task of this priority from now on.
    Running {
        task_prio: u32,
    },
    Dequeue {
        now_ns: u64,
    },
    /// Take the next class, and drop one of its packets.
    Flush,
    FlushFastPath,
    /// Another policy.
    Replace(Plan),
    Counters {
        class: u32,
    },
}

/// The address; its first byte on the wire is the highest.
type Mac = u64;

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Entity {
        id: u32,
    },
    Kept {
        slot: u32,
    },
    Dropped,
    GivenUp {
        slot: u32,
    },
    /// A packet, and when its class and the wire are free again.
    Packet {
        slot: u32,
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

/// The counters of `struct takt_class_stats`, and the packets still queued.
#[derive(Serialize)]
pub struct Counters {
    enqueued_packets: u64,
    enqueued_bytes: u64,
    sent_packets: u64,
    sent_bytes: u64,
    dropped_packets: u64,
    dropped_bytes: u64,
    managed_packets: u64,
    managed_bytes: u64,
    marked_packets: u64,
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
        "A link: floors that are due go first, then the best priority: what is guaranteed and",
        "due, earliest first, and then what is spare, by weight. Tenants are links within it.",
        "Packet slot 65535 is the fast path: its packet leaves before anything else is asked.",
    ];
    type Setup = Plan;
    type Call = Call;
    type Answer = Answer;

    fn prepare(plan: &Plan, state: &mut State) -> Result<(), Failure> {
        if state.plan.generation == 0 {
            // SAFETY: a valid struct, all zeroes.
            unsafe { takt_link_lay_out(&mut state.link) };
        }
        let tables = &mut state.plan;
        tables.generation += 1;
        tables.link.rate_bps = plan.rate_bps;
        tables.link.lag_max_ns = plan.lag_max_ns;
        tables.framing.overhead_bytes = plan.overhead_bytes;
        tables.stations = if plan.stations {
            TAKT_STATIONS_MAC
        } else {
            TAKT_STATIONS_NONE
        };
        tables.class_params.fill_with(takt_class_params::default);
        tables.tenant.fill(0);
        for class in &plan.classes {
            tables.class_params[index(class.id)] = takt_class_params {
                rate_bps: class.rate_bps,
                ceil_bps: class.ceil_bps.unwrap_or(class.rate_bps),
                weight_bps: class.weight_bps.unwrap_or(class.rate_bps).max(1),
                floor_bps: class.floor_bps,
                queue_packets: class.queue_packets,
                priority: class.priority,
                gated: class.gated.into(),
                node: class.node,
                heads: class.heads,
                ..takt_class_params::default()
            };
            if class.heads > 0 {
                let node = u32::from(class.heads) & (TAKT_NODES - 1);
                tables.tenant[node as usize] = index(class.id) as u16;
            }
        }
        Ok(())
    }

    fn call(call: &Call, machine: &mut dyn Machine) -> Result<Answer, Failure> {
        let mut step = Step::default();
        match *call {
            Call::Enqueue {
                class,
                before,
                bytes,
                frames,
                idle,
                task_prio,
                now_ns,
            } => {
                step = Step {
                    op: sys::TAKT_VECTOR_ENQUEUE,
                    id: class,
                    before,
                    bytes,
                    frames,
                    idle: idle.into(),
                    task_prio,
                    now_ns,
                    ..step
                };
                machine.run(&mut step)?;
                Ok(match step.answer as u32 {
                    0 => Answer::Dropped,
                    slot => Answer::Kept { slot },
                })
            }
            Call::Weigh {
                station,
                weight_ppm,
                by_hand,
            } => {
                let set = stations(machine).set(address(station), weight_ppm, by_hand);
                Ok(set.map_or(Answer::Dropped, |()| Answer::Nothing))
            }
            Call::Forget { station } => {
                stations(machine).forget(address(station), true);
                Ok(Answer::Nothing)
            }
            Call::Beat { now_ns } => {
                stations(machine).beat(now_ns);
                Ok(Answer::Nothing)
            }
            Call::Station {
                class,
                station,
                now_ns,
            } => {
                step.op = sys::TAKT_VECTOR_STATION;
                step.id = class;
                step.mac = station;
                step.now_ns = now_ns;
                machine.run(&mut step)?;
                let id = step.answer as u32;
                Ok(Answer::Entity { id })
            }
            Call::Running { task_prio } => {
                step.op = sys::TAKT_VECTOR_RUNNING;
                step.task_prio = task_prio;
                machine.run(&mut step)?;
                Ok(Answer::Nothing)
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
                Ok(match step.answer as u32 {
                    0 => Answer::Nothing,
                    slot => Answer::GivenUp { slot },
                })
            }
            Call::FlushFastPath => {
                step.op = sys::TAKT_VECTOR_FLUSH_FAST_PATH;
                machine.run(&mut step)?;
                Ok(Answer::Nothing)
            }
            Call::Replace(ref plan) => {
                Self::prepare(plan, machine.state())?;
                Ok(Answer::Replaced)
            }
            Call::Counters { class } => {
                Ok(Answer::Counters(counters(*entity(machine.state(), class))))
            }
        }
    }

    fn record() -> Result<Vec<Vector<Self>>, Failure> {
        stories::all()
    }
}

fn stations(machine: &mut dyn Machine) -> Stations<'_> {
    Stations::new(&mut machine.state().link.flows.stations)
}

fn address(mac: Mac) -> Address {
    let [_, _, mac @ ..] = mac.to_be_bytes();
    Address::Mac(mac)
}

fn index(class: u32) -> usize {
    (class & (TAKT_CLASSES - 1)) as usize
}

fn entity(state: &State, id: u32) -> &takt_entity {
    &state.link.order.entity[(id & (TAKT_ENTITIES - 1)) as usize]
}

fn choice(state: &State) -> Answer {
    let choice = &state.choice;
    match (choice.packet, choice.wake_ns) {
        (0, u64::MAX) => Answer::Nothing,
        (0, until_ns) => Answer::Wait { until_ns },
        (slot, _) => Answer::Packet {
            slot,
            class: choice.id,
            bytes: choice.len,
            class_due_ns: entity(state, choice.id).pace.due_ns,
            wire_due_ns: state.link.clock.due_ns,
        },
    }
}

fn counters(mut class: takt_entity) -> Counters {
    // SAFETY: a valid struct.
    unsafe { takt_entity_sum(&mut class) };
    let takt_class_stats {
        enqueued_packets,
        enqueued_bytes,
        sent_packets,
        sent_bytes,
        dropped_packets,
        dropped_bytes,
        managed_packets,
        managed_bytes,
        marked_packets,
        flushed_packets,
        flushed_bytes,
        late_max_ns,
        gso_packets,
        // Plans of vectors have no bursts, and packets no headers, so none is thinned.
        long_packets: _,
        thinned_packets: _,
        thinned_bytes: _,
    } = class.stats;
    Counters {
        enqueued_packets,
        enqueued_bytes,
        sent_packets,
        sent_bytes,
        dropped_packets,
        dropped_bytes,
        managed_packets,
        managed_bytes,
        marked_packets,
        flushed_packets,
        flushed_bytes,
        queued_packets: class.queue.packets,
        queued_bytes: class.queue.bytes,
        gso_packets,
        late_max_ns,
    }
}
