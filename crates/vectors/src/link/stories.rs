//! What the link's vectors tell.

use takt_algo::sys::{TAKT_BACKGROUND, TAKT_EXPRESS, TAKT_TASK_NOBODY, TAKT_TASK_UNKNOWN};

use super::{Answer, Call, Class, Link, Plan};
use crate::{Failure, concept::Vector, recorder::Recorder};

pub fn all() -> Result<Vec<Vector<Link>>, Failure> {
    Ok(vec![
        one_class()?,
        five_classes()?,
        short_link()?,
        priorities()?,
        express()?,
        limits()?,
        segments()?,
        late_timer()?,
        another_plan()?,
        going_down()?,
        slow_classes()?,
        sharing()?,
        borrowing()?,
        spare_by_weight()?,
        floors()?,
        tenants()?,
        tenants_change()?,
        no_overtaking()?,
        gate()?,
        stations()?,
        stations_come_and_go()?,
    ])
}

/// A link with its traffic: remembers what a qdisc would.
struct Wire {
    recorder: Recorder<Link>,
    now_ns: u64,
    queued: u32,
    /// The express place is taken.
    express: bool,
    /// Priority of the task that sends what arrives.
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
        group: 0,
        heads: 0,
    }
}

/// Guaranteed `rate_bps`, up to `ceil_bps`; 0 is as much as the link has.
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
            express: false,
            sender: TAKT_TASK_UNKNOWN,
        })
    }

    fn arrive(&mut self, class: u32, bytes: u32, frames: u32) -> Result<(), Failure> {
        self.arrive_behind(class, 0, bytes, frames)
    }

    /// The plan before would have given it to class `before`.
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
        if let Answer::Kept { place } = answer {
            self.queued += 1;
            self.express |= place == TAKT_EXPRESS;
        }
        Ok(())
    }

    /// The device asks for a packet; what the link says if it has to be asked.
    fn ask(&mut self) -> Result<Answer, Failure> {
        if std::mem::take(&mut self.express) {
            self.queued -= 1;
            return Ok(Answer::Nothing);
        }
        let answer = self.recorder.call(Call::Dequeue {
            now_ns: self.now_ns,
        })?;
        self.queued -= u32::from(matches!(answer, Answer::Packet { .. }));
        Ok(answer)
    }

    /// Ask until all is sent, with a timer that is so late.
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
        "twenty on a link of ten: nobody starves",
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

