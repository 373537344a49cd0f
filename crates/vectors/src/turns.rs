//! `algo/turns.h`: whose turn is it within a task, and what is left of its budget?

use serde::{Deserialize, Serialize};
use takt_algo::sys::takt_exact;

use crate::{
    Failure,
    concept::{Concept, Vector},
    machine::{Machine, State, Step},
    recorder::Recorder,
    sys,
};

pub enum Turns {}

#[derive(Serialize, Deserialize)]
pub struct Setup {
    period_ns: u64,
    budget_ns: u64,
    member_count: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_free: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// The number of the job with its beat then.
    Job {
        beat_ns: u64,
    },
    /// A member ran.
    Run {
        job: u64,
        ran_ns: u64,
    },
    Yield {
        job: u64,
    },
    /// To a member from 1, or 0: the job is done. `waiting` has a bit for each that waits.
    Pass {
        job: u64,
        to: u32,
        waiting: u32,
    },
    /// The rest of a job's budget.
    Left {
        job: u64,
    },
    /// Another policy.
    Times {
        period_ns: u64,
        budget_ns: u64,
    },
    /// Another period, of `num / den` nanoseconds.
    Period {
        num: u64,
        den: u32,
    },
}

#[derive(Serialize)]
pub struct Answer {
    /// A job, the rest of its budget, or whether the job ended.
    is: u64,
    /// The member that goes, or goes on, next.
    turn: u32,
}

impl Concept for Turns {
    const FILE: &'static str = "turns.json";
    const ABOUT: &'static [&'static str] = &[
        "Turns within a task: members hand over in order, and share one budget per job.",
        "A job that its budget did not suffice for goes on with the same member in the next.",
    ];
    type Setup = Setup;
    type Call = Call;
    type Answer = Answer;

    fn prepare(setup: &Setup, state: &mut State) -> Result<(), Failure> {
        state.turns_params.period = takt_exact::new(setup.period_ns, 1);
        state.turns_params.budget_ns = setup.budget_ns;
        state.turns_params.member_count = setup.member_count;
        state.turns_params.is_free = setup.is_free.into();
        Ok(())
    }

    fn call(call: &Call, machine: &mut dyn Machine) -> Result<Answer, Failure> {
        let mut step = Step::default();
        match *call {
            Call::Job { beat_ns } => {
                step.op = sys::TAKT_VECTOR_JOB;
                step.now_ns = beat_ns;
            }
            Call::Run { job, ran_ns } => {
                step.op = sys::TAKT_VECTOR_CHARGE;
                (step.job, step.now_ns) = (job, ran_ns);
            }
            Call::Yield { job } => {
                step.op = sys::TAKT_VECTOR_YIELD;
                step.job = job;
            }
            Call::Pass { job, to, waiting } => {
                step.op = sys::TAKT_VECTOR_PASS;
                (step.job, step.id, step.before) = (job, to, waiting);
            }
            Call::Left { job } => {
                step.op = sys::TAKT_VECTOR_LEFT;
                step.job = job;
            }
            Call::Period { num, den } => {
                machine.state().turns_params.period = takt_exact::new(num, den);
            }
            Call::Times {
                period_ns,
                budget_ns,
            } => {
                let params = &mut machine.state().turns_params;
                (params.period, params.budget_ns) = (takt_exact::new(period_ns, 1), budget_ns);
            }
        }
        if step.op != 0 {
            machine.run(&mut step)?;
        }
        Ok(Answer {
            is: step.answer,
            turn: machine.state().turns.turn,
        })
    }

    fn record() -> Result<Vec<Vector<Self>>, Failure> {
        Ok(vec![
            alone()?,
            group()?,
            overrun()?,
            free()?,
            in_order()?,
            periods()?,
            fraction()?,
        ])
    }
}

fn recorder(name: &str, member_count: u32) -> Result<Recorder<Turns>, Failure> {
    let setup = Setup {
        period_ns: 40_000_000,
        budget_ns: 8_000_000,
        member_count,
        is_free: false,
    };
    Recorder::new(name, setup)
}

