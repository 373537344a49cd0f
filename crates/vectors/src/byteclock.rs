//! `algo/byteclock.h`: when may the next frame leave?

use serde::{Deserialize, Serialize};

use crate::{
    Failure,
    concept::{Concept, Vector},
    machine::{Machine, State, Step},
    recorder::Recorder,
    sys,
};

pub enum ByteClock {}

#[derive(Serialize, Deserialize)]
pub struct Setup {
    rate_bps: u64,
    lag_max_ns: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// An idle owner has a frame.
    Start { now_ns: u64 },
    /// A frame left; it counts from `from_ns` at the earliest.
    Spend {
        from_ns: u64,
        sent_ns: u64,
        bytes: u32,
    },
    /// Another policy.
    Rate { rate_bps: u64 },
}

#[derive(Serialize)]
pub struct Answer {
    due_ns: u64,
    /// In units of 1/rate ns.
    rem: u64,
}

impl Concept for ByteClock {
    const FILE: &'static str = "byteclock.json";
    const ABOUT: &'static [&'static str] = &[
        "The byte clock: due_ns * rate_bps + rem grows by 8e9 for every byte, exactly.",
        "Answers are the clock after the call; it starts at due_ns 0, rem 0.",
    ];
    type Setup = Setup;
    type Call = Call;
    type Answer = Answer;

    fn prepare(setup: &Setup, state: &mut State) -> Result<(), Failure> {
        state.clock_params.rate_bps = setup.rate_bps;
        state.clock_params.lag_max_ns = setup.lag_max_ns;
        Ok(())
    }

    fn call(call: &Call, machine: &mut dyn Machine) -> Result<Answer, Failure> {
        match *call {
            Call::Start { now_ns } => machine.run(&mut Step {
                op: sys::TAKT_VECTOR_CLOCK_START,
                now_ns,
                ..Step::default()
            })?,
            Call::Spend {
                from_ns,
                sent_ns,
                bytes,
            } => machine.run(&mut Step {
                op: sys::TAKT_VECTOR_CLOCK_SPEND,
                from_ns,
                now_ns: sent_ns,
                bytes,
                ..Step::default()
            })?,
            Call::Rate { rate_bps } => machine.state().clock_params.rate_bps = rate_bps,
        }
        let clock = &machine.state().clock;
        Ok(Answer {
            due_ns: clock.due_ns,
            rem: clock.rem,
        })
    }

    fn record() -> Result<Vec<Vector<Self>>, Failure> {
        Ok(vec![
            whole_nanoseconds()?,
            odd_rate()?,
            late_timer()?,
            stall()?,
            idle()?,
            ideal_start()?,
            rate_change()?,
            extremes()?,
        ])
    }
}

fn recorder(name: &str, rate_bps: u64) -> Result<Recorder<ByteClock>, Failure> {
    let lag_max_ns = 10_000_000;
    Recorder::new(
        name,
        Setup {
            rate_bps,
            lag_max_ns,
        },
    )
}

fn spend(sent_ns: u64, bytes: u32) -> Call {
    Call::Spend {
        from_ns: 0,
        sent_ns,
        bytes,
    }
}

fn whole_nanoseconds() -> Result<Vector<ByteClock>, Failure> {
    let mut clock = recorder("1500 bytes at 100 Mbit/s are 120 us", 100_000_000)?;
    let mut due_ns = clock.call(Call::Start { now_ns: 1_000 })?.due_ns;
    for _ in 0..3 {
        due_ns = clock.call(spend(due_ns, 1500))?.due_ns;
    }
    Ok(clock.done())
}

fn odd_rate() -> Result<Vector<ByteClock>, Failure> {
    let mut clock = recorder("a rate that divides nothing keeps its remainder", 7_000_003)?;
    let mut due_ns = clock.call(Call::Start { now_ns: 5 })?.due_ns;
    for bytes in [60, 1514, 1, 9014, 333, 65_549] {
        due_ns = clock.call(spend(due_ns, bytes))?.due_ns;
    }
    Ok(clock.done())
}

fn late_timer() -> Result<Vector<ByteClock>, Failure> {
    let mut clock = recorder(
        "a timer that is late, within the limit, costs nothing",
        10_000_000,
    )?;
    let mut due_ns = clock.call(Call::Start { now_ns: 1_000_000 })?.due_ns;
    for late_ns in [0, 1, 999_999, 10_000_000] {
        due_ns = clock.call(spend(due_ns + late_ns, 1500))?.due_ns;
    }
    Ok(clock.done())
}

fn stall() -> Result<Vector<ByteClock>, Failure> {
    let mut clock = recorder(
        "after a stall only the last 10 ms are caught up",
        10_000_000,
    )?;
    clock.call(Call::Start { now_ns: 1_000_000 })?;
    for _ in 0..10 {
        clock.call(spend(5_000_000_001, 1500))?;
    }
    Ok(clock.done())
}

fn idle() -> Result<Vector<ByteClock>, Failure> {
    let mut clock = recorder("silence earns no credit", 1_000_003)?;
    clock.call(Call::Start { now_ns: 0 })?;
    clock.call(spend(0, 1500))?;
    // Still busy, then idle for an hour.
    clock.call(Call::Start { now_ns: 11_000_000 })?;
    clock.call(Call::Start {
        now_ns: 3_600_000_000_000,
    })?;
    clock.call(spend(3_600_000_000_000, 1500))?;
    Ok(clock.done())
}

fn ideal_start() -> Result<Vector<ByteClock>, Failure> {
    let mut clock = recorder(
        "bytes count from when the frame could have left",
        1_000_000_000,
    )?;
    for from_ns in [20_000, 50_000, 55_000] {
        clock.call(Call::Spend {
            from_ns,
            sent_ns: 60_000,
            bytes: 1500,
        })?;
    }
    Ok(clock.done())
}

fn rate_change() -> Result<Vector<ByteClock>, Failure> {
    let mut clock = recorder("another rate holds from the next frame on", 7_000_003)?;
    for rate_bps in [7_000_003, 1_009, 399_999_999_977, 7_000_003] {
        clock.call(Call::Rate { rate_bps })?;
        clock.call(spend(0, 1514))?;
    }
    Ok(clock.done())
}

fn extremes() -> Result<Vector<ByteClock>, Failure> {
    let mut clock = recorder(
        "the slowest, the fastest, none at all, and absurd lengths",
        1_000,
    )?;
    clock.call(spend(0, 1 << 19))?;
    for rate_bps in [400_000_000_000, 0, 1_000] {
        clock.call(Call::Rate { rate_bps })?;
        clock.call(spend(0, 0))?;
        clock.call(spend(0, 1))?;
        clock.call(spend(0, u32::MAX))?;
    }
    clock.call(spend(u64::MAX, 64))?;
    Ok(clock.done())
}
