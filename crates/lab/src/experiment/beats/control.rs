//! A control loop of 1 ms, as a soft PLC has it, on a machine that is put to use otherwise: programs
//! start and end, allocate and fault their pages in, as a compiler does, while packets come from
//! outside.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::beat::Beats;
use super::contender::Contender;
use super::jitter;
use super::load::Load;
use super::script::{Part, Role};
use super::stage::{self, play};
use crate::experiment::error::Result;
use crate::experiment::metrics::{Metrics, metrics};

pub const CASE: &str = "loop-1ms";
/// HiTactix's most.
const LOAD: Load = Load::Rate(600);

pub fn measure(
    takt: &Path,
    contender: Contender,
    beats: &Beats,
    length: Duration,
) -> Result<Metrics> {
    let compilers = ["compiler-0", "compiler-1"].map(|name| Role::ordinary(name, Part::Strain));
    let mut cast = vec![
        stage::beats(contender, beats),
        stage::ordinary(compilers.into()),
    ];
    cast.extend(LOAD.outside_ends());
    let played = play(takt, length, cast)?;
    let mut row = jitter::of_threads(beats, &played.records[0], played.window);
    let started: u64 = played.records[1].iter().map(|record| record.done).sum();
    row.extend(metrics([("processes_count", json!(started))]));
    Ok(row)
}
