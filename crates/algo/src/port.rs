//! A link as its qdisc drives it: what `bpf/link/link.bpf.c` and `bpf/link/arrival.h` do around
//! `algo/link.h`, without a kernel.

use crate::{
    Link, Stations,
    stock::Stock,
    sys::{self, takt_arrival, takt_choice, takt_key, takt_newcomer, takt_plan},
};

/// Whose packets these are.
#[derive(Clone, Copy)]
pub struct Sender<'a> {
    /// What their headers say.
    pub key: &'a takt_key,
    /// The number of their connected socket; 0: they are forwarded, or of an unconnected one.
    pub socket: u64,
}

/// A port's answer when the device asks for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulled {
    /// A packet.
    Packet {
        /// Its packet slot.
        slot: u32,
        /// Its class, or its flow in a class that tells flows apart.
        entity: u32,
        /// The next packet of its flow is to be marked (`algo/ecn.h`).
        marks: bool,
        /// It could go since then: its clocks were due. In nanoseconds.
        eligible_ns: u64,
    },
    /// A gap frame (`algo/gap.h`).
    Gap {
        /// Its bytes on the wire.
        wire_bytes: u32,
    },
    /// The packet in this slot is dropped, as its queue stands (`algo/codel.h`). Ask again at once.
    Dropped {
        /// Its packet slot.
        slot: u32,
    },
    /// No packet may leave before then.
    Wait {
        /// When to ask again.
        until_ns: u64,
    },
    /// Nothing is queued.
    Empty,
}

/// A link and what its qdisc adds: the entity of each packet, and the packet on the fast path.
#[derive(Default)]
pub struct Port {
    link: Link,
    /// When the packet on the fast path arrived.
    fast_ns: u64,
    /// Of a link that fills idle time.
    stock: Option<Stock>,
}

impl Port {
    /// A port that was just attached. In gap mode a helper keeps every length of gap frames, up to
    /// `longest` bytes as the kernel counts, in stock.
    pub fn new(plan: &takt_plan, longest: u32) -> Self {
        let fills = plan.pacing != sys::TAKT_PACING_TIMER;
        Self {
            stock: fills.then(|| Stock::new(plan, longest)),
            ..Self::default()
        }
    }

    /// The class of packets with this key, by the policy's rules.
    pub fn class_by_headers(plan: &takt_plan, key: &takt_key) -> u32 {
        // SAFETY: valid structs; see the crate's documentation.
        unsafe { sys::takt_classify(&plan.rules, key) }
    }

    /// The CPU that enqueues and dequeues runs a task of this priority from now on; see
    /// `algo/gate.h`.
    pub fn run_task(&mut self, task_prio: u32) {
        self.link.run_task(task_prio);
    }

    /// The entity of a packet of this sender: its class, or its flow's in a class that tells flows
    /// apart, or its station's. As `entity_of` in `bpf/link/arrival.h`.
    #[inline]
    pub fn entity_of(&mut self, plan: &takt_plan, sender: Sender, now_ns: u64) -> u32 {
        let caches = sender.socket != 0 && plan.sticky != 0;
        let link = self.link.state_mut();
        // SAFETY: valid structs; see the crate's documentation.
        let generation = unsafe {
            sys::takt_link_observe(link, plan, 0);
            link.generation
        };
        let (connections, flows) = (&mut link.connections, &mut link.flows);
        if caches {
            // SAFETY: as above.
            let id =
                unsafe { sys::takt_connection_find(connections, flows, sender.socket, generation) };
            if id != 0 {
                return id;
            }
        }
        let mut id = self.entity_by_headers(plan, sender, now_ns);
        if plan.stations != 0 {
            id = self.entity_of_station(plan, sender.key, id, now_ns);
        }
        if caches {
            let connections = &mut self.link.state_mut().connections;
            // SAFETY: as above.
            unsafe { sys::takt_connection_note(connections, sender.socket, generation, id) };
        }
        id
    }

    /// As `station_of` in `bpf/link/arrival.h`.
    fn entity_of_station(
        &mut self,
        plan: &takt_plan,
        key: &takt_key,
        class_id: u32,
        now_ns: u64,
    ) -> u32 {
        let mut newcomer = takt_newcomer {
            key: *key,
            ..takt_newcomer::default()
        };
        // SAFETY: valid structs; see the crate's documentation.
        let is_one = unsafe {
            sys::takt_address_ip(&mut newcomer.to, key);
            sys::takt_address_is(&newcomer.to) != 0
        };
        if is_one {
            self.link
                .entity_of_newcomer(plan, &mut newcomer, class_id, now_ns)
        } else {
            class_id
        }
    }

