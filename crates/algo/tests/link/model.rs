//! The link as one would explain it: lists that are searched from one end to
//! the other, and clocks in exact fractions.

use std::collections::VecDeque;

use takt_algo::{
    Calendar, Dequeued,
    sys::{self, takt_plan},
};

const BUCKET_NS: u64 = 1 << Calendar::SHIFT;

#[derive(Default, Clone, Copy)]
struct Clock {
    due_ns: u64,
    rem: u64,
}

impl Clock {
    fn start(&mut self, now_ns: u64) {
        if self.due_ns < now_ns {
            *self = Self {
                due_ns: now_ns,
                rem: 0,
            };
        }
    }

    fn advance(&mut self, rate_bps: u64, bytes: u32) {
        let rem = if self.rem < rate_bps { self.rem } else { 0 };
        let cost = u128::from(bytes) * 8_000_000_000 + u128::from(rem);
        self.due_ns += (cost / u128::from(rate_bps)) as u64;
        self.rem = (cost % u128::from(rate_bps)) as u64;
    }
}

/// A packet as the model remembers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    pub place: u32,
    pub bytes: u32,
}

#[derive(Default)]
pub struct Class {
    clock: Clock,
    queue: VecDeque<Packet>,
    /// Of the plan that was in force when its first packet began to wait.
    priority: u32,
    pub enqueued: u64,
    pub sent: u64,
    pub sent_bytes: u64,
    pub dropped: u64,
    pub flushed: u64,
    pub late_max_ns: u64,
}

pub struct Link {
    clock: Clock,
    express: Option<(u32, Packet)>,
    pub classes: Vec<Class>,
}

impl Link {
    pub fn new(classes: usize) -> Self {
        Self {
            clock: Clock::default(),
            express: None,
            classes: (0..classes).map(|_| Class::default()).collect(),
        }
    }

    pub fn queued_packets(&self) -> u32 {
        let waiting: usize = self.classes.iter().map(|class| class.queue.len()).sum();
        waiting as u32 + u32::from(self.express.is_some())
    }

    /// Was the right thing done with this arrival?
    pub fn enqueue(
        &mut self,
        plan: &takt_plan,
        id: u32,
        bytes: u32,
        frames: u32,
        now_ns: u64,
        place: Option<u32>,
    ) {
        let params = &plan.class_params[id as usize];
        let bytes = bytes + frames * plan.overhead_bytes;
        let idle = self.queued_packets() == 0;
        let free_ns = self.clock.due_ns;
        let class = &mut self.classes[id as usize];

        let room = class.queue.len() < params.queue_packets as usize;
        assert_eq!(place.is_some(), room);
        let Some(place) = place else {
            class.dropped += 1;
            return;
        };
        let packet = Packet { place, bytes };
        class.enqueued += 1;
        let express = idle && class.clock.due_ns.max(free_ns) <= now_ns;
        assert_eq!(place == sys::TAKT_EXPRESS, express);
        if express {
            class.clock.start(now_ns);
            class.clock.advance(params.rate_bps, bytes);
            self.clock.start(now_ns);
            self.clock.advance(plan.link.rate_bps, bytes);
            class.sent += 1;
            class.sent_bytes += u64::from(bytes);
            self.express = Some((id, packet));
            return;
        }
        if class.queue.is_empty() {
            class.clock.start(now_ns);
            class.priority = params.priority;
        }
        class.queue.push_back(packet);
    }

    /// Who has to go first: of those that are due, the best priority and then
    /// the earliest; if nobody is due, whoever is soonest.
    fn first(&self, now_ns: u64) -> Option<(u32, u64)> {
        let waiting = || {
            (0..)
                .zip(&self.classes)
                .filter(|(_, class)| !class.queue.is_empty())
                .map(|(id, class)| (class.priority, class.clock.due_ns, id))
        };
        let due = waiting().filter(|(_, due_ns, _)| *due_ns <= now_ns).min();
        let soonest = waiting().min_by_key(|(_, due_ns, _)| *due_ns);
        due.or(soonest).map(|(_, due_ns, id)| (id, due_ns))
    }

