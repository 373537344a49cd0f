//! The link's vectors.

mod sharing;
mod stations;

use takt_algo::sys::{TAKT_BACKGROUND, TAKT_CPU_IDLE, TAKT_FAST_PATH, TAKT_TASK_UNKNOWN};

use super::{Answer, Call, Class, Link, Plan};
use crate::{Failure, concept::Vector, recorder::Recorder};

pub fn all() -> Result<Vec<Vector<Link>>, Failure> {
    Ok(vec![
        one_class()?,
        five_classes()?,
        short_link()?,
        priorities()?,
        fast_path()?,
        limits()?,
        segments()?,
        late_timer()?,
        another_plan()?,
        going_down()?,
        slow_classes()?,
        sharing::sharing()?,
        sharing::borrowing()?,
        sharing::spare_by_weight()?,
        sharing::floors()?,
        sharing::tenants()?,
        sharing::tenants_change()?,
        no_overtaking()?,
        gate()?,
        stations::stations()?,
        stations::stations_come_and_go()?,
    ])
}

/// A link with its traffic: it remembers what a qdisc would.
struct Wire {
    recorder: Recorder<Link>,
    now_ns: u64,
    queued: u32,
    /// The fast path's slot is taken.
    fast: bool,
    /// Priority of the task that sends the next packets.
    sender: u32,
}

const MBIT: u64 = 1_000_000;

fn plan(rate_bps: u64, classes: &[Class]) -> Plan {
    Plan {
        rate_bps,
        lag_max_ns: 10_000_000,
        overhead_bytes: 24,
        stations: false,
        classes: classes.to_vec(),
    }
}

fn class(id: u32, rate_bps: u64, priority: u8) -> Class {
    Class {
        id,
        rate_bps,
        ceil_bps: None,
        weight_bps: None,
        floor_bps: 0,
        queue_packets: 100,
        priority,
        gated: false,
        node: 0,
        heads: 0,
    }
}

/// Guaranteed `rate_bps`, up to `ceil_bps`; 0 is the link's rate.
fn borrower(id: u32, rate_bps: u64, ceil_bps: u64, weight_bps: u64) -> Class {
    Class {
        ceil_bps: Some(ceil_bps),
        weight_bps: Some(weight_bps),
        ..class(id, rate_bps, 3)
    }
}

impl Wire {
    fn new(name: &str, plan: Plan) -> Result<Self, Failure> {
        Ok(Self {
            recorder: Recorder::new(name, plan)?,
            now_ns: 1_000_000,
            queued: 0,
            fast: false,
            sender: TAKT_TASK_UNKNOWN,
        })
    }

    fn arrive(&mut self, class: u32, bytes: u32, frames: u32) -> Result<(), Failure> {
        self.arrive_behind(class, 0, bytes, frames)
    }

    /// The previous plan would have put it into class `before`.
    fn arrive_behind(
        &mut self,
        class: u32,
        before: u32,
        bytes: u32,
        frames: u32,
    ) -> Result<(), Failure> {
        let answer = self.recorder.call(Call::Enqueue {
            class,
            before,
            bytes,
            frames,
            idle: self.queued == 0,
            task_prio: self.sender,
            now_ns: self.now_ns,
        })?;
        if let Answer::Kept { slot } = answer {
            self.queued += 1;
            self.fast |= slot == TAKT_FAST_PATH;
        }
        Ok(())
    }

    /// The device asks for a packet; returns the link's wake time if it has to be asked again.
    fn ask(&mut self) -> Result<Answer, Failure> {
        if std::mem::take(&mut self.fast) {
            self.queued -= 1;
            return Ok(Answer::Nothing);
        }
        let answer = self.recorder.call(Call::Dequeue {
            now_ns: self.now_ns,
        })?;
        self.queued -= u32::from(matches!(answer, Answer::Packet { .. }));
        Ok(answer)
    }

    /// Asks until all packets are sent, with a timer that is late by this.
    fn drain(&mut self, late_ns: u64) -> Result<(), Failure> {
        while self.queued > 0 {
            if let Answer::Wait { until_ns } = self.ask()? {
                self.now_ns = until_ns + late_ns;
            }
        }
        Ok(())
    }

    fn done(mut self, classes: &[u32]) -> Result<Vector<Link>, Failure> {
        for class in classes {
            self.recorder.call(Call::Counters { class: *class })?;
        }
        Ok(self.recorder.done())
    }
}