fn express() -> Result<Vector<Link>, Failure> {
    let classes = [class(1, MBIT, 0), class(2, MBIT, 0)];
    let mut wire = Wire::new(
        "who finds nobody waiting goes express",
        plan(1000 * MBIT, &classes),
    )?;
    wire.arrive(1, 100, 1)?;
    wire.drain(0)?;
    wire.now_ns += 500_000;
    // Not due yet; then the other class finds somebody waiting.
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
    // Much later than may be caught up.
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
    wire.recorder.call(Call::FlushExpress)?;
    wire.queued -= 1;
    while wire.queued > 0 {
        if let Answer::GivenUp { .. } = wire.recorder.call(Call::Flush)? {
            wire.queued -= 1;
        }
    }
    wire.express = false;
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

/// Each always has something to send, until so much time has passed.
fn busy(wire: &mut Wire, classes: &[(u32, u32)], until_ns: u64) -> Result<(), Failure> {
    for (id, bytes) in classes {
        wire.arrive(*id, *bytes, 1)?;
        wire.arrive(*id, *bytes, 1)?;
    }
    while wire.now_ns < until_ns {
        match wire.ask()? {
            Answer::Wait { until_ns } => wire.now_ns = until_ns,
            Answer::Packet { class, .. } => {
                if let Some((id, bytes)) = classes.iter().find(|(id, _)| *id == class) {
                    wire.arrive(*id, *bytes, 1)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn sharing() -> Result<Vector<Link>, Failure> {
    let classes = [
        class(1, 40 * MBIT, 3),
        class(2, 40 * MBIT, 3),
        class(3, 20 * MBIT, 3),
        class(4, 20 * MBIT, 3),
    ];
    let mut wire = Wire::new(
        "120 on a link of 100: costs scale, and nobody bursts when others stop",
        plan(100 * MBIT, &classes),
    )?;
    let frames = [(1, 1476), (2, 976), (3, 1476), (4, 176)];
    busy(&mut wire, &frames, 3_000_000)?;
    busy(&mut wire, &frames[..1], 3_500_000)?;
    wire.drain(0)?;
    wire.done(&[1, 2, 3, 4])
}

fn borrowing() -> Result<Vector<Link>, Failure> {
    let classes = [
        borrower(1, 50 * MBIT, 80 * MBIT, 50 * MBIT),
        borrower(2, 30 * MBIT, 0, 30 * MBIT),
        class(3, 20 * MBIT, 3),
    ];
    let mut wire = Wire::new(
        "alone up to the ceiling, together what is guaranteed",
        plan(100 * MBIT, &classes),
    )?;
    busy(&mut wire, &[(1, 1476)], 2_000_000)?;
    busy(&mut wire, &[(1, 1476), (2, 1476), (3, 1476)], 4_000_000)?;
    wire.drain(0)?;
    wire.done(&[1, 2, 3])
}

fn spare_by_weight() -> Result<Vector<Link>, Failure> {
    let classes = [
        borrower(1, 10 * MBIT, 0, MBIT),
        borrower(2, 10 * MBIT, 0, 3 * MBIT),
        borrower(3, 0, 20 * MBIT, 400_000 * MBIT),
        // Far ahead in virtual time with every frame.
        borrower(4, 0, 0, 1000),
    ];
    let mut wire = Wire::new("what is spare, by weight", plan(100 * MBIT, &classes))?;
    let frames = [(1, 1476), (2, 1476), (3, 1476), (4, 1476)];
    busy(&mut wire, &frames, 3_000_000)?;
    wire.drain(0)?;
    wire.done(&[1, 2, 3, 4])
}

fn floors() -> Result<Vector<Link>, Failure> {
    let low = Class {
        floor_bps: 5 * MBIT,
        priority: 7,
        ..borrower(2, 0, 0, MBIT)
    };
    let mut wire = Wire::new(
        "a floor keeps a low priority from starving",
        plan(100 * MBIT, &[class(1, 100 * MBIT, 0), low]),
    )?;
    busy(&mut wire, &[(1, 1476), (2, 976)], 4_000_000)?;
    wire.drain(0)?;
    wire.done(&[1, 2])
}

fn with_tenants() -> Vec<Class> {
    let tenant = |id, heads, rate, ceil| Class {
        queue_packets: 0,
        heads,
        ..borrower(id, rate * MBIT, ceil * MBIT, rate * MBIT)
    };
    let of = |group, class| Class { group, ..class };
    vec![
        tenant(10, 1, 60, 80),
        tenant(20, 2, 40, 0),
        of(1, borrower(1, 40 * MBIT, 0, 40 * MBIT)),
        of(1, borrower(2, 20 * MBIT, 30 * MBIT, 20 * MBIT)),
        of(2, class(3, 10 * MBIT, 3)),
        of(2, borrower(4, 0, 0, MBIT)),
    ]
}

fn tenants() -> Result<Vector<Link>, Failure> {
    let mut wire = Wire::new(
        "tenants share what is theirs among their classes",
        plan(100 * MBIT, &with_tenants()),
    )?;
    busy(&mut wire, &[(1, 1476), (2, 976)], 2_000_000)?;
    busy(
        &mut wire,
        &[(1, 1476), (2, 976), (3, 1476), (4, 476)],
        4_000_000,
    )?;
    wire.drain(0)?;
    wire.done(&[1, 2, 3, 4, 10, 20])
}

fn tenants_change() -> Result<Vector<Link>, Failure> {
    let mut wire = Wire::new(
        "a tenant leaves under load, and another gets its group",
        plan(100 * MBIT, &with_tenants()),
    )?;
    for _ in 0..5 {
        for id in 1..=4 {
            wire.arrive(id, 1476, 1)?;
        }
    }
    for _ in 0..4 {
        wire.ask()?;
    }
    let mut after = with_tenants();
    after[0] = Class {
        queue_packets: 0,
        ..borrower(10, 0, 0, MBIT)
    };
    after.push(Class {
        id: 30,
        ..with_tenants()[0]
    });
    // One class stays with the group, one stands alone now, one comes over.
    after[3].group = 0;
    after[4].group = 1;
    wire.recorder
        .call(Call::Replace(plan(100 * MBIT, &after)))?;
    wire.arrive(1, 976, 1)?;
    wire.drain(0)?;
    wire.done(&[1, 2, 3, 4, 10, 20, 30])
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
    // The important class goes; the others are held, and looked at again.
    for _ in 0..2 {
        wire.ask()?;
    }
    wire.now_ns += 1_000_000;
    wire.ask()?;
    // For one of them the gate opens, closes, and opens for both.
    run(&mut wire, NICE_10)?;
    wire.ask()?;
    run(&mut wire, NICE_0)?;
    wire.now_ns += 1_000_000;
    wire.ask()?;
    run(&mut wire, TAKT_TASK_NOBODY)?;
    wire.now_ns += 1_000_000;
    wire.drain(0)?;
    wire.done(&[1, 2, 3])
}

/// MAC addresses of stations.
const FIRST: u64 = 0x0200_0000_0001;
const SECOND: u64 = 0x0200_0000_0002;
const THIRD: u64 = 0x0200_0000_0003;

/// Two classes of weight 1 and 3 that tell stations apart, on a link of 10 Mbit/s.
fn air(name: &str) -> Result<Wire, Failure> {
    let classes = [borrower(1, 0, 0, MBIT), borrower(2, 0, 0, 3 * MBIT)];
    let stations = Plan {
        stations: true,
        ..plan(10 * MBIT, &classes)
    };
    Wire::new(name, stations)
}

impl Wire {
    fn weigh(&mut self, station: u64, weight_ppm: u32) -> Result<(), Failure> {
        self.recorder.call(Call::Weigh {
            station,
            weight_ppm,
            by_hand: false,
        })?;
        Ok(())
    }

    fn beat(&mut self) -> Result<(), Failure> {
        let now_ns = self.now_ns;
        self.recorder.call(Call::Beat { now_ns })?;
        Ok(())
    }

    /// So many frames for a station, in a class. Their element.
    fn arrive_for(&mut self, station: u64, class: u32, frames: u32) -> Result<u32, Failure> {
        let mut element = 0;
        for _ in 0..frames {
            let now_ns = self.now_ns;
            let answer = self.recorder.call(Call::Station {
                class,
                station,
                now_ns,
            })?;
            if let Answer::Element { id } = answer {
                element = id;
                self.arrive(id, 976, 1)?;
            }
        }
        Ok(element)
    }

    /// Ask until so many frames have left, or nobody may go.
    fn let_out(&mut self, frames: u32) -> Result<(), Failure> {
        let left = self.queued.saturating_sub(frames);
        let mut asked = 0;
        while self.queued > left && asked < 4 * frames {
            asked += 1;
            if let Answer::Wait { until_ns } = self.ask()? {
                self.now_ns = until_ns;
            }
        }
        Ok(())
    }
}

fn stations() -> Result<Vector<Link>, Failure> {
    let mut wire = air("stations share by class and weight, and change while they wait")?;
    wire.weigh(FIRST, 1_000_000)?;
    wire.weigh(SECOND, 250_000)?;
    wire.beat()?;
    let mut elements = Vec::new();
    for station in [FIRST, SECOND] {
        for class in [1, 2] {
            elements.push(wire.arrive_for(station, class, 12)?);
        }
    }
    wire.let_out(12)?;
    // What was ahead by its weight is not held back by it any more; the other is held.
    wire.weigh(SECOND, 1_000_000)?;
    wire.weigh(FIRST, 0)?;
    wire.let_out(12)?;
    wire.weigh(FIRST, 1)?;
    wire.let_out(10)?;
    // Nobody alive: all are equal.
    wire.now_ns += 6_000_000_000;
    wire.drain(0)?;
    wire.done(&elements)
}

fn stations_come_and_go() -> Result<Vector<Link>, Failure> {
    let mut wire = air("a station that nobody knew, one that is forgotten, one in its place")?;
    let first = wire.arrive_for(FIRST, 1, 6)?;
    let second = wire.arrive_for(SECOND, 1, 6)?;
    // Found as it waits, and held; alone it is looked for again and again.
    wire.weigh(FIRST, 0)?;
    wire.beat()?;
    wire.let_out(7)?;
    wire.recorder.call(Call::Forget { station: FIRST })?;
    wire.let_out(2)?;
    wire.weigh(THIRD, 500_000)?;
    wire.beat()?;
    let third = wire.arrive_for(THIRD, 1, 6)?;
    wire.arrive_for(SECOND, 1, 3)?;
    wire.drain(0)?;
    wire.done(&[first, second, third])
}
