//! How long a system call can delay a beat (HiTactix, table 3): an ordinary thread repeats it, so
//! that beats come at all of its moments.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::beat::Beats;
use super::contender::Contender;
use super::jitter;
use super::script::{Call, Part, Role};
use super::stage::{self, play};
use crate::experiment::error::Result;
use crate::experiment::metrics::{Metrics, metrics};

/// `call-mmap`.
pub fn case(call: Call) -> String {
    format!("call-{}", call.name())
}

pub fn measure(
    takt: &Path,
    contender: Contender,
    beats: &Beats,
    call: Call,
    length: Duration,
) -> Result<Metrics> {
    let cast = vec![
        stage::beats(contender, beats),
        stage::ordinary(vec![Role::ordinary("caller", Part::Call { call })]),
    ];
    let played = play(takt, length, cast)?;
    let mut row = jitter::of_threads(beats, &played.records[0], played.window);
    let calls: u64 = played.records[1].iter().map(|record| record.done).sum();
    row.extend(metrics([("calls_count", json!(calls))]));
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_named_by_its_call() {
        assert_eq!(case(Call::SchedSetaffinity), "call-sched_setaffinity");
        assert_eq!(Call::ALL.len(), 40);
    }
}
