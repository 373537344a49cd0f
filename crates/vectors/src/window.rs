//! `algo/window.h`: within which bounds may a congestion window move?

use serde::{Deserialize, Serialize};

use crate::{
    Failure,
    concept::{Concept, Vector},
    machine::{Machine, State, Step},
    recorder::Recorder,
    sys,
};

pub enum Window {}

#[derive(Serialize, Deserialize)]
pub struct Setup {
    standing_q10: u64,
    memory_shift: u32,
    window_max: u32,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Sample {
    rate: u64,
    rtt_us: u64,
    stand_us: u64,
    rtt_min_us: u64,
    mss_bytes: u32,
    window: u32,
    own_flows: u32,
    sent: u32,
    lost: u32,
    limited: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    backlogged: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    starting: u32,
}

/// What the group says beyond rates.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Told {
    #[serde(skip_serializing_if = "is_default")]
    wait_us: u64,
    #[serde(skip_serializing_if = "is_default")]
    stranger_rate: u64,
    #[serde(skip_serializing_if = "is_default")]
    strangers: u64,
    #[serde(skip_serializing_if = "is_default")]
    competes_us: u64,
    #[serde(skip_serializing_if = "is_default")]
    retries_q10: u64,
    #[serde(skip_serializing_if = "is_default")]
    queue_us: u64,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Begins a period: forgets the members that were heard.
    Forget,
    Hear {
        rate: u64,
        limit: u64,
        lends: bool,
    },
    Tell(Told),
    Remember,
    /// Half a round trip of a first slow start is over.
    Begin(Sample),
    Update(Sample),
    Bound {
        window: u32,
        after_timeout: bool,
    },
    RoundTrip {
        now_ns: u64,
        rtt_us: u32,
        srtt_us: u32,
    },
}

impl Call {
    fn sample(&self) -> Option<Sample> {
        match self {
            Self::Begin(sample) | Self::Update(sample) => Some(*sample),
            _ => None,
        }
    }
}

#[derive(Serialize)]
pub struct Answer {
    /// A capacity, an upper bound, a window or a standing round trip.
    is: u64,
    lower: u32,
    target_q10: u64,
}

impl Concept for Window {
    const FILE: &'static str = "window.json";
    const ABOUT: &'static [&'static str] = &[
        "Bounds on a congestion window: from round trips, active terminals and their capacity.",
        "After section 6 of the paper on a cooperative middleware; docs/crowd-law.md derives the law.",
    ];
    type Setup = Setup;
    type Call = Call;
    type Answer = Answer;

    fn prepare(setup: &Setup, state: &mut State) -> Result<(), Failure> {
        state.window_params.standing_q10 = setup.standing_q10;
        state.window_params.memory_shift = setup.memory_shift;
        state.window_params.window_max = setup.window_max;
        Ok(())
    }

    fn call(call: &Call, machine: &mut dyn Machine) -> Result<Answer, Failure> {
        let mut step = Step::default();
        if let Some(from) = call.sample() {
            let sample = &mut machine.state().window_sample;
            sample.rate = from.rate;
            sample.rtt_us = from.rtt_us;
            sample.stand_us = from.stand_us;
            sample.rtt_min_us = from.rtt_min_us;
            sample.mss_bytes = from.mss_bytes;
            sample.window = from.window;
            sample.own_flows = from.own_flows;
            sample.sent = from.sent;
            sample.lost = from.lost;
            sample.limited = from.limited;
            sample.backlogged = from.backlogged;
            sample.starting = from.starting;
        }
        match *call {
            Call::Forget => {
                let group = &mut machine.state().window_group;
                (group.rate, group.lent_rate) = (0, 0);
                (group.terminals, group.lenders) = (0, 0);
            }
            Call::Hear { rate, limit, lends } => {
                step.op = sys::TAKT_VECTOR_WINDOW_HEAR;
                (step.job, step.from_ns, step.idle) = (rate, limit, u32::from(lends));
            }
            Call::Tell(told) => {
                let group = &mut machine.state().window_group;
                group.wait_us = told.wait_us;
                group.stranger_rate = told.stranger_rate;
                group.strangers = told.strangers;
                group.competes_us = told.competes_us;
                group.retries_q10 = told.retries_q10;
                group.queue_us = told.queue_us;
            }
            Call::Remember => step.op = sys::TAKT_VECTOR_WINDOW_REMEMBER,
            Call::Begin(_) => step.op = sys::TAKT_VECTOR_WINDOW_BEGIN,
            Call::Update(_) => step.op = sys::TAKT_VECTOR_WINDOW_UPDATE,
            Call::Bound {
                window,
                after_timeout,
            } => {
                step.op = sys::TAKT_VECTOR_WINDOW_BOUND;
                (step.id, step.idle) = (window, u32::from(after_timeout));
            }
            Call::RoundTrip {
                now_ns,
                rtt_us,
                srtt_us,
            } => {
                step.op = sys::TAKT_VECTOR_ROUND_TRIP;
                (step.now_ns, step.id, step.before) = (now_ns, rtt_us, srtt_us);
            }
        }
        if step.op != 0 {
            machine.run(&mut step)?;
        }
        let state = machine.state();
        Ok(Answer {
            is: step.answer,
            lower: state.window_bounds.lower,
            target_q10: state.window.target_q10,
        })
    }

    fn record() -> Result<Vec<Vector<Self>>, Failure> {
        Ok(vec![
            alone()?,
            starting()?,
            neighbours()?,
            lending()?,
            beside()?,
            told()?,
            round_trips()?,
            wild()?,
        ])
    }
}

