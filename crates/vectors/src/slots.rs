//! `algo/slots.h`: which task may run now, and when to look again?

use serde::{Deserialize, Serialize};
use takt_algo::sys::{TAKT_FRAME_MAX_NS, TAKT_NO_TASK, TAKT_TABLE_SLOTS, takt_exact, takt_slot};

use crate::{
    Failure,
    concept::{Concept, Vector},
    machine::{Machine, State, Step},
    recorder::Recorder,
    sys,
};

pub enum Slots {}

/// A table of equal slots, or one in full.
#[derive(Serialize, Deserialize)]
pub struct Setup {
    frame_ns: u32,
    /// Numerator and denominator of a frame that is no whole number of nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fraction: Option<(u64, u32)>,
    /// Release, beat, end and task of each.
    slots: Vec<[u32; 4]>,
    /// After these, so many of 600 ns, one every 900, for tasks 0 to 255 in turn.
    more: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    Look { now_ns: u64 },
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// This task's slot is open.
    Open {
        task: u32,
        beat_ns: u64,
        end_ns: u64,
    },
    /// All time is free until this task's slot.
    Free { task: u32, release_ns: u64 },
    /// All time is free.
    NoSlots,
}

impl Concept for Slots {
    const FILE: &'static str = "slots.json";
    const ABOUT: &'static [&'static str] = &[
        "The time-slot table: a frame that repeats from 0 of the clock on, and its slots.",
        "Slots are [release, beat, end, task], within the frame, in ns.",
    ];
    type Setup = Setup;
    type Call = Call;
    type Answer = Answer;

    fn prepare(setup: &Setup, state: &mut State) -> Result<(), Failure> {
        let table = &mut state.table;
        table.frame_ns = setup.frame_ns;
        let (num, den) = setup.fraction.unwrap_or((setup.frame_ns.into(), 1));
        table.frame = takt_exact::new(num, den);
        let written = setup
            .slots
            .iter()
            .map(|&[release_ns, beat_ns, end_ns, task]| takt_slot {
                release_ns,
                beat_ns,
                end_ns,
                task,
            });
        let more = (0..setup.more).map(|n| takt_slot {
            release_ns: n * 900,
            beat_ns: n * 900 + 100,
            end_ns: n * 900 + 600,
            task: n % 256,
        });
        for (to, from) in table.slots.iter_mut().zip(written.chain(more)) {
            *to = from;
            table.slot_count += 1;
        }
        Ok(())
    }

    fn call(call: &Call, machine: &mut dyn Machine) -> Result<Answer, Failure> {
        let Call::Look { now_ns } = *call;
        let mut step = Step {
            op: sys::TAKT_VECTOR_LOOK,
            now_ns,
            ..Step::default()
        };
        machine.run(&mut step)?;
        let span = machine.state().span;
        Ok(match step.answer {
            _ if span.task == TAKT_NO_TASK => Answer::NoSlots,
            0 => Answer::Free {
                task: span.task,
                release_ns: step.wake_ns,
            },
            _ => Answer::Open {
                task: span.task,
                beat_ns: span.beat_ns,
                end_ns: step.wake_ns,
            },
        })
    }

    fn record() -> Result<Vec<Vector<Self>>, Failure> {
        Ok(vec![
            none()?,
            frame()?,
            abutting()?,
            full()?,
            longest()?,
            fraction()?,
        ])
    }
}

fn recorder(name: &str, frame_ns: u32, slots: &[[u32; 4]]) -> Result<Recorder<Slots>, Failure> {
    let slots = slots.to_vec();
    let setup = Setup {
        frame_ns,
        fraction: None,
        slots,
        more: 0,
    };
    Recorder::new(name, setup)
}

/// Just before each of these moments, at it, and just after.
fn look_around(table: &mut Recorder<Slots>, moments: &[u64]) -> Result<(), Failure> {
    for &moment_ns in moments {
        for now_ns in [moment_ns.saturating_sub(1), moment_ns, moment_ns + 1] {
            table.call(Call::Look { now_ns })?;
        }
    }
    Ok(())
}

fn none() -> Result<Vector<Slots>, Failure> {
    let mut table = recorder("no slots", 1_000_000, &[])?;
    look_around(&mut table, &[0, 1_000_000])?;
    Ok(table.done())
}

fn frame() -> Result<Vector<Slots>, Failure> {
    let slots = [
        [4_980_000, 5_000_000, 13_000_000, 7],
        [15_000_000, 15_000_000, 15_500_000, 3],
    ];
    let mut table = recorder(
        "two tasks, one with a lead, over two frames",
        40_000_000,
        &slots,
    )?;
    for frame in [0, 1, 25_000_000_000] {
        let at = |phase_ns: u64| frame * 40_000_000 + phase_ns;
        let edges = [0, 4_980_000, 5_000_000, 13_000_000, 15_000_000, 15_500_000];
        look_around(&mut table, &edges.map(at))?;
    }
    Ok(table.done())
}

fn abutting() -> Result<Vector<Slots>, Failure> {
    let slots = [[0, 0, 500, 1], [500, 500, 501, 2], [501, 501, 1000, 1]];
    let mut table = recorder("no free time at all", 1000, &slots)?;
    look_around(&mut table, &[0, 500, 501, 1000, 1500])?;
    Ok(table.done())
}

fn full() -> Result<Vector<Slots>, Failure> {
    let setup = Setup {
        frame_ns: TAKT_TABLE_SLOTS * 900,
        fraction: None,
        slots: Vec::new(),
        more: TAKT_TABLE_SLOTS,
    };
    let mut table = Recorder::new("as many slots as there may be", setup)?;
    let last = u64::from(TAKT_TABLE_SLOTS);
    for slot in [
        0,
        1,
        255,
        2047,
        2048,
        2049,
        4094,
        last - 1,
        last,
        3 * last + 1,
    ] {
        look_around(&mut table, &[slot * 900, slot * 900 + 600])?;
    }
    Ok(table.done())
}

fn longest() -> Result<Vector<Slots>, Failure> {
    let slots = [
        [0, 1, 2, 0],
        [
            TAKT_FRAME_MAX_NS - 1,
            TAKT_FRAME_MAX_NS - 1,
            TAKT_FRAME_MAX_NS,
            255,
        ],
    ];
    let mut table = recorder(
        "the longest frame, after 500 years",
        TAKT_FRAME_MAX_NS,
        &slots,
    )?;
    let frame_ns = u64::from(TAKT_FRAME_MAX_NS);
    let start_ns = 15_768_000_000_000_000_000 / frame_ns * frame_ns;
    look_around(
        &mut table,
        &[
            start_ns,
            start_ns + 2,
            start_ns + frame_ns - 1,
            start_ns + frame_ns,
        ],
    )?;
    Ok(table.done())
}

fn fraction() -> Result<Vector<Slots>, Failure> {
    let setup = Setup {
        frame_ns: 1_451_247,
        fraction: Some((640_000_000, 441)),
        slots: vec![[0, 0, 700_000, 4], [1_400_000, 1_400_000, 1_451_247, 5]],
        more: 0,
    };
    let mut table = Recorder::new("64 frames at 44.1 kHz, after ten million of them", setup)?;
    for frame in [0, 1, 2, 440, 441, 10_000_000u64] {
        let start_ns = (frame * 640_000_000).div_ceil(441);
        let edges = [0, 700_000, 1_400_000, 1_451_247].map(|phase_ns| start_ns + phase_ns);
        look_around(&mut table, &edges)?;
    }
    Ok(table.done())
}