    /// As `takt_link_flow` in `bpf/link/arrival.h`.
    fn entity_by_headers(&mut self, plan: &takt_plan, sender: Sender, now_ns: u64) -> u32 {
        let class_id = Self::class_by_headers(plan, sender.key);
        let link = self.link.state_mut();
        // SAFETY: valid structs; see the crate's documentation.
        unsafe {
            let class = &plan.class_params[(class_id & (sys::TAKT_CLASSES - 1)) as usize];
            let per_flow = u32::from(class.per_flow);
            if per_flow == sys::TAKT_PER_FLOW_NOTHING {
                return class_id;
            }
            let mut identity = match sender.socket {
                0 => sys::takt_flow_identity(sender.key, link.secret),
                socket => socket,
            };
            if per_flow == sys::TAKT_PER_FLOW_QUEUE {
                identity = sys::takt_flow_in_class(identity, class_id);
            }
            let id = sys::takt_flow_find(&mut link.flows, identity);
            if id != 0 && sys::takt_flow(&mut link.flows, id).read().generation == link.generation {
                return id;
            }
            let newcomer = takt_newcomer {
                identity,
                connection: sender.socket,
                generation: link.generation,
                key: *sender.key,
                host: sys::takt_host_of(plan, sender.key, link.secret),
                ..takt_newcomer::default()
            };
            self.new_flow(plan, &newcomer, id, class_id, now_ns)
        }
    }

    /// As `takt_link_new_flow` in `bpf/link/arrival.h`; no socket closes.
    fn new_flow(
        &mut self,
        plan: &takt_plan,
        newcomer: &takt_newcomer,
        id: u32,
        class_id: u32,
        now_ns: u64,
    ) -> u32 {
        let link = self.link.state_mut();
        // SAFETY: valid structs; see the crate's documentation.
        unsafe {
            if id != 0 {
                sys::takt_link_follow(link, plan, id, class_id, now_ns);
                (*sys::takt_flow(&mut link.flows, id)).host = newcomer.host;
                return id;
            }
            let (flows, order) = (&mut link.flows, &mut link.order);
            for _ in 0..sys::takt_flow_checks(flows) {
                sys::takt_flow_reclaim(flows, order, 0, now_ns);
            }
            match sys::takt_flow_add(flows, order, newcomer, class_id, now_ns) {
                0 => {
                    flows.no_room += 1;
                    class_id
                }
                id => id,
            }
        }
    }

    /// A packet arrives; returns the slot to keep it in. `None`: drop it. Fills in whether the
    /// link is idle.
    #[inline]
    pub fn push(&mut self, plan: &takt_plan, mut arrival: takt_arrival) -> Option<u32> {
        let now_ns = arrival.now_ns;
        arrival.idle = self.link.is_idle().into();
        if let Some(stock) = &self.stock {
            stock.arrival(self.link.state_mut(), plan, &mut arrival);
        }
        // SAFETY: valid structs; see the crate's documentation.
        let slot = unsafe { sys::takt_link_push(self.link.state_mut(), plan, &arrival) };
        let slot = self.link.keep(slot);
        if slot == Some(sys::TAKT_FAST_PATH) {
            self.fast_ns = now_ns;
        }
        slot
    }

    /// The device asks for a packet.
    #[inline]
    pub fn pull(&mut self, plan: &takt_plan, now_ns: u64) -> Pulled {
        if self.link.take_fast() {
            return Pulled::Packet {
                slot: sys::TAKT_FAST_PATH,
                entity: self.link.state().fast_id,
                marks: false,
                eligible_ns: self.fast_ns,
            };
        }
        let mut choice = takt_choice::default();
        let link = self.link.state_mut();
        match &mut self.stock {
            Some(stock) => stock.choose(link, plan, now_ns, &mut choice),
            // SAFETY: valid structs; see the crate's documentation.
            None => unsafe { sys::takt_link_pop(link, plan, now_ns, &mut choice) },
        }
        match (choice.packet, choice.drops, choice.wake_ns) {
            (0, _, u64::MAX) => Pulled::Empty,
            (0, _, until_ns) => Pulled::Wait { until_ns },
            (sys::TAKT_PACKETS.., ..) => Pulled::Gap {
                wire_bytes: choice.len,
            },
            (slot, 0, _) => Pulled::Packet {
                slot,
                entity: choice.id,
                marks: choice.marks != 0,
                eligible_ns: link.path.leaf.since_ns.max(link.path.above.since_ns),
            },
            (slot, ..) => Pulled::Dropped { slot },
        }
    }

    /// User space's view of the table of stations, which are known by their IP addresses here.
    pub fn stations(&mut self) -> Stations<'_> {
        self.link.stations()
    }

    /// The link.
    pub fn link(&self) -> &Link {
        &self.link
    }
}
