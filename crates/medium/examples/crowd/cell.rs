//! Terminals that upload through one access point to servers behind a wire.

use std::{cmp::Reverse, collections::BinaryHeap, collections::VecDeque};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use takt_medium::{
    Action, Frame, Input, Medium, NodeId, Profile, RateChoice, Receiver as To, SnrPath,
};

use crate::tcp::{Ack, Receiver, Sender};

const DATA_BYTES: u32 = 1514;
const ACK_BYTES: u32 = 66;
pub const SEGMENT_BITS: f64 = 1448.0 * 8.0;
/// TCP limits what its own device has not sent yet (TCP small queues).
const OWN_QUEUE_FRAMES: usize = 4;

#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub terminals: usize,
    /// The wire's round trip.
    pub delay_ns: u64,
    /// Random loss of data on the wire, in ppm.
    pub loss_ppm: u32,
    /// The queue at the access point, in frames.
    pub access_frames: usize,
    /// Index of all stations' rate; 7: 54 Mbit/s.
    pub rate: usize,
    /// When the last terminal begins.
    pub last_begins_ns: u64,
    /// The warm-up, which is not measured.
    pub warm_ns: u64,
    pub measured_ns: u64,
}

#[derive(Debug)]
enum Packet {
    Data { flow: usize, sequence: u64 },
    Ack { flow: usize, ack: Ack },
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Event {
    AtServer(u64),
    AtAccessPoint(u64),
    Delayed(usize),
    Timeout(usize),
    Control(usize),
    Start(usize),
}

pub struct Terminal {
    pub sender: Sender,
    receiver: Receiver,
    queue: VecDeque<u64>,
    is_on: bool,
    timeout_at_ns: u64,
}

/// Sets each terminal's bounds, at its own times.
pub trait Control {
    /// When it has to be called again.
    fn decide(&mut self, now_ns: u64, terminals: &mut [Terminal], index: usize) -> Option<u64>;
}

pub struct Cell {
    setup: Setup,
    medium: Medium,
    now_ns: u64,
    pub terminals: Vec<Terminal>,
    access_queue: VecDeque<u64>,
    packets: Vec<Option<Packet>>,
    free: Vec<u64>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    event_count: u64,
    random: Pcg64Mcg,
}

impl Cell {
    pub fn new(setup: Setup, seed: u64) -> Self {
        let mut medium = Medium::new(Profile::dot11g(), seed);
        let mut terminals = Vec::new();
        for _ in 0..setup.terminals {
            let station = medium.add_station(SnrPath::constant(6000));
            let choice = RateChoice::Fixed(setup.rate);
            let set = medium.handle(0, Input::Rate { station, choice });
            debug_assert_eq!(set, Ok(()));
            terminals.push(Terminal {
                sender: Sender::new(),
                receiver: Receiver::default(),
                queue: VecDeque::new(),
                is_on: false,
                timeout_at_ns: 0,
            });
        }
        let mut cell = Cell {
            setup,
            medium,
            now_ns: 0,
            terminals,
            access_queue: VecDeque::new(),
            packets: Vec::new(),
            free: Vec::new(),
            events: BinaryHeap::new(),
            event_count: 0,
            random: Pcg64Mcg::seed_from_u64(seed ^ 0x5eed),
        };
        for index in 0..setup.terminals {
            // They begin one after the other.
            let begins_ns = match index + 1 == setup.terminals {
                true => setup.last_begins_ns.max(index as u64 * 50_000_000),
                false => index as u64 * 50_000_000,
            };
            cell.schedule(begins_ns + 1, Event::Start(index));
            cell.schedule(
                index as u64 * 17_000_000 + 100_000_000,
                Event::Control(index),
            );
        }
        cell
    }