fn free() -> Result<Vector<Turns>, Failure> {
    let mut turns = Recorder::new(
        "three of a free group pass to each other, and one ends the job",
        Setup {
            period_ns: 40_000_000,
            budget_ns: 8_000_000,
            member_count: 3,
            is_free: true,
        },
    )?;
    for (to, waiting) in [
        (3, 0b110),
        // The second does not wait, so the third that is next after it goes on.
        (2, 0b101),
        (2, 0b010),
        // None waits: the chosen one comes when it can.
        (1, 0),
        // The order.
        (u32::MAX, 0b110),
        (4, 0b101),
        (0, 0b011),
    ] {
        turns.call(Call::Run {
            job: 7,
            ran_ns: 100_000,
        })?;
        turns.call(Call::Pass {
            job: 7,
            to,
            waiting,
        })?;
    }
    turns.call(Call::Left { job: 7 })?;
    turns.call(Call::Left { job: 8 })?;
    Ok(turns.done())
}

fn in_order() -> Result<Vector<Turns>, Failure> {
    let mut turns = recorder("a group that is not free keeps its order", 3)?;
    for to in [3, 0, 1] {
        turns.call(Call::Pass {
            job: 7,
            to,
            waiting: 0b111,
        })?;
    }
    Ok(turns.done())
}

fn alone() -> Result<Vector<Turns>, Failure> {
    let mut turns = recorder("a thread on its own", 1)?;
    for beat_ns in [0, 5_000_000, 40_000_000, 45_000_000, 400_000_000_000_005] {
        let job = turns.call(Call::Job { beat_ns })?.is;
        turns.call(Call::Left { job })?;
        turns.call(Call::Run {
            job,
            ran_ns: 3_000_000,
        })?;
        turns.call(Call::Left { job })?;
        turns.call(Call::Yield { job })?;
        turns.call(Call::Left { job })?;
    }
    Ok(turns.done())
}

fn group() -> Result<Vector<Turns>, Failure> {
    let mut turns = recorder("three share a budget, and the last ends the job", 3)?;
    for job in [1, 2, 5] {
        for ran_ns in [2_000_000, 1_000_000, 4_999_999] {
            turns.call(Call::Run { job, ran_ns })?;
            turns.call(Call::Left { job })?;
            turns.call(Call::Yield { job })?;
        }
        turns.call(Call::Left { job })?;
    }
    Ok(turns.done())
}

fn overrun() -> Result<Vector<Turns>, Failure> {
    let mut turns = recorder("the second overruns, and goes on in the next job", 3)?;
    turns.call(Call::Yield { job: 9 })?;
    for ran_ns in [8_000_000, 1] {
        turns.call(Call::Run { job: 9, ran_ns })?;
        turns.call(Call::Left { job: 9 })?;
    }
    for _ in 0..2 {
        turns.call(Call::Left { job: 10 })?;
        turns.call(Call::Run {
            job: 10,
            ran_ns: 100,
        })?;
        turns.call(Call::Yield { job: 10 })?;
    }
    turns.call(Call::Left { job: 10 })?;
    turns.call(Call::Left { job: 11 })?;
    Ok(turns.done())
}

fn periods() -> Result<Vector<Turns>, Failure> {
    let mut turns = recorder("another policy, whose jobs have smaller numbers", 1)?;
    turns.call(Call::Yield { job: 1_000_000 })?;
    turns.call(Call::Times {
        period_ns: 4_000_000_000,
        budget_ns: 1_000_000,
    })?;
    let beat_ns = 1_000_000 * 40_000_000;
    let job = turns.call(Call::Job { beat_ns })?.is;
    turns.call(Call::Left { job })?;
    Ok(turns.done())
}

fn fraction() -> Result<Vector<Turns>, Failure> {
    let mut turns = recorder("64 frames at 44.1 kHz, after a hundred million of them", 1)?;
    let (num, den) = (640_000_000, 441);
    turns.call(Call::Period { num, den })?;
    for periods in [0, 1, 440, 441, 100_000_000u64] {
        let beat_ns = (periods * num).div_ceil(den.into());
        for beat_ns in [beat_ns, beat_ns + 1] {
            turns.call(Call::Job { beat_ns })?;
        }
    }
    Ok(turns.done())
}
