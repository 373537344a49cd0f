//! `algo/soc.h`: how strong is a station's connection, and what weight follows?

use serde::{Deserialize, Serialize};
use takt_algo::sys::{TAKT_SOC_GB, TAKT_SOC_PW};

use crate::{
    Failure,
    concept::{Concept, Vector},
    machine::{Machine, State, Step},
    recorder::Recorder,
    sys,
};

pub enum Soc {}

#[derive(Clone, Serialize, Deserialize)]
pub struct Setup {
    interval_ns: u64,
    smoothing_ppm: u32,
    decay_ppm: u32,
    law: Law,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// The threshold, in hundredths of a dB.
    Gb(i32),
    /// SoC in hundredths of a dB and weight in ppm of each point.
    Pw(Vec<(i32, u32)>),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    Report {
        now_ns: u64,
        sample_centidb: i32,
    },
    /// Have reports been missed?
    Tick {
        now_ns: u64,
    },
    /// The weight of any SoC, independent of the station's.
    Weight {
        soc_centidb: i32,
    },
}

#[derive(Serialize)]
pub struct Answer {
    soc_centidb: i32,
    weight_ppm: u64,
}

impl Concept for Soc {
    const FILE: &'static str = "soc.json";
    const ABOUT: &'static [&'static str] = &[
        "The strength of a station's connection: smoothing, decay of missed reports, GB and PW.",
        "After SoCPS, section 4; its figures and tables are named.",
    ];
    type Setup = Setup;
    type Call = Call;
    type Answer = Answer;

    fn prepare(setup: &Setup, state: &mut State) -> Result<(), Failure> {
        let params = &mut state.soc_params;
        params.interval_ns = setup.interval_ns;
        params.smoothing_ppm = setup.smoothing_ppm;
        params.decay_ppm = setup.decay_ppm;
        match &setup.law {
            Law::Gb(threshold_centidb) => {
                params.law = TAKT_SOC_GB;
                params.threshold_centidb = *threshold_centidb;
            }
            Law::Pw(points) => {
                params.law = TAKT_SOC_PW;
                for (to, from) in params.points.iter_mut().zip(points) {
                    (to.soc_centidb, to.weight_ppm) = *from;
                    params.point_count += 1;
                }
            }
        }
        Ok(())
    }

    fn call(call: &Call, machine: &mut dyn Machine) -> Result<Answer, Failure> {
        let mut step = Step::default();
        match *call {
            Call::Report {
                now_ns,
                sample_centidb,
            } => {
                step.op = sys::TAKT_VECTOR_SOC_REPORT;
                (step.now_ns, step.soc_centidb) = (now_ns, sample_centidb);
            }
            Call::Tick { now_ns } => {
                step.op = sys::TAKT_VECTOR_SOC_TICK;
                step.now_ns = now_ns;
            }
            Call::Weight { soc_centidb } => {
                step.op = sys::TAKT_VECTOR_SOC_WEIGHT;
                step.soc_centidb = soc_centidb;
            }
        }
        machine.run(&mut step)?;
        Ok(Answer {
            soc_centidb: step.soc_centidb,
            weight_ppm: step.answer,
        })
    }

    fn record() -> Result<Vec<Vector<Self>>, Failure> {
        Ok(vec![
            weights(
                "figure 5 and table 1: GB",
                Law::Gb(500),
                &[200, 400, 600, 800],
            )?,
            weights(
                "figure 6 and table 2: PW",
                figure_6(),
                &[100, 300, 500, 900],
            )?,
            weights(
                "section 5.1: PW as the paper's experiments",
                section_5_1(),
                &[],
            )?,
            weights("one point", Law::Pw(vec![(500, 250_000)]), &[499, 500, 501])?,
            weights(
                "as many points as there may be",
                stairs(),
                &[-2000, 149, 1501, 6000],
            )?,
            smoothed("figure 7: smoothing", 500_000)?,
            smoothed("a small share of each sample", 10_000)?,
            smoothed("no smoothing", 1_000_000)?,
            missed()?,
            negative()?,
            missed_at_once()?,
        ])
    }
}

fn figure_6() -> Law {
    Law::Pw(vec![
        (200, 0),
        (400, 200_000),
        (600, 800_000),
        (800, 1_000_000),
    ])
}