    pub fn run(&mut self, until_ns: u64, control: &mut dyn Control) {
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
                self.happen(event, control);
            }
        }
    }

    fn schedule(&mut self, at_ns: u64, event: Event) {
        self.event_count += 1;
        self.events.push(Reverse((at_ns, self.event_count, event)));
    }

    fn happen(&mut self, event: Event, control: &mut dyn Control) {
        let now_ns = self.now_ns;
        match event {
            Event::Start(index) => {
                self.terminals[index].is_on = true;
                self.pump(index);
            }
            Event::Control(index) => {
                if let Some(at_ns) = control.decide(now_ns, &mut self.terminals, index) {
                    self.schedule(at_ns.max(now_ns + 1), Event::Control(index));
                }
                self.pump(index);
            }
            Event::AtServer(token) => {
                let Some(Packet::Data { flow, sequence }) = self.forget(token) else {
                    return;
                };
                match self.terminals[flow].receiver.receive(now_ns, sequence) {
                    Some(ack) => self.answer(flow, ack),
                    None => self.schedule_delayed(flow),
                }
            }
            Event::Delayed(flow) => {
                let receiver = &mut self.terminals[flow].receiver;
                if receiver
                    .delayed_until_ns
                    .is_some_and(|at_ns| at_ns <= now_ns)
                {
                    let ack = receiver.acknowledge();
                    self.answer(flow, ack);
                }
            }
            Event::AtAccessPoint(token) => {
                if self.access_queue.len() < self.setup.access_frames {
                    self.access_queue.push_back(token);
                } else {
                    self.forget(token);
                }
                self.feed();
            }
            Event::Timeout(index) => {
                let terminal = &mut self.terminals[index];
                terminal.timeout_at_ns = 0;
                if terminal
                    .sender
                    .timeout_ns()
                    .is_some_and(|at_ns| at_ns <= now_ns)
                {
                    terminal.sender.time_out(now_ns);
                }
                self.pump(index);
            }
        }
    }

    fn schedule_delayed(&mut self, flow: usize) {
        if let Some(at_ns) = self.terminals[flow].receiver.delayed_until_ns {
            self.schedule(at_ns, Event::Delayed(flow));
        }
    }

    fn answer(&mut self, flow: usize, ack: Ack) {
        let token = self.remember(Packet::Ack { flow, ack });
        let at_ns = self.now_ns + self.setup.delay_ns / 2;
        self.schedule(at_ns, Event::AtAccessPoint(token));
    }

    /// Lets a terminal send what its window allows.
    fn pump(&mut self, index: usize) {
        let now_ns = self.now_ns;
        while self.terminals[index].is_on && self.terminals[index].queue.len() < OWN_QUEUE_FRAMES {
            let Some(sequence) = self.terminals[index].sender.send(now_ns) else {
                break;
            };
            let token = self.remember(Packet::Data {
                flow: index,
                sequence,
            });
            self.terminals[index].queue.push_back(token);
        }
        let terminal = &mut self.terminals[index];
        if terminal.timeout_at_ns == 0
            && let Some(at_ns) = terminal.sender.timeout_ns()
        {
            let at_ns = at_ns.max(now_ns + 1);
            terminal.timeout_at_ns = at_ns;
            self.schedule(at_ns, Event::Timeout(index));
        }
        self.feed();
    }

    fn feed(&mut self) {
        if self.medium.is_free(Medium::ACCESS_POINT)
            && let Some(token) = self.access_queue.pop_front()
            && let Some(Packet::Ack { flow, .. }) = &self.packets[token as usize]
        {
            let to = To::Node(NodeId(*flow as u16 + 1));
            self.transmit(Medium::ACCESS_POINT, token, ACK_BYTES, to);
        }
        for index in 0..self.terminals.len() {
            let from = NodeId(index as u16 + 1);
            if self.medium.is_free(from)
                && let Some(token) = self.terminals[index].queue.pop_front()
            {
                self.transmit(from, token, DATA_BYTES, To::Node(Medium::ACCESS_POINT));
            }
        }
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
                Action::Deliver { token, .. } => self.deliver(token),
                Action::Done { from, token, .. } => {
                    self.forget(token);
                    match usize::from(from.0) {
                        0 => self.feed(),
                        station => self.pump(station - 1),
                    }
                }
            }
        }
    }

    fn deliver(&mut self, token: u64) {
        match &self.packets[token as usize] {
            Some(Packet::Data { flow, sequence }) => {
                let (flow, sequence) = (*flow, *sequence);
                if self.random.random_range(0..1_000_000) < self.setup.loss_ppm {
                    return;
                }
                let copy = self.remember(Packet::Data { flow, sequence });
                let at_ns = self.now_ns + self.setup.delay_ns / 2;
                self.schedule(at_ns, Event::AtServer(copy));
            }
            Some(Packet::Ack { flow, ack }) => {
                let (flow, ack) = (*flow, ack.clone());
                self.terminals[flow].sender.take(self.now_ns, &ack);
                self.pump(flow);
            }
            None => {}
        }
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
