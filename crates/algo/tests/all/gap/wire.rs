//! A wire on which every byte counts, and its feeder.

use takt_algo::{
    GapLink, Left,
    sys::{TAKT_GAP_LEN_MIN, TAKT_GAP_STEP, TAKT_PACING_GAP, takt_class_params, takt_plan},
    zeroed_box,
};

pub const LONGEST: u32 = 1514;
pub const OVERHEAD: u32 = 24;
pub const LINK_BPS: u64 = 100_000_000;

/// Classes 1, 2, 3 … of these rates on a link of 100 Mbit/s.
pub fn plan(rates_bps: &[u64]) -> Box<takt_plan> {
    plan_of(TAKT_PACING_GAP, rates_bps)
}

/// ... that is paced so.
pub fn plan_of(pacing: u32, rates_bps: &[u64]) -> Box<takt_plan> {
    let mut plan = zeroed_box::<takt_plan>();
    plan.link.rate_bps = LINK_BPS;
    plan.link.lag_max_ns = 10_000_000;
    plan.framing.overhead_bytes = OVERHEAD as i32;
    plan.pacing = pacing;
    for (params, rate_bps) in plan.class_params[1..].iter_mut().zip(rates_bps) {
        *params = takt_class_params {
            rate_bps: *rate_bps,
            ceil_bps: *rate_bps,
            weight_bps: *rate_bps,
            queue_packets: 1000,
            ..takt_class_params::default()
        };
    }
    plan
}

/// A frame of a class, and its begin on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    pub class: u32,
    pub at_bytes: u64,
    /// ... on a wire that is idle where nothing is sent.
    pub at_ns: u64,
}

pub struct Wire {
    pub link: GapLink,
    pub plan: Box<takt_plan>,
    pub now_ns: u64,
    pub position_bytes: u64,
    pub frames: Vec<Frame>,
    /// How far the wire's bytes were ahead of the time at most.
    pub ahead_max_ns: u64,
    started_ns: u64,
    free_ns: u64,
}

impl Wire {
    pub fn new(plan: Box<takt_plan>, start_ns: u64) -> Self {
        Self {
            link: GapLink::new(LONGEST, 500),
            plan,
            now_ns: start_ns,
            position_bytes: 0,
            frames: Vec::new(),
            ahead_max_ns: 0,
            started_ns: start_ns,
            free_ns: start_ns,
        }
    }

    /// Fills up every basic length.
    pub fn feed(&mut self, of_each: u16) {
        let fine = TAKT_GAP_LEN_MIN..TAKT_GAP_LEN_MIN + TAKT_GAP_STEP;
        let coarse = (TAKT_GAP_LEN_MIN..LONGEST)
            .step_by(TAKT_GAP_STEP as usize)
            .skip(1);
        for len in fine.chain(coarse).chain([LONGEST]) {
            while self.link.gap().lengths[len as usize].stocked < of_each {
                self.link.store(&self.plan, len).expect("there are slots");
            }
        }
    }

    pub fn enqueue(&mut self, class: u32, bytes: u32) {
        assert!(self.link.enqueue(&self.plan, class, bytes, self.now_ns));
    }

    /// Asks for one frame.
    pub fn dequeue(&mut self) -> Left {
        let left = self.link.dequeue(&self.plan, self.now_ns);
        match left {
            Left::Packet { class, wire_bytes } => {
                let at_ns = self.carry(wire_bytes);
                self.frames.push(Frame {
                    class,
                    at_bytes: self.position_bytes,
                    at_ns,
                });
                self.position_bytes += u64::from(wire_bytes);
            }
            Left::Gap { wire_bytes, .. } => {
                self.carry(wire_bytes);
                self.position_bytes += u64::from(wire_bytes);
            }
            Left::Wait { .. } | Left::Empty => {}
        }
        let sent_ns = self.position_bytes * 8_000_000_000 / LINK_BPS;
        let ahead_ns = (self.started_ns + sent_ns).saturating_sub(self.now_ns);
        self.ahead_max_ns = self.ahead_max_ns.max(ahead_ns);
        left
    }

    /// A frame goes to the wire as soon as that is free; returns when.
    fn carry(&mut self, wire_bytes: u32) -> u64 {
        let at_ns = self.free_ns.max(self.now_ns);
        self.free_ns = at_ns + u64::from(wire_bytes) * 8_000_000_000 / LINK_BPS;
        at_ns
    }

    /// Keeps these classes backlogged with frames of this many bytes until each has sent
    /// `frames`, with a timer that is late by turns and a feeder that runs now and then.
    pub fn saturate(&mut self, classes: u32, bytes: u32, frames: usize, late_ns: u64) {
        for class in 1..=classes {
            self.enqueue(class, bytes);
            self.enqueue(class, bytes);
        }
        let (mut turn, mut fed_ns) = (0, 0);
        while self.frames.len() < frames * classes as usize {
            if self.now_ns >= fed_ns + 500_000 {
                self.feed(48);
                fed_ns = self.now_ns;
            }
            match self.dequeue() {
                Left::Packet { class, .. } => self.enqueue(class, bytes),
                Left::Gap { .. } => {}
                Left::Wait { until_ns } => {
                    turn = (turn + 7) % 11;
                    self.now_ns = self.now_ns.max(until_ns) + late_ns * turn / 10;
                }
                Left::Empty => panic!("every class has packets"),
            }
        }
    }

    /// Times between a class's frames.
    pub fn intervals_ns(&self, class: u32) -> Vec<u64> {
        let of_class = self.frames.iter().filter(|frame| frame.class == class);
        let times_ns: Vec<u64> = of_class.map(|frame| frame.at_ns).collect();
        times_ns.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Distances on the wire between a class's frames.
    pub fn spacings(&self, class: u32) -> Vec<u64> {
        let positions: Vec<u64> = self
            .frames
            .iter()
            .filter(|frame| frame.class == class)
            .map(|frame| frame.at_bytes)
            .collect();
        positions.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}