fn section_5_1() -> Law {
    Law::Pw(vec![
        (0, 0),
        (400, 200_000),
        (1000, 800_000),
        (1400, 1_000_000),
    ])
}

fn stairs() -> Law {
    Law::Pw((0..16).map(|i| (i * 100, 60_000 * i as u32)).collect())
}

fn recorder(name: &str, smoothing_ppm: u32, law: Law) -> Result<Recorder<Soc>, Failure> {
    let setup = Setup {
        interval_ns: INTERVAL_NS,
        smoothing_ppm,
        decay_ppm: 700_000,
        law,
    };
    Recorder::new(name, setup)
}

const INTERVAL_NS: u64 = 200_000_000;
const START_NS: u64 = 1_000_000_000_000;

/// At these, at every whole dB from -3 to 16, and just beside the points.
fn weights(name: &str, law: Law, more_centidb: &[i32]) -> Result<Vector<Soc>, Failure> {
    let mut soc = recorder(name, 500_000, law.clone())?;
    let edges = match law {
        Law::Gb(threshold_centidb) => vec![threshold_centidb],
        Law::Pw(points) => points.iter().map(|point| point.0).collect(),
    };
    let beside = edges.iter().flat_map(|edge| [edge - 1, *edge, edge + 1]);
    let whole = (-3..=16).map(|db| db * 100);
    for soc_centidb in more_centidb.iter().copied().chain(whole).chain(beside) {
        soc.call(Call::Weight { soc_centidb })?;
    }
    Ok(soc.done())
}

fn smoothed(name: &str, smoothing_ppm: u32) -> Result<Vector<Soc>, Failure> {
    let mut soc = recorder(name, smoothing_ppm, section_5_1())?;
    let samples = [
        1500, 1500, 300, 300, 301, 2400, -150, -700, 9, 100_000, -100_000,
    ];
    for (sample_centidb, k) in samples.into_iter().zip(0..) {
        let now_ns = START_NS + k * INTERVAL_NS;
        soc.call(Call::Report {
            now_ns,
            sample_centidb,
        })?;
    }
    Ok(soc.done())
}

fn missed() -> Result<Vector<Soc>, Failure> {
    let mut soc = recorder("figure 4: missed reports decay", 500_000, section_5_1())?;
    soc.call(Call::Tick { now_ns: START_NS })?;
    soc.call(Call::Report {
        now_ns: START_NS,
        sample_centidb: 1400,
    })?;
    // A report is missed half an interval late.
    for half in 1..=12 {
        let edge_ns = START_NS + half * INTERVAL_NS / 2;
        for now_ns in [edge_ns - 1, edge_ns] {
            soc.call(Call::Tick { now_ns })?;
        }
    }
    soc.call(Call::Report {
        now_ns: START_NS + 7 * INTERVAL_NS,
        sample_centidb: 1400,
    })?;
    Ok(soc.done())
}

fn negative() -> Result<Vector<Soc>, Failure> {
    let law = Law::Pw(vec![(-1000, 0), (1000, 1_000_000)]);
    let mut soc = recorder("below 0 dB silence changes nothing", 1_000_000, law)?;
    for (sample_centidb, at) in [(-500, 0), (0, 10), (1, 20)] {
        let now_ns = START_NS + at * INTERVAL_NS;
        soc.call(Call::Report {
            now_ns,
            sample_centidb,
        })?;
        for silence in [2, 5] {
            let now_ns = now_ns + silence * INTERVAL_NS;
            soc.call(Call::Tick { now_ns })?;
        }
    }
    Ok(soc.done())
}

fn missed_at_once() -> Result<Vector<Soc>, Failure> {
    let mut soc = recorder("however many were missed at once", 1_000_000, section_5_1())?;
    for silence in [1, 2, 3, 10, 63, 1 << 20, u64::MAX / INTERVAL_NS] {
        soc.call(Call::Report {
            now_ns: 0,
            sample_centidb: 6000,
        })?;
        let now_ns = silence * INTERVAL_NS;
        soc.call(Call::Tick { now_ns })?;
    }
    Ok(soc.done())
}
