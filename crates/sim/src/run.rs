//! The event loop: senders, a scheduler, a device.
//!
//! Two moments compete: the device's (a frame has left, the scheduler's timer fires, the processor
//! is free again) and the first event of the senders. The device's go first.

mod stations;

use std::hint::black_box;

use takt_policy::{Framing, traffic::Distribution};

use crate::{
    air::{Air, Ended},
    device::Device,
    event::{Events, What},
    figures::{Collector, Outcome, Passage},
    packet::{Loss, Packet, Why},
    qdisc::{Answer, Qdisc},
    radio::Weights,
    random::Random,
    setup::Setup,
    source::{Poll, Rounds, Sender},
    tasks::Tasks,
    wire::Wire,
};

/// The number of the host's random numbers; flows count from 0 on.
const OF_HOST: u64 = u64::MAX - 1;

/// What a run is besides its setup.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Of all random numbers.
    pub seed: u64,
    /// How long it takes.
    pub duration_ns: u64,
}

/// Lets the time pass under one scheduler. What comes before the traffic file's `measure.after` is
/// not in the figures; it is to be less than the duration.
pub fn run(setup: &Setup, name: &str, qdisc: &mut dyn Qdisc, terms: Terms) -> Outcome {
    let mut world = World::new(setup, qdisc, terms);
    world.run(terms.duration_ns);
    let measured_ns = (terms.duration_ns - world.from_ns).max(1);
    let taken = world.taken(measured_ns);
    Outcome::new(name, setup, &world.collector, measured_ns, taken)
}

/// The scheduler's timer.
#[derive(Debug, Clone, Copy)]
struct Timer {
    set_ns: u64,
    fires_ns: u64,
}

const UNSET: Timer = Timer {
    set_ns: u64::MAX,
    fires_ns: u64::MAX,
};

/// A flow's sender, on one cache line: most of many flows' are in none when they wake.
#[repr(align(64))]
struct Endpoint {
    sender: Sender,
    /// When it wakes; `u64::MAX`: not by itself.
    wakes_ns: u64,
}

const _: () = assert!(size_of::<Endpoint>() == 64);

/// What the device's wire carries of a frame: what the traffic file says, or the link.
fn framing_of_device(setup: &Setup) -> Framing {
    let own = setup.traffic.device.overhead_bytes.map(|bytes| Framing {
        overhead_bytes: bytes as i32,
        ..Framing::default()
    });
    own.unwrap_or(setup.link.framing)
}

struct World<'a> {
    setup: &'a Setup,
    now_ns: u64,
    from_ns: u64,
    events: Events,
    endpoints: Vec<Endpoint>,
    qdisc: &'a mut dyn Qdisc,
    losses: Vec<Loss>,
    /// What a receiver has caused, until it is scheduled.
    caused: Vec<(u64, What)>,
    timer: Timer,
    /// By how much the timer was late that fired last, until a packet leaves.
    late_ns: u64,
    timer_late: &'a Distribution,
    packet_cost: &'a Distribution,
    host: Random,
    tasks: Tasks,
    /// When the processor has done its work for the last packet.
    idle_ns: u64,
    device: Device,
    wire_bps: u64,
    rounds: Rounds,
    /// Of stations, if the link has them.
    weights: Option<Weights>,
    collector: Collector,
}

impl<'a> World<'a> {
    fn new(setup: &'a Setup, qdisc: &'a mut dyn Qdisc, terms: Terms) -> Self {
        let traffic = &setup.traffic;
        let framing = framing_of_device(setup);
        let wire_bps = traffic.device.rate_bps.unwrap_or(setup.link.rate_bps);
        let device = match &setup.profile {
            None => Device::Wire(Wire::new(wire_bps, framing, traffic.device.queue_packets)),
            Some(profile) => Device::Air(Box::new(Air::new(
                profile.clone(),
                &traffic.stations,
                u32::try_from(framing.overhead_bytes).unwrap_or_default(),
                terms.seed,
            ))),
        };
        let weights = setup.radio.as_ref();
        let weights = weights.map(|radio| Weights::new(radio, traffic.stations.len()));
        let mut events = Events::default();
        let rounds = Rounds::new(&traffic.sources, &setup.sources);
        let endpoints = (0..).zip(&setup.sources).map(|(flow, &source)| {
            let terms_of = &traffic.sources[source as usize];
            let wakes_ns = terms_of.start_ns + rounds.later_ns(source, flow);
            events.schedule(wakes_ns, What::Wake(flow));
            let random = Random::new(terms.seed, flow.into());
            Endpoint {
                sender: Sender::new(
                    terms_of,
                    setup.captured.get(&flow),
                    device.bytes(terms_of.frame_bytes),
                    random,
                ),
                wakes_ns,
            }
        });
        let endpoints: Vec<Endpoint> = endpoints.collect();
        let mut tasks = Tasks::new(&traffic.tasks, terms.seed);
        for at in 0..traffic.tasks.len() {
            let rests_ns = tasks.rest(at);
            events.schedule(rests_ns, What::Turn(at as u32));
        }
        let from_ns = traffic.measure_after_ns.min(terms.duration_ns);
        if setup.profile.is_some() {
            events.schedule(from_ns, What::Measure);
        }
        if let Some(weights) = &weights {
            events.schedule(weights.reading_ns(), What::Listen);
        }
        Self {
            setup,
            now_ns: 0,
            from_ns,
            events,
            endpoints,
            qdisc,
            losses: Vec::new(),
            caused: Vec::new(),
            timer: UNSET,
            late_ns: 0,
            timer_late: &traffic.host.timer_late,
            packet_cost: &traffic.host.packet_cost,
            host: Random::new(terms.seed, OF_HOST),
            tasks,
            idle_ns: 0,
            device,
            wire_bps,
            rounds,
            weights,
            collector: Collector::new(setup, from_ns, terms.duration_ns),
        }
    }