fn one_class() -> Result<Vector<Link>, Failure> {
    let classes = [class(1, 100 * MBIT, 0)];
    let mut wire = Wire::new("one class at an exact pace", plan(1000 * MBIT, &classes))?;
    for _ in 0..4 {
        wire.arrive(1, 1514, 1)?;
    }
    wire.drain(0)?;
    wire.done(&[1])
}

fn five_classes() -> Result<Vector<Link>, Failure> {
    let rates = [(1, 40), (2, 40), (3, 40), (4, 20), (5, 20)];
    let classes = rates.map(|(id, mbit)| class(id, mbit * MBIT, 0));
    let mut wire = Wire::new(
        "40, 40, 40, 20 and 20 Mbit/s share a wire",
        plan(1000 * MBIT, &classes),
    )?;
    for id in 1..=5 {
        for _ in 0..if id > 3 { 2 } else { 4 } {
            wire.arrive(id, 1514, 1)?;
        }
    }
    wire.drain(0)?;
    wire.done(&[1, 5])
}

fn short_link() -> Result<Vector<Link>, Failure> {
    let classes = [
        class(1, 8 * MBIT, 0),
        class(2, 8 * MBIT, 0),
        class(3, 4 * MBIT, 0),
    ];
    let mut wire = Wire::new(
        "twenty on a link of ten: none starves",
        plan(10 * MBIT, &classes),
    )?;
    for _ in 0..5 {
        for id in 1..=3 {
            wire.arrive(id, 1476, 1)?;
        }
    }
    wire.drain(0)?;
    wire.done(&[1, 2, 3])
}

fn priorities() -> Result<Vector<Link>, Failure> {
    let classes = [
        class(1, 6 * MBIT, 7),
        class(2, 6 * MBIT, 0),
        class(3, 6 * MBIT, 3),
    ];
    let mut wire = Wire::new(
        "the best priority that is due goes first",
        plan(10 * MBIT, &classes),
    )?;
    for _ in 0..4 {
        for id in 1..=3 {
            wire.arrive(id, 976, 1)?;
        }
    }
    wire.drain(0)?;
    wire.done(&[1, 2, 3])
}

fn fast_path() -> Result<Vector<Link>, Failure> {
    let classes = [class(1, MBIT, 0), class(2, MBIT, 0)];
    let mut wire = Wire::new(
        "a packet that finds empty queues takes the fast path",
        plan(1000 * MBIT, &classes),
    )?;
    wire.arrive(1, 100, 1)?;
    wire.drain(0)?;
    wire.now_ns += 500_000;
    // Not due yet; then the other class is backlogged.
    wire.arrive(1, 100, 1)?;
    wire.arrive(2, 100, 1)?;
    wire.drain(0)?;
    wire.now_ns += 100_000_000;
    wire.arrive(2, 100, 1)?;
    wire.drain(0)?;
    wire.done(&[1, 2])
}

fn limits() -> Result<Vector<Link>, Failure> {
    let classes = [
        Class {
            queue_packets: 2,
            ..class(4095, MBIT, 1)
        },
        Class {
            queue_packets: 0,
            ..class(9, MBIT, 0)
        },
    ];
    let mut wire = Wire::new(
        "a full queue drops, and one of length nought drops all",
        plan(10 * MBIT, &classes),
    )?;
    for _ in 0..5 {
        wire.arrive(4095, 1000, 1)?;
        wire.arrive(9, 1000, 1)?;
    }
    wire.drain(0)?;
    wire.done(&[4095, 9])
}

fn segments() -> Result<Vector<Link>, Failure> {
    let classes = [class(1, 50 * MBIT, 0)];
    let mut wire = Wire::new(
        "a large segment pays for all its frames",
        plan(1000 * MBIT, &classes),
    )?;
    wire.arrive(1, 45_420, 30)?;
    wire.arrive(1, 3_028, 2)?;
    wire.arrive(1, 1_514, 1)?;
    wire.drain(0)?;
    wire.done(&[1])
}

fn late_timer() -> Result<Vector<Link>, Failure> {
    let classes = [class(1, 3 * MBIT, 0), class(2, 7 * MBIT, 0)];
    let mut wire = Wire::new(
        "a timer that is a millisecond late",
        plan(100 * MBIT, &classes),
    )?;
    for _ in 0..4 {
        wire.arrive(1, 700, 1)?;
        wire.arrive(2, 1400, 1)?;
    }
    wire.drain(1_000_000)?;
    // Much later than what it may catch up with.
    wire.now_ns += 1_000_000_000;
    for _ in 0..3 {
        wire.arrive(1, 700, 1)?;
        wire.arrive(2, 1400, 1)?;
    }
    wire.now_ns += 1_000_000_000;
    wire.drain(0)?;
    wire.done(&[1, 2])
}

