//! The events of a run: stations, access point, wire and servers.

use std::{cmp::Reverse, collections::BinaryHeap, collections::VecDeque};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use takt_medium::{Action, Frame, Input, Medium, NodeId, Receiver as To};

use crate::{
    Direction, SEGMENT_BYTES, Setup,
    access_point::{Content, Queue, Waiting},
    flow::Flow,
    member::{Member, PERIOD_NS, Strangers},
    tcp::{Ack, Send},
};

/// A report's way over the air.
const REPORT_NS: u64 = 2_000_000;
/// A handshake that is not answered is tried again after so long (RFC 6298).
const HELLO_NS: u64 = 1_000_000_000;
/// Reports are early or late by up to a tenth of a period.
const PERIOD_JITTER: u64 = 5;
/// Periods over which the access point counts strangers.
const COUNTS: usize = 6;
const MILLION: u32 = 1_000_000;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Event {
    /// A flow's data or acknowledgement arrives at its server.
    AtServer {
        flow: usize,
        token: u64,
    },
    /// Likewise at the access point.
    AtAccessPoint {
        flow: usize,
        token: u64,
    },
    Delayed(usize),
    Timeout(usize),
    Paced(usize),
    Start(usize),
    Period(usize),
    Count,
    Report {
        to: usize,
        token: u64,
    },
}

struct Station {
    queue: VecDeque<u64>,
    flows: Vec<usize>,
    member: Option<Member>,
    /// Bytes that the access point has had from it, and at its last counts.
    uploaded_bytes: u64,
    counted_bytes: VecDeque<u64>,
}

/// The station that the access point sends to, and how many more frames it may have.
#[derive(Default)]
struct Turn {
    station: usize,
    frames_left: u32,
}

#[derive(Debug)]
enum Packet {
    OnAir(Waiting),
    OnWire(Content),
    Report { from: usize, datagram: Vec<u8> },
}

/// A run.
pub struct Cell {
    setup: Setup,
    medium: Medium,
    now_ns: u64,
    flows: Vec<Flow>,
    stations: Vec<Station>,
    access_queue: Queue,
    access_turn: Turn,
    strangers: Strangers,
    packets: Vec<Option<Packet>>,
    free: Vec<u64>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    event_count: u64,
    random: Pcg64Mcg,
}

impl Cell {
    /// At its beginning.
    pub fn new(setup: Setup, seed: u64) -> Self {
        let mut medium = Medium::new(setup.profile.clone(), seed);
        let mut random = Pcg64Mcg::seed_from_u64(seed ^ 0x5eed);
        let mut cell_flows = Vec::new();
        let mut stations = Vec::new();
        for (at, terminal) in setup.terminals.iter().enumerate() {
            let station = medium.add_station(terminal.path.clone());
            let choice = terminal.rate;
            let set = medium.handle(0, Input::Rate { station, choice });
            debug_assert_eq!(set, Ok(()));
            let first = cell_flows.len();
            for terms in &terminal.flows {
                cell_flows.push(Flow::new(at, &setup, terms, &mut random));
            }
            stations.push(Station {
                queue: VecDeque::new(),
                flows: (first..cell_flows.len()).collect(),
                uploaded_bytes: 0,
                counted_bytes: VecDeque::new(),
                member: terminal
                    .is_member
                    .then(|| Member::new(at, &setup, random.random())),
            });
        }
        let mut cell = Self {
            access_queue: Queue::new(setup.access_point, setup.terminals.len(), cell_flows.len()),
            access_turn: Turn::default(),
            strangers: Strangers::default(),
            setup,
            medium,
            now_ns: 0,
            flows: cell_flows,
            stations,
            packets: Vec::new(),
            free: Vec::new(),
            events: BinaryHeap::new(),
            event_count: 0,
            random,
        };
        let terms = cell
            .setup
            .terminals
            .iter()
            .flat_map(|terminal| &terminal.flows);
        let begins: Vec<u64> = terms.map(|terms| terms.begins_ns).collect();
        for (flow, begins_ns) in begins.into_iter().enumerate() {
            cell.schedule(begins_ns + 1, Event::Start(flow));
        }
        if cell.setup.access_point.counts_strangers {
            cell.schedule(PERIOD_NS, Event::Count);
        }
        for station in 0..cell.stations.len() {
            let at_ns = cell.random.random_range(0..PERIOD_NS);
            cell.schedule(at_ns, Event::Period(station));
        }
        cell
    }