    fn run(&mut self, until_ns: u64) {
        loop {
            let completes_ns = self.device.next_ns();
            let device_ns = completes_ns.min(self.timer.fires_ns).min(until_ns);
            let is_new_bucket = self.events.present().len() == 0;
            let first = self.events.pop_before(device_ns);
            if is_new_bucket {
                self.warm();
            }
            if let Some((at_ns, what)) = first {
                self.now_ns = at_ns;
                self.handle(what);
                continue;
            }
            self.now_ns = device_ns;
            if self.now_ns >= until_ns {
                return;
            }
            if completes_ns <= self.timer.fires_ns {
                self.complete();
            } else {
                self.late_ns = self.now_ns - self.timer.set_ns;
                self.timer = UNSET;
                self.send();
            }
        }
    }

    /// Reads what the present events are about, so that it is in caches by then. One after another
    /// they would wait for memory alone; here the processor waits for all at once.
    fn warm(&self) {
        let flows = self.events.present().filter_map(What::flow);
        let read = flows.fold(0, |read, flow| {
            let at = flow as usize;
            let known = &self.setup.flows[at];
            read ^ self.endpoints[at].wakes_ns
                ^ self.collector.warm(flow)
                ^ u64::from(self.setup.sources[at])
                ^ u64::from(known.class ^ known.key.dst[3])
        });
        black_box(read);
    }

    fn handle(&mut self, what: What) {
        match what {
            What::Wake(flow) => {
                self.endpoints[flow as usize].wakes_ns = u64::MAX;
                self.poll(flow);
            }
            What::Answer(flow) => {
                self.endpoints[flow as usize].sender.answered(self.now_ns);
                self.poll(flow);
            }
            What::Arrive(flow) => return self.arrive(flow),
            What::Listen => return self.listen(),
            What::Measure => {
                if let Device::Air(air) = &mut self.device {
                    air.measure(self.now_ns);
                }
                return;
            }
            What::Turn(at) => {
                let period_ns = self.tasks.turn(at as usize);
                self.events
                    .schedule(self.now_ns + period_ns, What::Turn(at));
                self.qdisc.run_task(self.tasks.running());
            }
        }
        self.send();
    }

    /// A flow's receiver wakes.
    fn arrive(&mut self, flow: u32) {
        let sender = &mut self.endpoints[flow as usize].sender;
        let took_ns = sender.arrived(flow, self.now_ns, &mut self.caused);
        for (at_ns, what) in self.caused.drain(..) {
            self.events.schedule(at_ns, what);
        }
        let Some(took_ns) = took_ns else {
            return;
        };
        self.collector.complete(flow, took_ns, self.now_ns);
        let source = self.setup.sources[flow as usize];
        for flow in self.rounds.complete(source) {
            let asks_ns = self.now_ns + self.rounds.later_ns(source, flow);
            let sender = &mut self.endpoints[flow as usize].sender;
            if let Some(at_ns) = sender.begin_together(asks_ns) {
                self.wake(flow, at_ns);
            }
        }
    }

    /// The device is done with a frame.
    fn complete(&mut self) {
        if let Device::Wire(wire) = &mut self.device {
            if wire.complete() {
                self.send();
            }
            return;
        }
        while let Device::Air(air) = &mut self.device
            && let Some(ended) = air.poll(self.now_ns)
        {
            match ended {
                Ended::Arrived(passage) => self.leave(&passage),
                Ended::Lost(packet) => self.lose_on_air(packet),
                Ended::Reported { station } => self.heard(station),
            }
        }
        self.send();
    }