fn recorder(name: &str) -> Result<Recorder<Window>, Failure> {
    Recorder::new(
        name,
        Setup {
            standing_q10: 6 * 1024,
            memory_shift: 7,
            window_max: 1000,
        },
    )
}

/// 24 Mbit/s, a window of 40 and a wire of 16 ms.
const SAMPLE: Sample = Sample {
    rate: 3_000_000,
    rtt_us: 19_000,
    stand_us: 18_500,
    rtt_min_us: 16_500,
    mss_bytes: 1448,
    window: 40,
    own_flows: 1,
    sent: 400,
    lost: 0,
    limited: 1,
    backlogged: 0,
    starting: 0,
};

/// The sample with these round trips, of which the flow's own bursts are half a millisecond.
fn with_rtt(sample: Sample, rtt_us: u64) -> Sample {
    Sample {
        rtt_us,
        stand_us: rtt_us - 500,
        ..sample
    }
}

fn period(
    recorder: &mut Recorder<Window>,
    heard: &[(u64, bool)],
    sample: Sample,
) -> Result<(), Failure> {
    recorder.call(Call::Forget)?;
    for &(rate, lends) in heard {
        let limit = sample.rate * 2;
        recorder.call(Call::Hear { rate, limit, lends })?;
    }
    recorder.call(Call::Remember)?;
    recorder.call(Call::Update(sample))?;
    for after_timeout in [false, true] {
        for window in [1, 30, 400] {
            recorder.call(Call::Bound {
                window,
                after_timeout,
            })?;
        }
    }
    Ok(())
}

fn alone() -> Result<Vector<Window>, Failure> {
    let mut window = recorder("without neighbours the own round trips decide")?;
    window.call(Call::Bound {
        window: 7,
        after_timeout: false,
    })?;
    for rtt_us in [17_000, 17_100, 18_000, 19_000, 25_000, 60_000, 250_000] {
        let sample = with_rtt(SAMPLE, rtt_us);
        period(&mut window, &[(sample.rate, false)], sample)?;
    }
    // One lost in 16 is the radio's loss; more is not.
    for lost in [25, 26] {
        let sample = Sample { lost, ..SAMPLE };
        period(&mut window, &[(sample.rate, false)], sample)?;
    }
    Ok(window.done())
}

fn starting() -> Result<Vector<Window>, Failure> {
    let mut window = recorder("slow start is left alone until a queue stands, and ended there")?;
    for (window_now, rtt_us) in [(10, 256_500), (20, 265_000), (40, 275_000), (40, 257_000)] {
        let sample = Sample {
            rate: 400_000,
            rtt_min_us: 256_000,
            window: window_now,
            starting: 1,
            ..with_rtt(SAMPLE, rtt_us)
        };
        window.call(Call::Begin(sample))?;
        period(&mut window, &[(400_000, false); 10], sample)?;
    }
    Ok(window.done())
}

fn neighbours() -> Result<Vector<Window>, Failure> {
    let mut window = recorder("ten share one small queue, and pairs make up the rest")?;
    let sample = Sample {
        rate: 290_000,
        window: 4,
        sent: 40,
        ..SAMPLE
    };
    for _ in 0..8 {
        period(&mut window, &[(290_000, false); 10], sample)?;
    }
    Ok(window.done())
}