    /// Goes on until then.
    pub fn run(&mut self, until_ns: u64) {
        loop {
            self.drain();
            let event_ns = self.events.peek().map(|Reverse((at_ns, ..))| *at_ns);
            let next_ns = event_ns.into_iter().chain(self.medium.wake_ns()).min();
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
    }

    /// Segments delivered, by terminal.
    pub fn delivered(&self) -> Vec<u64> {
        let of_flow = |flow: &usize| match self.flows[*flow].direction {
            Direction::Up => self.flows[*flow].sender.delivered(),
            Direction::Down => self.flows[*flow].receiver.delivered(),
        };
        let stations = self.stations.iter();
        stations
            .map(|station| station.flows.iter().map(of_flow).sum())
            .collect()
    }

    /// Begins to measure.
    pub fn forget_figures(&mut self) {
        for flow in &mut self.flows {
            flow.round_trips_ns.clear();
            flow.bounded.targets_q10.clear();
        }
    }

    /// All that were measured, in no order.
    pub fn round_trips_ns(&self) -> Vec<u64> {
        let flows = self.flows.iter();
        flows
            .flat_map(|flow| flow.round_trips_ns.iter().copied())
            .collect()
    }

    /// The window of a terminal's first flow, in segments.
    pub fn window(&self, terminal: usize) -> u64 {
        let first = self.stations[terminal].flows.first();
        first.map_or(0, |flow| self.flows[*flow].sender.window())
    }

    /// Of those of a terminal that were measured; NaN: none was.
    pub fn mean_round_trip_ns(&self, terminal: usize) -> f64 {
        let flows = self.stations[terminal].flows.iter();
        let all: Vec<u64> = flows
            .flat_map(|flow| &self.flows[*flow].round_trips_ns)
            .copied()
            .collect();
        all.iter().sum::<u64>() as f64 / all.len() as f64
    }

    /// The variation of the first bounded flow's target, deviation over mean; NaN: it has no
    /// bound.
    pub fn unrest(&self) -> f64 {
        let targets = &self.flows[0].bounded.targets_q10;
        let count = targets.len() as f64;
        let mean = targets.iter().sum::<u64>() as f64 / count;
        let squares = targets.iter().map(|target| (*target as f64 - mean).powi(2));
        (squares.sum::<f64>() / count).sqrt() / mean
    }

    fn schedule(&mut self, at_ns: u64, event: Event) {
        self.event_count += 1;
        let at_ns = at_ns.max(self.now_ns);
        self.events.push(Reverse((at_ns, self.event_count, event)));
    }

    fn happen(&mut self, event: Event) {
        let now_ns = self.now_ns;
        match event {
            Event::Start(flow) => self.start(flow),
            Event::AtServer { flow, token } => {
                if let Some(Packet::OnWire(content)) = self.forget(token) {
                    self.arrive(flow, content);
                }
            }
            Event::AtAccessPoint { flow, token } => {
                if let Some(Packet::OnWire(content)) = self.forget(token) {
                    let station = self.flows[flow].terminal;
                    self.access_queue.push(
                        now_ns,
                        Waiting {
                            station,
                            flow,
                            content,
                        },
                    );
                }
                self.feed();
            }
            Event::Delayed(flow) => {
                let receiver = &mut self.flows[flow].receiver;
                if receiver
                    .delayed_until_ns
                    .is_some_and(|at_ns| at_ns <= now_ns)
                {
                    let ack = receiver.acknowledge(now_ns);
                    self.answer(flow, ack);
                }
            }
            Event::Timeout(flow) => {
                let of = &mut self.flows[flow];
                of.timeout_at_ns = 0;
                if of.sender.timeout_ns().is_some_and(|at_ns| at_ns <= now_ns) {
                    of.sender.time_out(now_ns);
                }
                self.pump(flow);
            }
            Event::Paced(flow) => {
                self.flows[flow].paced_at_ns = 0;
                self.pump(flow);
            }
            Event::Period(station) => self.period(station),
            Event::Count => {
                self.count_strangers();
                self.schedule(now_ns + PERIOD_NS, Event::Count);
            }
            Event::Report { to, token } => {
                if let Some(Packet::Report { from, datagram }) = self.forget(token) {
                    self.hear(to, from, &datagram);
                }
            }
        }
    }

    /// An upload sends at once, a download's terminal asks for it first.
    fn start(&mut self, flow: usize) {
        let of = &mut self.flows[flow];
        match of.direction {
            Direction::Up => {
                of.has_begun = true;
                self.pump(flow);
            }
            Direction::Down if of.has_begun => {}
            Direction::Down => {
                of.hello_ns = self.now_ns;
                self.queue(flow, Content::Hello);
                self.schedule(self.now_ns + HELLO_NS, Event::Start(flow));
            }
        }
    }

    /// Something of the flow is at its other end.
    fn arrive(&mut self, flow: usize, content: Content) {
        match content {
            Content::Hello => self.send_down(flow, Content::Hello),
            Content::Data { sequence, echo_ms } => self.receive(flow, sequence, echo_ms),
            Content::Ack(ack) => self.acked(flow, &ack),
        }
    }

    fn period(&mut self, station: usize) {
        let jitter_ns = self.random.random_range(0..PERIOD_NS / PERIOD_JITTER);
        let next_ns = self.now_ns + PERIOD_NS - PERIOD_NS / PERIOD_JITTER / 2 + jitter_ns;
        let random = self.random.random();
        let Some(member) = &mut self.stations[station].member else {
            return;
        };
        let node = node_of(station);
        let link = self.medium.link(node, takt_medium::Direction::Up);
        let link = link.unwrap_or_default();
        let phy_bps = if self.setup.reports_rates {
            self.setup.profile.rates[link.rate].bps
        } else {
            0
        };
        member.look(link.frames, link.retries, phy_bps);
        let report = member.period(self.now_ns, random, self.strangers);
        if self.setup.terminals[station].bounds_downloads {
            let flows = self.flows.iter_mut();
            let its = flows.filter(|flow| {
                flow.terminal == station && flow.direction == Direction::Down && flow.has_begun
            });
            let received =
                its.map(|flow| (&mut flow.download, &mut flow.receiver, flow.handshake_ns));
            member.bound_downloads(self.now_ns, received);
        }
        self.schedule(next_ns, Event::Period(station));
        let Some(datagram) = report else {
            return;
        };
        for to in 0..self.stations.len() {
            let is_lost = self.random.random_range(0..MILLION) < self.setup.report_loss_ppm;
            if to != station && self.stations[to].member.is_some() && !is_lost {
                let token = self.remember(Packet::Report {
                    from: station,
                    datagram: datagram.clone(),
                });
                self.schedule(self.now_ns + REPORT_NS, Event::Report { to, token });
            }
        }
    }

    /// Over the last second, by what they upload.
    fn count_strangers(&mut self) {
        self.strangers = Strangers::default();
        let others = self.stations.iter_mut();
        for station in others.filter(|other| other.member.is_none()) {
            station.counted_bytes.push_back(station.uploaded_bytes);
            if station.counted_bytes.len() > COUNTS {
                station.counted_bytes.pop_front();
            }
            let passed = station.counted_bytes.len() as u64 - 1;
            let bytes = station.uploaded_bytes - station.counted_bytes[0];
            if bytes > 0 {
                self.strangers.count += 1;
                self.strangers.rate_bytes_ps += bytes * 1_000_000_000 / (passed * PERIOD_NS);
            }
        }
    }

    fn hear(&mut self, to: usize, from: usize, datagram: &[u8]) {
        let address = self.stations[from].member.as_ref().map(Member::address);
        if let (Some(member), Some(address)) = (&mut self.stations[to].member, address) {
            member.hear(self.now_ns, address, datagram);
        }
    }

    /// A segment is at its receiver.
    fn receive(&mut self, flow: usize, sequence: u64, echo_ms: u64) {
        let receiver = &mut self.flows[flow].receiver;
        receiver.measure(self.now_ns, echo_ms);
        match receiver.receive(self.now_ns, sequence) {
            Some(ack) => self.answer(flow, ack),
            None => {
                if let Some(at_ns) = receiver.delayed_until_ns {
                    self.schedule(at_ns, Event::Delayed(flow));
                }
            }
        }
    }

    fn answer(&mut self, flow: usize, ack: Ack) {
        match self.flows[flow].direction {
            Direction::Up => self.send_down(flow, Content::Ack(ack)),
            Direction::Down => self.queue(flow, Content::Ack(ack)),
        }
    }

    /// An acknowledgement is at its sender.
    fn acked(&mut self, flow: usize, ack: &Ack) {
        let of = &mut self.flows[flow];
        of.has_begun = true;
        of.sender.take(self.now_ns, ack);
        of.round_trips_ns.extend(of.sender.last_round_trip_ns());
        if of.direction == Direction::Up
            && let Some(member) = &mut self.stations[of.terminal].member
        {
            member.acked(self.now_ns, &mut of.bounded, &mut of.sender);
        }
        self.pump(flow);
    }

    /// Lets a sender send what its window allows.
    fn pump(&mut self, flow: usize) {
        let now_ns = self.now_ns;
        loop {
            let of = &mut self.flows[flow];
            let most = of.sender.paced_in(self.setup.own_queue_ns);
            let most = most.max(self.setup.own_queue_frames);
            let is_held = of.direction == Direction::Up && of.queued >= most;
            if !of.has_begun || now_ns >= of.ends_ns || is_held {
                break;
            }
            match of.sender.send(now_ns) {
                Send::Segment(sequence) => {
                    let echo_ms = of.sender.echo_ms();
                    let content = Content::Data { sequence, echo_ms };
                    match of.direction {
                        Direction::Up => self.queue(flow, content),
                        Direction::Down => self.send_down(flow, content),
                    }
                }
                Send::At(at_ns) => {
                    if of.paced_at_ns == 0 {
                        of.paced_at_ns = at_ns;
                        self.schedule(at_ns, Event::Paced(flow));
                    }
                    break;
                }
                Send::Nothing => break,
            }
        }
        let of = &mut self.flows[flow];
        if of.timeout_at_ns == 0
            && now_ns < of.ends_ns
            && let Some(at_ns) = of.sender.timeout_ns()
        {
            of.timeout_at_ns = at_ns.max(now_ns + 1);
            let at_ns = of.timeout_at_ns;
            self.schedule(at_ns, Event::Timeout(flow));
        }
        self.feed();
    }

    /// Into the terminal's own queue.
    fn queue(&mut self, flow: usize, content: Content) {
        let station = self.flows[flow].terminal;
        self.flows[flow].queued += usize::from(matches!(content, Content::Data { .. }));
        let token = self.remember(Packet::OnAir(Waiting {
            station,
            flow,
            content,
        }));
        self.stations[station].queue.push_back(token);
        self.feed();
    }

    fn send_down(&mut self, flow: usize, content: Content) {
        if let Some(at_ns) = self.flows[flow].down.arrives_ns(self.now_ns) {
            let token = self.remember(Packet::OnWire(content));
            self.schedule(at_ns, Event::AtAccessPoint { flow, token });
        }
    }

    fn send_up(&mut self, flow: usize, content: Content) {
        if let Some(at_ns) = self.flows[flow].up.arrives_ns(self.now_ns) {
            let token = self.remember(Packet::OnWire(content));
            self.schedule(at_ns, Event::AtServer { flow, token });
        }
    }

    /// Passes frames to transmitters that have room: one, or those of an aggregate.
    fn feed(&mut self) {
        while let Some(waiting) = self.next_down() {
            let to = To::Node(node_of(waiting.station));
            let bytes = waiting.content.bytes();
            let token = self.remember(Packet::OnAir(waiting));
            self.transmit(Medium::ACCESS_POINT, token, bytes, to);
        }
        let to = To::Node(Medium::ACCESS_POINT);
        for station in 0..self.stations.len() {
            let from = node_of(station);
            while self.medium.has_room(from, to)
                && let Some(token) = self.stations[station].queue.pop_front()
                && let Some(Packet::OnAir(waiting)) = &self.packets[token as usize]
            {
                let bytes = waiting.content.bytes();
                self.transmit(from, token, bytes, to);
            }
        }
    }

    /// The frame that the access point's transmitter takes next. Frames for the same station go
    /// with it, as many as an aggregate may have: then it is another's turn.
    fn next_down(&mut self) -> Option<Waiting> {
        let now_ns = self.now_ns;
        if self.medium.is_free(Medium::ACCESS_POINT) {
            let waiting = self.access_queue.pop(now_ns)?;
            let aggregation = self.setup.profile.aggregation;
            self.access_turn = Turn {
                station: waiting.station,
                frames_left: aggregation.map_or(0, |aggregation| aggregation.frames_max - 1),
            };
            return Some(waiting);
        }
        let Turn {
            station,
            frames_left,
        } = self.access_turn;
        let to = To::Node(node_of(station));
        if frames_left == 0 || !self.medium.has_room(Medium::ACCESS_POINT, to) {
            return None;
        }
        let waiting = self.access_queue.pop_for(now_ns, station)?;
        self.access_turn.frames_left -= 1;
        Some(waiting)
    }

    fn transmit(&mut self, from: NodeId, token: u64, bytes: u32, to: To) {
        let frame = Frame { token, bytes, to };
        let taken = self
            .medium
            .handle(self.now_ns, Input::Transmit { from, frame });
        debug_assert_eq!(taken, Ok(()));
    }

    fn drain(&mut self) {
        while let Some(action) = self.medium.poll(self.now_ns) {
            match action {
                Action::Deliver { from, token, .. } => self.deliver(from, token),
                Action::Done { from, token, .. } => {
                    let packet = self.forget(token);
                    if from == Medium::ACCESS_POINT {
                        self.feed();
                    } else if let Some(Packet::OnAir(waiting)) = packet {
                        let is_data = matches!(waiting.content, Content::Data { .. });
                        self.flows[waiting.flow].queued -= usize::from(is_data);
                        self.pump(waiting.flow);
                    }
                }
            }
        }
    }

    fn deliver(&mut self, from: NodeId, token: u64) {
        let Some(Packet::OnAir(waiting)) = &self.packets[token as usize] else {
            return;
        };
        let (flow, station, content) = (waiting.flow, waiting.station, waiting.content.clone());
        if matches!(content, Content::Data { .. }) && from != Medium::ACCESS_POINT {
            self.stations[station].uploaded_bytes += u64::from(SEGMENT_BYTES);
        }
        if from != Medium::ACCESS_POINT {
            return self.send_up(flow, content);
        }
        if let Content::Hello = content {
            self.greet(flow);
        } else {
            self.arrive(flow, content);
        }
    }

    /// The server has answered the terminal's hello; the terminal's answer asks for data.
    fn greet(&mut self, flow: usize) {
        let of = &mut self.flows[flow];
        if of.handshake_ns == 0 {
            of.handshake_ns = self.now_ns - of.hello_ns;
        }
        let ack = of.receiver.acknowledge(self.now_ns);
        self.queue(flow, Content::Ack(ack));
    }

    fn remember(&mut self, packet: Packet) -> u64 {
        let token = self.free.pop().unwrap_or(self.packets.len() as u64);
        match self.packets.get_mut(token as usize) {
            Some(place) => *place = Some(packet),
            None => self.packets.push(Some(packet)),
        }
        token
    }

    fn forget(&mut self, token: u64) -> Option<Packet> {
        let packet = self.packets[token as usize].take();
        if packet.is_some() {
            self.free.push(token);
        }
        packet
    }
}

fn node_of(station: usize) -> NodeId {
    NodeId(station as u16 + 1)
}