    /// Asks a sender for packets.
    fn poll(&mut self, flow: u32) {
        let source = self.setup.sources[flow as usize];
        let source = &self.setup.traffic.sources[source as usize];
        if source.stop_ns.is_some_and(|stop_ns| self.now_ns >= stop_ns) {
            return;
        }
        loop {
            let sender = &mut self.endpoints[flow as usize].sender;
            match sender.poll(self.now_ns) {
                Poll::Send(number) => {
                    let bytes = sender.frame_bytes(number, source.frame_bytes);
                    self.enqueue(Packet {
                        flow,
                        bytes,
                        number,
                        arrived_ns: self.now_ns,
                        is_marked: false,
                    });
                }
                Poll::At(at_ns) => return self.wake(flow, at_ns),
                Poll::Nothing => return,
            }
        }
    }

    fn enqueue(&mut self, packet: Packet) {
        let flow = &self.setup.flows[packet.flow as usize];
        self.collector
            .offer(&packet, self.device.bytes(packet.bytes));
        self.qdisc
            .enqueue(packet, flow, self.now_ns, &mut self.losses);
        self.count_losses();
    }

    /// Tells senders of what was lost.
    fn count_losses(&mut self) {
        while let Some(loss) = self.losses.pop() {
            self.collector.lose(&loss, self.now_ns);
            let flow = loss.packet.flow;
            let sender = &mut self.endpoints[flow as usize].sender;
            if let Some(at_ns) = sender.lost(self.now_ns, loss.why) {
                self.wake(flow, at_ns);
            }
        }
    }

    /// The radio has repeated a frame as often as it may, in vain.
    fn lose_on_air(&mut self, packet: Packet) {
        let loss = Loss {
            packet,
            why: Why::OnAir,
        };
        self.collector.lose(&loss, self.now_ns);
        let sender = &mut self.endpoints[packet.flow as usize].sender;
        if let Some(at_ns) = sender.lost_on_air(self.now_ns) {
            self.wake(packet.flow, at_ns);
        }
    }

    /// A sender wakes then, or before.
    fn wake(&mut self, flow: u32, at_ns: u64) {
        let wakes_ns = &mut self.endpoints[flow as usize].wakes_ns;
        if at_ns < *wakes_ns {
            *wakes_ns = at_ns;
            self.events.schedule(at_ns, What::Wake(flow));
        }
    }

    /// The device asks for packets until it is full.
    fn send(&mut self) {
        self.tell_of_air();
        while !self.device.is_stopped() {
            if self.now_ns < self.idle_ns {
                return self.set_timer(self.idle_ns, 0);
            }
            let answer = self.qdisc.dequeue(self.now_ns, &mut self.losses);
            if !self.losses.is_empty() {
                self.count_losses();
            }
            match answer {
                Answer::Packet {
                    packet,
                    eligible_ns,
                } => self.pass(packet, eligible_ns),
                Answer::Gap { wire_bytes } => self.fill(wire_bytes),
                Answer::Wait { until_ns } => {
                    if self.timer.set_ns != until_ns {
                        let late_ns = self.host.draw_ns(self.timer_late);
                        self.set_timer(until_ns, late_ns);
                    }
                    return;
                }
                Answer::Empty => return,
            }
        }
    }

    fn set_timer(&mut self, set_ns: u64, late_ns: u64) {
        self.timer = Timer {
            set_ns,
            fires_ns: set_ns + late_ns,
        };
    }

    /// What a frame costs the processor, which deals with no other before.
    fn spend(&mut self) {
        let cost_ns = self.host.draw_ns(self.packet_cost);
        self.idle_ns = self.now_ns + cost_ns;
    }

    /// A gap frame goes to the wire. No policy has them on the air.
    fn fill(&mut self, wire_bytes: u32) {
        self.spend();
        if let Device::Wire(wire) = &mut self.device {
            wire.take(wire_bytes, self.idle_ns);
        }
    }

    /// A packet goes to the device, when the processor has dealt with it.
    fn pass(&mut self, packet: Packet, eligible_ns: u64) {
        self.spend();
        let mut passage = Passage {
            packet,
            wire_bytes: self.device.bytes(packet.bytes),
            eligible_ns,
            late_ns: std::mem::take(&mut self.late_ns),
            dequeued_ns: self.now_ns,
            start_ns: 0,
            end_ns: 0,
        };
        match &mut self.device {
            Device::Wire(wire) => {
                let slot = wire.take(passage.wire_bytes, self.idle_ns);
                (passage.start_ns, passage.end_ns) = (slot.start_ns, slot.end_ns);
                self.leave(&passage);
            }
            Device::Air(air) => {
                let station = self.setup.flows[packet.flow as usize].station;
                air.take(station as usize, passage, self.now_ns);
            }
        }
    }

    /// It is known when a packet is at the end of the wire, or it is at the end of the air.
    fn leave(&mut self, passage: &Passage) {
        let packet = &passage.packet;
        let sender = &mut self.endpoints[packet.flow as usize].sender;
        if let Some((at_ns, what)) = sender.left(packet, passage.end_ns) {
            self.events.schedule(at_ns, what);
        }
        if sender.refills() {
            self.poll(packet.flow);
        }
        self.collector.pass(passage);
    }
}
