//! Three members of a group: do they ever run at the same time, or out of turn?

use std::path::Path;

use serde_json::json;
use std::time::Duration;

use super::beat::{Beats, US};
use super::load::{Load, busy};
use super::script::{Part, Role};
use super::spans::{disorders, merged, overlaps};
use super::stage::{self, play};
use crate::experiment::error::Result;
use crate::experiment::metrics::{Metrics, metrics};

/// Three of them stay well within the first beat's budget.
const WORK_NS: u64 = 40 * US;

/// As many periods as fit, under network load and with two busy threads.
pub fn measure(
    takt: &Path,
    beats: &Beats,
    members: &[String],
    load: Load,
    length: Duration,
) -> Result<Metrics> {
    let threads = members
        .iter()
        .map(|name| Role::ordinary(name, Part::Relay { work_ns: WORK_NS }));
    let mut cast = vec![stage::ordinary(threads.collect()), stage::ordinary(busy())];
    cast.extend(load.ends());
    let played = play(takt, length, cast)?;
    let spans = merged(&played.records[0]);
    let window = played.window;
    let periods = beats.threads[0]
        .rhythm
        .count(window.begin_ns, window.end_ns);
    Ok(metrics([
        ("overlaps_count", json!(overlaps(&spans))),
        ("disorders_count", json!(disorders(&spans, members.len()))),
        ("periods_count", json!(periods)),
        ("runs_count", json!(spans.len())),
        (
            "missed_jobs_count",
            json!((periods * members.len() as u64).saturating_sub(spans.len() as u64)),
        ),
    ]))
}