fn lending() -> Result<Vector<Window>, Failure> {
    let mut window = recorder("a terminal that its application limits lends its share")?;
    let heard = [(1_000_000, false), (1_000_000, false), (100_000, true)];
    let sample = Sample {
        rate: 1_000_000,
        ..SAMPLE
    };
    period(&mut window, &heard, sample)?;
    period(
        &mut window,
        &heard,
        Sample {
            own_flows: 3,
            ..sample
        },
    )?;
    // Now it is the limit.
    period(
        &mut window,
        &heard,
        Sample {
            limited: 0,
            ..sample
        },
    )?;
    period(&mut window, &[(0, true), (100_000, true)], sample)?;
    Ok(window.done())
}

fn beside() -> Result<Vector<Window>, Failure> {
    let mut window = recorder("beside a stranger that fills queues the share is held")?;
    for _ in 0..20 {
        period(&mut window, &[(1_500_000, false); 2], SAMPLE)?;
    }
    for rtt_us in [40_000, 100_000, 100_000, 200_000, 400_000, 400_000] {
        let sample = Sample {
            rate: 1_000_000,
            ..with_rtt(SAMPLE, rtt_us)
        };
        period(&mut window, &[(1_000_000, false); 2], sample)?;
    }
    Ok(window.done())
}

fn told() -> Result<Vector<Window>, Failure> {
    let mut window = recorder("others' waits, strangers, collisions, and no bounds in between")?;
    let none = Told::default();
    // It came late: the shortest round trip that it knows contains the queue of the others.
    let late = Sample {
        rtt_min_us: 18_000,
        backlogged: 1,
        ..SAMPLE
    };
    for told in [
        none,
        Told {
            wait_us: 12_000,
            ..none
        },
        Told {
            stranger_rate: 2_000_000,
            strangers: 1,
            ..none
        },
        Told {
            retries_q10: 150,
            ..none
        },
        Told {
            retries_q10: 400,
            ..none
        },
        Told {
            queue_us: 14_000,
            ..none
        },
        Told {
            competes_us: 1,
            ..none
        },
        Told {
            competes_us: 1,
            ..none
        },
        none,
    ] {
        window.call(Call::Tell(told))?;
        for limited in [1, 0] {
            let sample = Sample { limited, ..late };
            period(&mut window, &[(1_500_000, false); 4], sample)?;
        }
    }
    Ok(window.done())
}

fn round_trips() -> Result<Vector<Window>, Failure> {
    let mut window = recorder("the shortest round trip of each half is a standing one")?;
    for (now_ms, rtt_us) in [
        (1, 20_000),
        (4, 18_000),
        (9, 19_000),
        (11, 25_000),
        (12, 24_000),
        (21, 26_000),
        (500, 16_000),
    ] {
        window.call(Call::RoundTrip {
            now_ns: now_ms * 1_000_000,
            rtt_us,
            srtt_us: 20_000,
        })?;
    }
    Ok(window.done())
}

fn wild() -> Result<Vector<Window>, Failure> {
    let mut window = recorder("numbers from nowhere")?;
    let most = Sample {
        rate: u64::MAX,
        rtt_us: u64::MAX,
        stand_us: u64::MAX,
        rtt_min_us: u64::MAX,
        mss_bytes: u32::MAX,
        window: u32::MAX,
        own_flows: u32::MAX,
        sent: u32::MAX,
        lost: u32::MAX,
        limited: u32::MAX,
        backlogged: u32::MAX,
        starting: u32::MAX,
    };
    let least = Sample {
        rate: 1,
        rtt_us: 1,
        stand_us: 1,
        rtt_min_us: u64::MAX,
        mss_bytes: 0,
        window: 0,
        own_flows: 0,
        sent: 0,
        lost: 0,
        limited: 1,
        backlogged: 1,
        starting: 1,
    };
    for sample in [
        most,
        least,
        Sample { rate: 0, ..SAMPLE },
        Sample {
            rtt_us: 0,
            ..SAMPLE
        },
    ] {
        window.call(Call::Tell(Told {
            wait_us: u64::MAX,
            stranger_rate: u64::MAX,
            strangers: u64::MAX,
            competes_us: 0,
            retries_q10: sample.rtt_us,
            queue_us: u64::MAX,
        }))?;
        window.call(Call::Hear {
            rate: u64::MAX,
            limit: u64::MAX,
            lends: false,
        })?;
        window.call(Call::Remember)?;
        window.call(Call::Begin(sample))?;
        window.call(Call::Update(sample))?;
        window.call(Call::Bound {
            window: u32::MAX,
            after_timeout: true,
        })?;
    }
    Ok(window.done())
}
