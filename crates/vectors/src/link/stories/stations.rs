//! Stations that appear, disappear and change their weight while their packets are queued.

use super::{MBIT, Wire, borrower, plan};
use crate::{
    Failure,
    concept::Vector,
    link::{Answer, Call, Link, Plan},
};

/// MAC addresses of stations.
const FIRST: u64 = 0x0200_0000_0001;
const SECOND: u64 = 0x0200_0000_0002;
const THIRD: u64 = 0x0200_0000_0003;

/// Two classes of weight 1 and 3, with stations, on a link of 10 Mbit/s.
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

    /// So many frames for a station, in a class. Returns their entity.
    fn arrive_for(&mut self, station: u64, class: u32, frames: u32) -> Result<u32, Failure> {
        let mut entity = 0;
        for _ in 0..frames {
            let now_ns = self.now_ns;
            let answer = self.recorder.call(Call::Station {
                class,
                station,
                now_ns,
            })?;
            if let Answer::Entity { id } = answer {
                entity = id;
                self.arrive(id, 976, 1)?;
            }
        }
        Ok(entity)
    }

    /// Asks until so many frames have left, or no entity is eligible.
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

pub fn stations() -> Result<Vector<Link>, Failure> {
    let mut wire = air("stations share by class and weight, and change while they wait")?;
    wire.weigh(FIRST, 1_000_000)?;
    wire.weigh(SECOND, 250_000)?;
    wire.beat()?;
    let mut entities = Vec::new();
    for station in [FIRST, SECOND] {
        for class in [1, 2] {
            entities.push(wire.arrive_for(station, class, 12)?);
        }
    }
    wire.let_out(12)?;
    // The one that was ahead by its weight is no longer delayed by it; the other is throttled.
    wire.weigh(SECOND, 1_000_000)?;
    wire.weigh(FIRST, 0)?;
    wire.let_out(12)?;
    wire.weigh(FIRST, 1)?;
    wire.let_out(10)?;
    // User space is dead: all weights are equal.
    wire.now_ns += 6_000_000_000;
    wire.drain(0)?;
    wire.done(&entities)
}

pub fn stations_come_and_go() -> Result<Vector<Link>, Failure> {
    let mut wire = air("an unknown station, one that is forgotten, one in its place")?;
    let first = wire.arrive_for(FIRST, 1, 6)?;
    let second = wire.arrive_for(SECOND, 1, 6)?;
    // It is found while it waits, and throttled; alone it is looked for again and again.
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