    /// Was this the right answer?
    pub fn dequeue(&mut self, plan: &takt_plan, now_ns: u64, answer: Dequeued) {
        if let Some((id, packet)) = self.express.take() {
            let Packet { place, bytes } = packet;
            let class = id;
            assert_eq!(
                answer,
                Dequeued::Packet {
                    place,
                    class,
                    bytes
                }
            );
            return;
        }
        let Some((id, due_ns)) = self.first(now_ns) else {
            assert_eq!(answer, Dequeued::Empty);
            return;
        };
        let ideal_ns = due_ns.max(self.clock.due_ns);
        if ideal_ns > now_ns {
            let Dequeued::Wait { until_ns } = answer else {
                panic!("{answer:?} at {now_ns}, too early for {ideal_ns}");
            };
            // For a class that is far ahead the link looks again on the way,
            // when the calendar turns to a bucket.
            let on_the_way = until_ns % BUCKET_NS == 0 || until_ns == self.clock.due_ns;
            assert!(until_ns == ideal_ns || (until_ns < ideal_ns && on_the_way));
            return;
        }
        let Dequeued::Packet {
            place,
            class,
            bytes,
        } = answer
        else {
            panic!("{answer:?} at {now_ns}, when class {id} was due at {due_ns}");
        };
        // Several may be due at the very same moment.
        let chosen = &mut self.classes[class as usize];
        let chosen_due_ns = chosen.clock.due_ns;
        assert_eq!(chosen_due_ns, due_ns);
        assert_eq!(chosen.queue.pop_front(), Some(Packet { place, bytes }));

        let floor_ns = now_ns.saturating_sub(plan.link.lag_max_ns);
        let params = &plan.class_params[class as usize];
        chosen.clock.start(floor_ns);
        chosen.clock.advance(params.rate_bps, bytes);
        chosen.priority = params.priority;
        chosen.sent += 1;
        chosen.sent_bytes += u64::from(bytes);
        chosen.late_max_ns = chosen.late_max_ns.max(now_ns - ideal_ns);
        self.clock.start(ideal_ns.max(floor_ns));
        self.clock.advance(plan.link.rate_bps, bytes);
    }

    pub fn flush(&mut self) {
        if let Some((id, packet)) = self.express.take() {
            let class = &mut self.classes[id as usize];
            class.sent -= 1;
            class.sent_bytes -= u64::from(packet.bytes);
            class.flushed += 1;
        }
        for class in &mut self.classes {
            class.flushed += class.queue.len() as u64;
            class.queue.clear();
        }
    }

    /// Is the link where the model is, in every clock and counter?
    pub fn check(&self, link: &takt_algo::Link) {
        assert_eq!(link.queued_packets(), self.queued_packets());
        assert_eq!(link.free_ns(), self.clock.due_ns);
        for (id, class) in (0..).zip(&self.classes) {
            let real = link.element(id);
            assert_eq!(real.clock.due_ns, class.clock.due_ns);
            assert_eq!(real.clock.rem, class.clock.rem);
            assert_eq!(real.queued_packets as usize, class.queue.len());
            let queued_bytes: u64 = class.queue.iter().map(|p| u64::from(p.bytes)).sum();
            assert_eq!(real.queued_bytes, queued_bytes);

            let stats = &real.stats;
            assert_eq!(stats.enqueued_packets, class.enqueued);
            assert_eq!(stats.sent_packets, class.sent);
            assert_eq!(stats.sent_bytes, class.sent_bytes);
            assert_eq!(stats.dropped_packets, class.dropped);
            assert_eq!(stats.flushed_packets, class.flushed);
            assert_eq!(stats.late_max_ns, class.late_max_ns);
            // Nothing appears and nothing vanishes.
            assert_eq!(
                stats.enqueued_packets,
                stats.sent_packets + stats.flushed_packets + u64::from(real.queued_packets)
            );
            assert_eq!(
                stats.enqueued_bytes,
                stats.sent_bytes + stats.flushed_bytes + queued_bytes
            );
        }
    }
}
