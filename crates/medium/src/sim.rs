//! A plain event loop around the medium: sources, queues and statistics, in virtual time. For
//! tests, and to study the medium by itself.

mod queue;
pub mod runs;
mod stats;
mod traffic;

use std::{cmp::Reverse, collections::BinaryHeap};

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

pub use crate::Direction;
pub use queue::{Fifo, Packet, Queue, Weighted};
pub use stats::Station;
pub use traffic::{Flow, Traffic};

use crate::{
    Action, Frame, Input, Link, Medium, NodeId, Profile, RateChoice, Receiver, Refused, SnrPath,
    Wire,
};
use traffic::Source;

/// The most frames that wait in front of a station's own transmitter.
const STATION_QUEUE_FRAMES: usize = 50;

/// A network with the queue `Q` at its access point.
pub struct Simulation<Q: Queue> {
    medium: Medium,
    now_ns: u64,
    wire: Option<Wire>,
    access_queue: Q,
    /// The receiver of the access point's last frame.
    access_to: NodeId,
    station_queues: Vec<Fifo>,
    sources: Vec<Source>,
    stations: Vec<Station>,
    /// Frames by token; finished ones free their place.
    packets: Vec<Packet>,
    free_tokens: Vec<u64>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    event_count: u64,
    random: Pcg64Mcg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The next frame of a source is due.
    Source(usize),
    /// A frame has arrived at the access point over the wire.
    Arrival(u64),
}

impl<Q: Queue> Simulation<Q> {
    /// A network without stations.
    pub fn new(profile: Profile, seed: u64, access_queue: Q) -> Self {
        Simulation {
            medium: Medium::new(profile, seed),
            now_ns: 0,
            wire: None,
            access_queue,
            access_to: Medium::ACCESS_POINT,
            station_queues: Vec::new(),
            sources: Vec::new(),
            stations: Vec::new(),
            packets: Vec::new(),
            free_tokens: Vec::new(),
            events: BinaryHeap::new(),
            event_count: 0,
            random: Pcg64Mcg::seed_from_u64(seed.wrapping_add(1 << 63)),
        }
    }

    /// Frames to the stations arrive at the access point over `wire`.
    pub fn with_wire(mut self, wire: Wire) -> Self {
        self.wire = Some(wire);
        self
    }

    /// Adds a station with this path.
    pub fn add_station(&mut self, path: SnrPath) -> NodeId {
        self.station_queues.push(Fifo::new(STATION_QUEUE_FRAMES));
        self.stations.push(Station::default());
        self.medium.add_station(path)
    }

    /// Sets a node's rate from now on.
    pub fn set_rate(&mut self, station: NodeId, choice: RateChoice) -> Result<(), Refused> {
        self.medium
            .handle(self.now_ns, Input::Rate { station, choice })
    }

    /// A station's rate in one direction, and what became of its frames.
    pub fn link(&self, station: NodeId, direction: Direction) -> Result<Link, Refused> {
        self.medium.link(station, direction)
    }

    /// Adds traffic from the beginning on.
    pub fn add_flow(&mut self, flow: Flow) {
        let index = self.sources.len();
        let start_ns = self.now_ns + flow.start_ns;
        self.sources.push(Source::new(flow));
        self.schedule(start_ns, Event::Source(index));
    }

    /// Runs for `duration_ns`.
    pub fn run(&mut self, duration_ns: u64) {
        let until_ns = self.now_ns + duration_ns;
        loop {
            self.drain();
            let event_ns = self.events.peek().map(|Reverse((at_ns, ..))| *at_ns);
            let wake_ns = self.medium.wake_ns();
            let next_ns = event_ns.into_iter().chain(wake_ns).min();
            match next_ns {
                Some(at_ns) if at_ns <= until_ns => self.now_ns = self.now_ns.max(at_ns),
                _ => break,
            }
            self.drain();
            while let Some(Reverse((at_ns, _, event))) = self.events.peek().copied()
                && at_ns <= self.now_ns
            {
                self.events.pop();
                self.happen(event);
            }
        }
        self.now_ns = until_ns;
        self.drain();
    }

    /// Resets the statistics, after warming up.
    pub fn reset_statistics(&mut self) {
        for (index, station) in self.stations.iter_mut().enumerate() {
            let air = self
                .medium
                .air(NodeId(index as u16 + 1))
                .unwrap_or_default();
            *station = Station {
                since_ns: self.now_ns,
                air_before: air,
                ..Station::default()
            };
        }
    }

    /// Each station's statistics, in order of adding.
    pub fn stations(&self) -> Vec<Station> {
        let mut stations = self.stations.clone();
        for (index, station) in stations.iter_mut().enumerate() {
            station.until_ns = self.now_ns;
            station.air = self
                .medium
                .air(NodeId(index as u16 + 1))
                .unwrap_or_default();
        }
        stations
    }

