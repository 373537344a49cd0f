//! `algo/link.h`: the whole packet scheduler, without packet data.

use crate::{
    plain::zeroed_box,
    stations::{Address, Stations},
    sys::{self, takt_arrival, takt_choice, takt_entity, takt_link, takt_newcomer, takt_plan},
};

/// A link's answer when it is asked for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dequeued {
    /// A packet.
    Packet {
        /// Its packet slot.
        slot: u32,
        /// Its class.
        class: u32,
        /// The bytes that it is charged for.
        bytes: u32,
    },
    /// No packet may leave before then.
    Wait {
        /// When to ask again.
        until_ns: u64,
    },
    /// Nothing is queued.
    Empty,
}

/// A link's state: clocks, queues, counters.
pub struct Link {
    state: Box<takt_link>,
    /// Whether the fast path's slot is taken; in the kernel, its packet tells.
    fast: bool,
}

impl Link {
    /// A link that was just attached.
    pub fn new() -> Self {
        let mut state = zeroed_box();
        // SAFETY: a valid struct; see the crate's documentation.
        unsafe { sys::takt_link_lay_out(&mut *state) }
        Self { state, fast: false }
    }

    /// A packet arrives for a class; returns the slot to keep it in. `None`: drop it.
    pub fn enqueue(
        &mut self,
        plan: &takt_plan,
        class: u32,
        bytes: u32,
        frames: u32,
        now_ns: u64,
    ) -> Option<u32> {
        self.enqueue_behind(plan, class, 0, bytes, frames, now_ns)
    }

    /// The entity of a packet to that station in this class; made if needed, as the qdisc does.
    pub fn station_entity(
        &mut self,
        plan: &takt_plan,
        class: u32,
        to: Address,
        now_ns: u64,
    ) -> u32 {
        let mut newcomer = takt_newcomer {
            to: to.into(),
            ..takt_newcomer::default()
        };
        self.entity_of_newcomer(plan, &mut newcomer, class, now_ns)
    }

    /// The same for a newcomer whose station is known.
    pub(crate) fn entity_of_newcomer(
        &mut self,
        plan: &takt_plan,
        newcomer: &mut takt_newcomer,
        class: u32,
        now_ns: u64,
    ) -> u32 {
        newcomer.class_id = class;
        let state = &mut *self.state;
        // SAFETY: valid structs; see the crate's documentation.
        unsafe {
            let id = sys::takt_station_entity(state, &newcomer.to, class);
            if id != 0 {
                let flow = sys::takt_flow(&mut state.flows, id);
                if sys::takt_station_is_settled(state, flow) != 0
                    && sys::takt_kind_changes(flow, newcomer.key.proto.into()) == 0
                {
                    return id;
                }
            }
            sys::takt_station_newcomer(state, plan, newcomer, id, now_ns)
        }
    }

