//! A plain model of the link: lists that are searched from one end to the other, and clocks in
//! exact fractions. Every class is paced.
//!
//! It takes only one value from the link: how long recent frames were.

use std::collections::VecDeque;

use takt_algo::{
    Dequeued,
    sys::{self, TAKT_PRIORITIES, takt_plan},
};

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

/// A packet in the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    pub slot: u32,
    pub bytes: u32,
}

#[derive(Default)]
pub struct Class {
    clock: Clock,
    queue: VecDeque<Packet>,
    /// Of the plan that was in force when its first packet was queued.
    priority: usize,
    pub enqueued: u64,
    pub sent: u64,
    pub sent_bytes: u64,
    pub dropped: u64,
    pub flushed: u64,
    pub late_max_ns: u64,
}

pub struct Link {
    clock: Clock,
    fast: Option<(u32, Packet)>,
    /// How far each priority's clock is behind real time.
    behind_ns: [u64; TAKT_PRIORITIES as usize],
    /// The most entities that were recently backlogged at once, times 4.
    crowd: [usize; TAKT_PRIORITIES as usize],
    pub classes: Vec<Class>,
}

impl Link {
    pub fn new(classes: usize) -> Self {
        Self {
            clock: Clock::default(),
            fast: None,
            behind_ns: [0; TAKT_PRIORITIES as usize],
            crowd: [0; TAKT_PRIORITIES as usize],
            classes: (0..classes).map(|_| Class::default()).collect(),
        }
    }

    pub fn queued_packets(&self) -> u32 {
        let backlogged: usize = self.classes.iter().map(|class| class.queue.len()).sum();
        backlogged as u32 + u32::from(self.fast.is_some())
    }