    /// The queue at the access point.
    pub fn access_queue_mut(&mut self) -> &mut Q {
        &mut self.access_queue
    }

    fn schedule(&mut self, at_ns: u64, event: Event) {
        self.event_count += 1;
        self.events.push(Reverse((at_ns, self.event_count, event)));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrival(token) => self.enqueue(token),
            Event::Source(index) => {
                let next_ns = self.sources[index].next_ns(self.now_ns, &mut self.random);
                if let Some(at_ns) = next_ns {
                    self.schedule(at_ns, Event::Source(index));
                }
                let aggregation = self.medium.profile().aggregation;
                let aggregate = aggregation.map_or(1, |aggregation| aggregation.frames_max.max(1));
                for _ in 0..self.sources[index].frames_at_once(aggregate as usize) {
                    self.send(index);
                }
            }
        }
    }

    /// A source sends one frame.
    fn send(&mut self, index: usize) {
        let flow = self.sources[index].flow;
        let token = self.free_tokens.pop().unwrap_or(self.packets.len() as u64);
        let packet = Packet {
            token,
            station: flow.station,
            bytes: flow.traffic.bytes(),
            source: index,
            born_ns: self.now_ns,
            is_delivered: false,
        };
        match self.packets.get_mut(token as usize) {
            Some(place) => *place = packet,
            None => self.packets.push(packet),
        }
        self.station_mut(flow.station).offered += 1;
        match (&mut self.wire, flow.direction) {
            (Some(wire), Direction::Down) => match wire.carry(self.now_ns, packet.bytes) {
                Some(arrival_ns) => self.schedule(arrival_ns, Event::Arrival(token)),
                None => self.lose(token),
            },
            _ => self.enqueue(token),
        }
    }

    fn enqueue(&mut self, token: u64) {
        let packet = self.packets[token as usize];
        let is_accepted = match self.sources[packet.source].flow.direction {
            Direction::Down => self.access_queue.enqueue(packet),
            Direction::Up => self.station_queues[station_index(packet.station)].enqueue(packet),
        };
        if !is_accepted {
            self.lose(token);
        }
        self.feed();
    }

    fn lose(&mut self, token: u64) {
        let station = self.packets[token as usize].station;
        self.station_mut(station).queue_lost += 1;
        self.free_tokens.push(token);
    }

    /// Passes frames to transmitters that are free.
    fn feed(&mut self) {
        let access_point = Medium::ACCESS_POINT;
        while let Some(packet) = self.next_down() {
            self.transmit(access_point, packet, Receiver::Node(packet.station));
        }
        for index in 0..self.station_queues.len() {
            let station = NodeId(index as u16 + 1);
            while self.medium.has_room(station, Receiver::Node(access_point))
                && let Some(packet) = self.station_queues[index].dequeue(self.now_ns)
            {
                self.transmit(station, packet, Receiver::Node(access_point));
            }
        }
    }

    /// The frame that the access point's transmitter takes next. With aggregation, those for
    /// the same station go with it.
    fn next_down(&mut self) -> Option<Packet> {
        let access_point = Medium::ACCESS_POINT;
        if self.medium.is_free(access_point) {
            let packet = self.access_queue.dequeue(self.now_ns)?;
            self.access_to = packet.station;
            return Some(packet);
        }
        let to = Receiver::Node(self.access_to);
        if self.medium.has_room(access_point, to) {
            self.access_queue.dequeue_for(self.access_to)
        } else {
            None
        }
    }

    fn transmit(&mut self, from: NodeId, packet: Packet, to: Receiver) {
        let frame = Frame {
            token: packet.token,
            bytes: packet.bytes,
            to,
        };
        let taken = self
            .medium
            .handle(self.now_ns, Input::Transmit { from, frame });
        debug_assert_eq!(taken, Ok(()));
    }

    /// Processes the medium's actions.
    fn drain(&mut self) {
        while let Some(action) = self.medium.poll(self.now_ns) {
            match action {
                Action::Deliver { at_ns, token, .. } => {
                    let packet = &mut self.packets[token as usize];
                    packet.is_delivered = true;
                    let packet = *packet;
                    self.station_mut(packet.station).deliver(at_ns, &packet);
                }
                Action::Done { token, .. } => self.done(token),
            }
        }
    }

    fn done(&mut self, token: u64) {
        let packet = self.packets[token as usize];
        if !packet.is_delivered {
            self.station_mut(packet.station).air_lost += 1;
        }
        self.free_tokens.push(token);
        if self.sources[packet.source].is_saturated() {
            self.send(packet.source);
        }
        self.feed();
    }

    fn station_mut(&mut self, station: NodeId) -> &mut Station {
        &mut self.stations[station_index(station)]
    }
}

fn station_index(station: NodeId) -> usize {
    usize::from(station.0).saturating_sub(1)
}