    /// User space's view of the table of stations.
    pub fn stations(&mut self) -> Stations<'_> {
        Stations::new(&mut self.state.flows.stations)
    }

    /// A packet is about to arrive whose registration changed then. Returns whether packets
    /// from before that may be queued.
    pub fn meet(&mut self, plan: &takt_plan, registered_ns: u64) -> bool {
        // SAFETY: two valid structs; see the crate's documentation.
        unsafe {
            sys::takt_link_observe(&mut *self.state, plan, registered_ns);
            sys::takt_link_unsettled(&*self.state, registered_ns) != 0
        }
    }

    /// As [`Self::enqueue`], for a packet that would have gone to the entity `before` until the
    /// plan or its registration changed; it must not overtake the packets there. `TAKT_PULLS`
    /// may be added.
    pub fn enqueue_behind(
        &mut self,
        plan: &takt_plan,
        class: u32,
        before: u32,
        bytes: u32,
        frames: u32,
        now_ns: u64,
    ) -> Option<u32> {
        self.enqueue_of(
            plan,
            takt_arrival {
                id: class,
                before,
                bytes,
                frames,
                now_ns,
                ..takt_arrival::default()
            },
        )
    }

    /// As [`Self::enqueue`]; fills in whether the link is idle.
    pub fn enqueue_of(&mut self, plan: &takt_plan, mut arrival: takt_arrival) -> Option<u32> {
        arrival.idle = self.is_idle().into();
        // SAFETY: three valid structs; see the crate's documentation.
        let slot = unsafe { sys::takt_link_push(&mut *self.state, plan, &arrival) };
        self.keep(slot)
    }

    /// Only entities that the gate blocks are backlogged, and the fast path's slot is empty.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        !self.fast && self.state.order.node[0].backlogged == 0
    }

    /// The CPU that enqueues and dequeues runs a task of this priority from now on; see
    /// `algo/gate.h`.
    pub fn run_task(&mut self, task_prio: u32) {
        self.state.order.blocked.running = task_prio;
    }

    /// Notes that a packet was given this slot, if it was given one.
    #[inline]
    pub(crate) fn keep(&mut self, slot: u32) -> Option<u32> {
        self.fast |= slot == sys::TAKT_FAST_PATH;
        (slot != 0).then_some(slot)
    }

    /// The device asks for a packet.
    pub fn dequeue(&mut self, plan: &takt_plan, now_ns: u64) -> Dequeued {
        self.dequeue_by(|state, choice| {
            // SAFETY: as above.
            unsafe { sys::takt_link_pop(state, plan, now_ns, choice) }
        })
    }

    /// The packet on the fast path, or the one that `choose` chooses.
    pub(crate) fn dequeue_by(
        &mut self,
        choose: impl FnOnce(&mut takt_link, &mut takt_choice),
    ) -> Dequeued {
        if self.take_fast() {
            return Dequeued::Packet {
                slot: sys::TAKT_FAST_PATH,
                class: self.state.fast_id,
                bytes: self.state.fast_len,
            };
        }
        let mut choice = takt_choice::default();
        choose(&mut self.state, &mut choice);
        assert_eq!(choice.drops, 0, "no plan for this type manages queues");
        match choice {
            takt_choice {
                packet: 0,
                wake_ns: u64::MAX,
                ..
            } => Dequeued::Empty,
            takt_choice {
                packet: 0, wake_ns, ..
            } => Dequeued::Wait { until_ns: wake_ns },
            takt_choice {
                packet, id, len, ..
            } => Dequeued::Packet {
                slot: packet,
                class: id,
                bytes: len,
            },
        }
    }

    /// Whether there was a packet on the fast path; it leaves.
    #[inline]
    pub(crate) fn take_fast(&mut self) -> bool {
        std::mem::take(&mut self.fast)
    }

    /// Drops every packet, as when the device goes down; returns their number.
    pub fn flush(&mut self) -> u32 {
        let queued = self.queued_packets();
        // SAFETY: as above.
        unsafe {
            if self.take_fast() {
                sys::takt_link_flush_fast_path(&mut *self.state);
            }
            while self.state.queued_packets > 0 {
                sys::takt_link_flush(&mut *self.state);
            }
        }
        queued
    }

    /// The one on the fast path included.
    pub fn queued_packets(&self) -> u32 {
        self.state.queued_packets + u32::from(self.fast)
    }

    #[inline]
    pub(crate) fn state_mut(&mut self) -> &mut takt_link {
        &mut self.state
    }

    /// When the wire is free again.
    pub fn free_ns(&self) -> u64 {
        self.state.clock.due_ns
    }

    /// The scheduler's own state.
    pub fn state(&self) -> &takt_link {
        &self.state
    }

    /// A class, tenant, flow or station, with all that is counted of it in its stats.
    pub fn entity(&self, id: u32) -> takt_entity {
        let mut entity = self.state.order.entity[(id & (sys::TAKT_ENTITIES - 1)) as usize];
        // SAFETY: a valid struct.
        unsafe { sys::takt_entity_sum(&mut entity) };
        entity
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}
