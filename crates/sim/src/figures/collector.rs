//! Collects figures while packets pass.

use super::{curve::Curve, pace::Pace, slope::Slope, tally::Tally};
use crate::{
    packet::{Loss, Packet},
    setup::Setup,
};

/// A packet's way through the link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passage {
    pub packet: Packet,
    pub wire_bytes: u32,
    /// Its clocks let it go since then.
    pub eligible_ns: u64,
    /// By how much the timer was late that it left after.
    pub late_ns: u64,
    /// It left the queue ...
    pub dequeued_ns: u64,
    /// ... and was on the wire from here ...
    pub start_ns: u64,
    /// ... to here.
    pub end_ns: u64,
}

/// A flow's places in the tables below.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// When its last packet left its queue.
    last_ns: u64,
    tally: u32,
    class: u32,
    /// Of its clock; `u32::MAX` without one.
    pace: u32,
}

const NO_PACE: u32 = u32::MAX;

/// A class's packets together.
#[derive(Debug, Clone)]
pub(crate) struct OfClass {
    pub queued: u64,
    /// It had nothing to send for a while.
    pub ran_empty: bool,
    pub slope: Slope,
    pub curve: Curve,
    pace_bps: u64,
}

/// What was seen so far.
pub(crate) struct Collector {
    from_ns: u64,
    pub until_ns: u64,
    places: Vec<Place>,
    paces: Vec<Pace>,
    /// By source and class, in the order of their first flows.
    pub tallies: Vec<(u32, u32, Tally)>,
    pub classes: Vec<OfClass>,
}

impl Collector {
    /// What happens from `from_ns` to `until_ns` counts.
    pub fn new(setup: &Setup, from_ns: u64, until_ns: u64) -> Self {
        let classes = setup.classes.iter().map(|class| OfClass {
            queued: 0,
            ran_empty: false,
            slope: Slope::default(),
            curve: Curve::new(until_ns),
            pace_bps: class.pace_bps.unwrap_or_default(),
        });
        let mut collector = Self {
            from_ns,
            until_ns,
            places: Vec::with_capacity(setup.flows.len()),
            paces: vec![Pace::default(); setup.classes.len()],
            tallies: Vec::new(),
            classes: classes.collect(),
        };
        for (flow, source) in setup.flows.iter().zip(&setup.sources) {
            let class = setup.class_of(flow) as u32;
            let terms = &setup.classes[class as usize];
            let pace = match terms.pace_bps {
                None => NO_PACE,
                Some(_) if terms.per_flow => {
                    collector.paces.push(Pace::default());
                    collector.paces.len() as u32 - 1
                }
                Some(_) => class,
            };
            let tally = collector.tally_of(*source, class);
            collector.places.push(Place {
                last_ns: 0,
                tally,
                class,
                pace,
            });
        }
        collector
    }

    fn tally_of(&mut self, source: u32, class: u32) -> u32 {
        let is_it = |(of, within, _): &(u32, u32, Tally)| (*of, *within) == (source, class);
        // Flows of a source are next to each other, and mostly in one class.
        let at = self.tallies.iter().rposition(is_it).unwrap_or_else(|| {
            self.tallies.push((source, class, Tally::default()));
            self.tallies.len() - 1
        });
        at as u32
    }

    /// Reads the flow's places, and returns anything.
    pub fn warm(&self, flow: u32) -> u64 {
        self.places[flow as usize].last_ns
    }

    fn counts(&self, at_ns: u64) -> bool {
        (self.from_ns..self.until_ns).contains(&at_ns)
    }

    /// A packet comes to the queue.
    pub fn offer(&mut self, packet: &Packet, wire_bytes: u32) {
        let place = self.places[packet.flow as usize];
        self.classes[place.class as usize].queued += 1;
        if self.counts(packet.arrived_ns) {
            let tally = &mut self.tallies[place.tally as usize].2;
            tally.offered_packets += 1;
            tally.offered_bytes += u64::from(wire_bytes);
        }
    }

    /// A flow's transfer has arrived.
    pub fn complete(&mut self, flow: u32, took_ns: u64, now_ns: u64) {
        if self.counts(now_ns) {
            let place = self.places[flow as usize];
            self.tallies[place.tally as usize].2.transfers.add(took_ns);
        }
    }

    /// A packet is lost.
    pub fn lose(&mut self, loss: &Loss, now_ns: u64) {
        let place = self.places[loss.packet.flow as usize];
        self.classes[place.class as usize].queued -= 1;
        if self.counts(now_ns) {
            self.tallies[place.tally as usize].2.lose(loss.why);
        }
    }

    /// A packet has left its queue; its sender has refilled it.
    pub fn pass(&mut self, passage: &Passage) {
        let packet = &passage.packet;
        let place = &mut self.places[packet.flow as usize];
        let last_ns = std::mem::replace(&mut place.last_ns, passage.dequeued_ns);
        let place = *place;
        let class = &mut self.classes[place.class as usize];
        class.queued -= 1;
        class.curve.add(passage.start_ns, passage.wire_bytes.into());
        let pace_bps = class.pace_bps;
        let error_ns = match place.pace {
            NO_PACE => None,
            pace => self.paces[pace as usize].error_ns(
                pace_bps,
                packet.arrived_ns,
                passage.start_ns,
                passage.wire_bytes,
            ),
        };
        if !self.counts(passage.start_ns) {
            return;
        }
        let class = &mut self.classes[place.class as usize];
        class.ran_empty |= class.queued == 0;
        if pace_bps > 0 {
            class.slope.add(passage.start_ns, passage.wire_bytes.into());
        }
        let tally = &mut self.tallies[place.tally as usize].2;
        tally.delivered_packets += 1;
        tally.delivered_bytes += u64::from(passage.wire_bytes);
        tally.marked_packets += u64::from(packet.is_marked);
        tally.delay.add(passage.end_ns - packet.arrived_ns);
        if let Some(error_ns) = error_ns {
            tally.spacing_error.add(error_ns);
        }
        // Behind packets of its flow, until its clocks are due, and then behind others.
        let first_ns = last_ns.max(packet.arrived_ns);
        let clock_ns = passage.eligible_ns.clamp(first_ns, passage.dequeued_ns);
        let waited_ns = passage.dequeued_ns - clock_ns;
        let late_ns = passage.late_ns.min(waited_ns);
        let held = &mut tally.held;
        held.behind_own_ns += u128::from(first_ns - packet.arrived_ns);
        held.by_clock_ns += u128::from(clock_ns - first_ns);
        held.by_others_ns += u128::from(waited_ns - late_ns);
        held.by_timer_ns += u128::from(late_ns);
        held.in_device_ns += u128::from(passage.start_ns - passage.dequeued_ns);
    }
}