fn another_plan() -> Result<Vector<Link>, Failure> {
    let before = [
        class(1, 10 * MBIT, 0),
        class(2, 10 * MBIT, 0),
        class(3, 10 * MBIT, 0),
    ];
    let mut wire = Wire::new(
        "another rate, another priority, and a class that leaves",
        plan(100 * MBIT, &before),
    )?;
    for _ in 0..4 {
        for id in 1..=3 {
            wire.arrive(id, 976, 1)?;
        }
    }
    wire.ask()?;
    wire.ask()?;
    let leaving = Class {
        queue_packets: 0,
        ..class(3, 100 * MBIT, 6)
    };
    let after = [class(1, 20 * MBIT, 0), class(2, 10 * MBIT, 4), leaving];
    wire.recorder
        .call(Call::Replace(plan(100 * MBIT, &after)))?;
    wire.arrive(3, 976, 1)?;
    wire.drain(0)?;
    wire.done(&[1, 2, 3])
}

fn going_down() -> Result<Vector<Link>, Failure> {
    let classes = [class(1, 10 * MBIT, 0), class(2, 1000, 5)];
    let mut wire = Wire::new(
        "the device goes down, and comes up again",
        plan(100 * MBIT, &classes),
    )?;
    for _ in 0..3 {
        wire.arrive(1, 976, 1)?;
        wire.arrive(2, 976, 1)?;
    }
    wire.recorder.call(Call::FlushFastPath)?;
    wire.queued -= 1;
    while wire.queued > 0 {
        if let Answer::GivenUp { .. } = wire.recorder.call(Call::Flush)? {
            wire.queued -= 1;
        }
    }
    wire.fast = false;
    wire.now_ns += 1_000_000_000;
    wire.arrive(1, 976, 1)?;
    wire.arrive(1, 976, 1)?;
    wire.drain(0)?;
    wire.done(&[1, 2])
}

fn slow_classes() -> Result<Vector<Link>, Failure> {
    let classes = [class(1, 1_009, 0), class(2, 4_001, 0), class(3, 2_003, 2)];
    let mut wire = Wire::new(
        "seconds between packets, beyond the calendar's ring",
        plan(100 * MBIT, &classes),
    )?;
    for _ in 0..3 {
        for id in 1..=3 {
            wire.arrive(id, 600, 1)?;
        }
    }
    wire.drain(123)?;
    wire.done(&[1, 2, 3])
}

fn no_overtaking() -> Result<Vector<Link>, Failure> {
    let classes = [class(1, MBIT, 3), class(2, 50 * MBIT, 0)];
    let mut wire = Wire::new(
        "a packet that a new plan puts elsewhere waits for those before it",
        plan(100 * MBIT, &classes),
    )?;
    for _ in 0..3 {
        wire.arrive(1, 976, 1)?;
    }
    wire.recorder
        .call(Call::Replace(plan(100 * MBIT, &classes)))?;
    wire.arrive(1, 976, 1)?;
    for _ in 0..2 {
        wire.arrive_behind(2, 1, 976, 1)?;
    }
    wire.drain(0)?;
    wire.done(&[1, 2])
}

fn gate() -> Result<Vector<Link>, Failure> {
    const NICE_0: u32 = 122;
    const NICE_10: u32 = 132;
    const NICE_19: u32 = 141;
    let gated = |id| Class {
        gated: true,
        ..class(id, 0, TAKT_BACKGROUND as u8)
    };
    let mut wire = Wire::new(
        "the background yields to more important tasks",
        plan(100 * MBIT, &[class(1, 10 * MBIT, 3), gated(2), gated(3)]),
    )?;
    let run = |wire: &mut Wire, task_prio| wire.recorder.call(Call::Running { task_prio });
    run(&mut wire, NICE_0)?;
    for (class, sender) in [(2, NICE_19), (3, NICE_10), (1, NICE_0), (2, NICE_19)] {
        wire.sender = sender;
        wire.arrive(class, 976, 1)?;
    }
    // The important class goes; the others are blocked, and checked again.
    for _ in 0..2 {
        wire.ask()?;
    }
    wire.now_ns += 1_000_000;
    wire.ask()?;
    // The gate opens for one of them, closes, and opens for both.
    run(&mut wire, NICE_10)?;
    wire.ask()?;
    run(&mut wire, NICE_0)?;
    wire.now_ns += 1_000_000;
    wire.ask()?;
    run(&mut wire, TAKT_CPU_IDLE)?;
    wire.now_ns += 1_000_000;
    wire.drain(0)?;
    wire.done(&[1, 2, 3])
}
