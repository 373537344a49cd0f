//! `algo/calendar.h`: which entry is due first?

use serde::{Deserialize, Serialize};
use takt_algo::sys::{TAKT_CALENDAR_BUCKETS_MAX, TAKT_ENTRIES};

use crate::{
    Failure,
    concept::{Concept, Vector},
    machine::{Machine, State, Step},
    recorder::Recorder,
    sys,
};

pub enum Calendar {}

#[derive(Serialize, Deserialize)]
pub struct Setup {}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    Insert { id: u32, due_ns: u64, now_ns: u64 },
    First { now_ns: u64 },
    Remove { id: u32 },
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The number of entries.
    Entries(u64),
    First {
        id: u64,
        due_ns: u64,
    },
    /// The first entry is too far ahead to be ordered yet.
    AskAgain {
        at_ns: u64,
    },
    Empty,
}

const BUCKET_NS: u64 = 1 << takt_algo::Calendar::SHIFT;
const HORIZON_NS: u64 = BUCKET_NS * TAKT_CALENDAR_BUCKETS_MAX as u64;

impl Concept for Calendar {
    const FILE: &'static str = "calendar.json";
    const ABOUT: &'static [&'static str] = &[
        "The calendar: entries in order of their due time, first come first among equals.",
        "It orders 16384 buckets of 65536 ns; what is further ahead is asked about again.",
    ];
    type Setup = Setup;
    type Call = Call;
    type Answer = Answer;

    fn prepare(_: &Setup, state: &mut State) -> Result<(), Failure> {
        state.calendar.mask = TAKT_CALENDAR_BUCKETS_MAX - 1;
        state.calendar.shift = takt_algo::Calendar::SHIFT;
        Ok(())
    }

    fn call(call: &Call, machine: &mut dyn Machine) -> Result<Answer, Failure> {
        let mut step = Step::default();
        match *call {
            Call::Insert { id, due_ns, now_ns } => {
                entry(machine.state(), id).due_ns = due_ns;
                step.op = sys::TAKT_VECTOR_INSERT;
                (step.id, step.now_ns) = (id, now_ns);
            }
            Call::First { now_ns } => {
                step.op = sys::TAKT_VECTOR_FIRST;
                step.now_ns = now_ns;
            }
            Call::Remove { id } => {
                step.op = sys::TAKT_VECTOR_REMOVE;
                step.id = id;
            }
        }
        machine.run(&mut step)?;
        if !matches!(call, Call::First { .. }) {
            return Ok(Answer::Entries(machine.state().calendar.count.into()));
        }
        Ok(match (step.answer, step.wake_ns) {
            (0, u64::MAX) => Answer::Empty,
            (0, at_ns) => Answer::AskAgain { at_ns },
            (id, _) => Answer::First {
                id,
                due_ns: entry(machine.state(), id as u32).due_ns,
            },
        })
    }

    fn record() -> Result<Vec<Vector<Self>>, Failure> {
        Ok(vec![
            no_entries()?,
            order()?,
            crowd()?,
            far()?,
            round()?,
            long_ago()?,
        ])
    }
}

fn entry(state: &mut State, id: u32) -> &mut takt_algo::sys::takt_entry {
    &mut state.shelf.entry[(id & (TAKT_ENTRIES - 1)) as usize]
}

fn recorder(name: &str) -> Result<Recorder<Calendar>, Failure> {
    Recorder::new(name, Setup {})
}

/// Removes the first entry until none is left.
fn empty(calendar: &mut Recorder<Calendar>, mut now_ns: u64) -> Result<(), Failure> {
    loop {
        match calendar.call(Call::First { now_ns })? {
            Answer::First { id, due_ns } => {
                now_ns = now_ns.max(due_ns);
                calendar.call(Call::Remove { id: id as u32 })?;
            }
            Answer::AskAgain { at_ns } => now_ns = at_ns,
            Answer::Empty | Answer::Entries(_) => return Ok(()),
        }
    }
}

fn no_entries() -> Result<Vector<Calendar>, Failure> {
    let mut calendar = recorder("nothing is queued")?;
    empty(&mut calendar, 12_345)?;
    Ok(calendar.done())
}

fn order() -> Result<Vector<Calendar>, Failure> {
    let mut calendar = recorder("in order within a bucket, across buckets, words and summaries")?;
    let now_ns = 1_000_000_000;
    let ahead_ns = [
        0,
        1,
        1,
        BUCKET_NS,
        BUCKET_NS - 1,
        63 * BUCKET_NS,
        64 * BUCKET_NS,
        65 * BUCKET_NS,
        4096 * BUCKET_NS,
        HORIZON_NS - 2 * BUCKET_NS,
    ];
    for (n, ahead_ns) in (0u32..10).zip(ahead_ns).rev() {
        // Ids from the whole range.
        let id = 1 + n * 449;
        let due_ns = now_ns + ahead_ns;
        calendar.call(Call::Insert { id, due_ns, now_ns })?;
    }
    empty(&mut calendar, now_ns)?;
    Ok(calendar.done())
}

fn crowd() -> Result<Vector<Calendar>, Failure> {
    let mut calendar =
        recorder("more in one bucket than a search reaches: the 41st is too late for them")?;
    for n in 1..=40u32 {
        let due_ns = 1000 + u64::from(n);
        calendar.call(Call::Insert {
            id: n,
            due_ns,
            now_ns: 0,
        })?;
    }
    calendar.call(Call::Insert {
        id: TAKT_ENTRIES - 1,
        due_ns: 1000,
        now_ns: 0,
    })?;
    empty(&mut calendar, 0)?;
    Ok(calendar.done())
}

fn far() -> Result<Vector<Calendar>, Failure> {
    let mut calendar = recorder("seconds ahead")?;
    let now_ns = 77_777_777_777;
    for (id, ahead_s) in [(1, 5), (2, 3), (3, 3), (4, 12), (5, 0)] {
        let due_ns = now_ns + ahead_s * 1_000_000_000;
        calendar.call(Call::Insert { id, due_ns, now_ns })?;
    }
    empty(&mut calendar, now_ns)?;
    Ok(calendar.done())
}

fn round() -> Result<Vector<Calendar>, Failure> {
    let mut calendar = recorder("three that come back, once round the ring and further")?;
    let period_ns = |id: u32| u64::from(id) * 40_000_019;
    for id in 1..=3 {
        calendar.call(Call::Insert {
            id,
            due_ns: period_ns(id),
            now_ns: 0,
        })?;
    }
    let mut now_ns = 0;
    while now_ns < HORIZON_NS + HORIZON_NS / 8 {
        if let Answer::First { id, due_ns } = calendar.call(Call::First { now_ns })? {
            let id = id as u32;
            now_ns = due_ns;
            calendar.call(Call::Remove { id })?;
            calendar.call(Call::Insert {
                id,
                due_ns: due_ns + period_ns(id),
                now_ns,
            })?;
        }
    }
    empty(&mut calendar, now_ns)?;
    Ok(calendar.done())
}

fn long_ago() -> Result<Vector<Calendar>, Failure> {
    let mut calendar = recorder("no call for a minute")?;
    let minute_ns = 60_000_000_000;
    for (id, due_ns) in [(7, 900_000_000), (8, 100), (9, 2_000_000_000)] {
        calendar.call(Call::Insert {
            id,
            due_ns,
            now_ns: 100,
        })?;
    }
    calendar.call(Call::Insert {
        id: 10,
        due_ns: minute_ns,
        now_ns: minute_ns,
    })?;
    empty(&mut calendar, minute_ns)?;
    Ok(calendar.done())
}