    /// The time of this priority's clock.
    fn clock_ns(&self, priority: usize, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.behind_ns[priority])
    }

    /// The backlogged classes of a priority, and when each is due by its clock.
    fn backlogged(&self, priority: usize) -> impl Iterator<Item = (u64, u32)> {
        (0..)
            .zip(&self.classes)
            .filter(move |(_, class)| !class.queue.is_empty() && class.priority == priority)
            .map(|(id, class)| (class.clock.due_ns, id))
    }

    /// The class now has this priority, whose clock shows another time.
    fn change_priority(&mut self, id: u32, priority: usize) {
        let to_ns = self.behind_ns[priority];
        let class = &mut self.classes[id as usize];
        if class.priority != priority {
            let due_ns = class.clock.due_ns + self.behind_ns[class.priority];
            class.clock.due_ns = due_ns.saturating_sub(to_ns);
            class.priority = priority;
        }
    }

    /// The link is asked for the first time since the plan was replaced.
    pub fn replace(&mut self, plan: &takt_plan, link: &takt_algo::Link, now_ns: u64) {
        if self.fast.is_some()
            || self.queued_packets() == 0
            || link.state().queued_generation == plan.generation as u32
        {
            return;
        }
        for id in 0..self.classes.len() as u32 {
            let priority = usize::from(plan.class_params[id as usize].priority);
            let class = &self.classes[id as usize];
            if !class.queue.is_empty() && class.priority != priority {
                self.change_priority(id, priority);
                let clock_ns = self.clock_ns(priority, now_ns);
                self.classes[id as usize].clock.start(clock_ns);
            }
        }
    }

    /// Checks the answer to this arrival.
    #[allow(clippy::too_many_arguments)]
    pub fn enqueue(
        &mut self,
        plan: &takt_plan,
        link: &takt_algo::Link,
        id: u32,
        bytes: u32,
        frames: u32,
        now_ns: u64,
        slot: Option<u32>,
    ) {
        let params = &plan.class_params[id as usize];
        let priority = usize::from(params.priority);
        let bytes = plan.framing.packet_bytes(bytes, frames, 0);
        let idle = self.queued_packets() == 0;

        let room = self.classes[id as usize].queue.len() < params.queue_packets as usize;
        assert_eq!(slot.is_some(), room, "{}", link.queued_packets());
        let Some(slot) = slot else {
            self.classes[id as usize].dropped += 1;
            return;
        };
        if self.classes[id as usize].queue.is_empty() {
            self.change_priority(id, priority);
        }
        let clock_ns = self.clock_ns(priority, now_ns);
        let first_ns = self.backlogged(priority).map(|(due_ns, _)| due_ns).min();
        let class = &mut self.classes[id as usize];
        let packet = Packet { slot, bytes };
        class.enqueued += 1;
        let fast = idle && self.clock.due_ns <= now_ns && class.clock.due_ns <= clock_ns;
        assert_eq!(slot == sys::TAKT_FAST_PATH, fast);
        if fast {
            class.clock.start(clock_ns);
            class.clock.advance(params.rate_bps, bytes);
            self.clock.start(now_ns);
            self.clock.advance(plan.link.rate_bps, bytes);
            class.sent += 1;
            class.sent_bytes += u64::from(bytes);
            self.fast = Some((id, packet));
            return;
        }
        if class.queue.is_empty() {
            // Level with the first, if that is late.
            class
                .clock
                .start(first_ns.map_or(clock_ns, |first_ns| clock_ns.min(first_ns)));
        }
        class.queue.push_back(packet);
    }

    /// When the first has to go, and its class: of the due classes, the best priority and then
    /// the earliest; if none is due, the earliest.
    fn first(&self, now_ns: u64) -> Option<(u64, usize)> {
        let firsts = || {
            (0..self.behind_ns.len()).filter_map(|priority| {
                let (due_ns, _) = self.backlogged(priority).min()?;
                Some((due_ns + self.behind_ns[priority], priority))
            })
        };
        let due = firsts().find(|(due_ns, _)| *due_ns <= now_ns);
        due.or_else(|| firsts().min())
    }

    /// Checks this answer.
    pub fn dequeue(
        &mut self,
        plan: &takt_plan,
        link: &takt_algo::Link,
        now_ns: u64,
        answer: Dequeued,
    ) {
        if let Some((id, packet)) = self.fast.take() {
            let Packet { slot, bytes } = packet;
            let class = id;
            assert_eq!(answer, Dequeued::Packet { slot, class, bytes });
            return;
        }
        let Some((due_ns, priority)) = self.first(now_ns) else {
            assert_eq!(answer, Dequeued::Empty);
            return;
        };
        let free_ns = self.clock.due_ns;
        let ideal_ns = due_ns.max(free_ns);
        if ideal_ns > now_ns {
            let Dequeued::Wait { until_ns } = answer else {
                panic!("{answer:?} at {now_ns}, too early for {ideal_ns}");
            };
            // For a class that is far ahead, and while a new plan takes effect, the link looks
            // again in between.
            assert!(now_ns < until_ns && until_ns <= ideal_ns);
            return;
        }
        let Dequeued::Packet { slot, class, bytes } = answer else {
            panic!("{answer:?} at {now_ns}, when one of priority {priority} was due at {due_ns}");
        };
        // Several may be due at the same time.
        let chosen = &self.classes[class as usize];
        assert_eq!(chosen.priority, priority);
        assert_eq!(chosen.clock.due_ns + self.behind_ns[priority], due_ns);

        let crowd = 4 * self.backlogged(priority).count();
        self.crowd[priority] = crowd.max(self.crowd[priority].saturating_sub(1));
        // The clock of the priority stops for a class that is too late.
        let mut lag_max_ns = plan.link.lag_max_ns;
        let busy_ns = now_ns.min(free_ns);
        if busy_ns > due_ns {
            let better: usize = (0..priority).map(|p| self.backlogged(p).count()).sum();
            let all = (1 + better + self.crowd[priority] / 3) as u64;
            let mut bound_ns = all * link.state().order.node[0].frame_ns;
            if better > 0 {
                bound_ns = bound_ns.max(lag_max_ns);
            }
            self.behind_ns[priority] += (busy_ns - due_ns).saturating_sub(bound_ns);
            lag_max_ns += bound_ns;
        }
        let floor_ns = self.clock_ns(priority, now_ns).saturating_sub(lag_max_ns);
        let params = &plan.class_params[class as usize];
        let chosen = &mut self.classes[class as usize];
        assert_eq!(chosen.queue.pop_front(), Some(Packet { slot, bytes }));
        chosen.clock.start(floor_ns);
        chosen.clock.advance(params.rate_bps, bytes);
        chosen.sent += 1;
        chosen.sent_bytes += u64::from(bytes);
        chosen.late_max_ns = chosen.late_max_ns.max(now_ns - ideal_ns);
        let floor_ns = now_ns.saturating_sub(plan.link.lag_max_ns);
        self.clock.start(ideal_ns.max(floor_ns));
        self.clock.advance(plan.link.rate_bps, bytes);
    }

    pub fn flush(&mut self) {
        if let Some((id, packet)) = self.fast.take() {
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

    /// Compares every clock and counter of the link with the model.
    pub fn check(&self, link: &takt_algo::Link) {
        assert_eq!(link.queued_packets(), self.queued_packets());
        assert_eq!(link.free_ns(), self.clock.due_ns);
        assert_eq!(link.state().order.node[0].behind_ns, self.behind_ns);
        for (id, class) in (0..).zip(&self.classes) {
            let real = link.entity(id);
            assert_eq!(real.pace.due_ns, class.clock.due_ns);
            assert_eq!(real.pace.rem, class.clock.rem);
            assert_eq!(real.queue.packets as usize, class.queue.len());
            let queued_bytes: u64 = class.queue.iter().map(|p| u64::from(p.bytes)).sum();
            assert_eq!(real.queue.bytes, queued_bytes);

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
                stats.sent_packets + stats.flushed_packets + u64::from(real.queue.packets)
            );
            assert_eq!(
                stats.enqueued_bytes,
                stats.sent_bytes + stats.flushed_bytes + queued_bytes
            );
        }
    }
}
