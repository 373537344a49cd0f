//! The cost of a switch: from the last reading of the clock in one thread to the first in the
//! next (HiTactix, table 2).

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use takt_report::{Row, nearest_rank};

use super::beat::{Beat, Beats, US};
use super::clock::Rhythm;
use super::contender::Contender;
use super::jitter;
use super::script::{Part, Role};
use super::spans::{merged, switches_ns};
use super::stage::{self, Cast, Played, play};
use crate::experiment::error::Result;
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::namespace::Namespace;

/// A switch between ordinary threads.
pub const PLAIN: &str = "switch-threads";
const MEAN: &str = "switch_mean_ns";
/// Between two yields: short, and longer than a yield costs.
const SPELL_NS: u64 = 10 * US;

/// Two ordinary threads of one program yield to each other.
pub fn between_threads(takt: &Path, length: Duration) -> Result<Metrics> {
    let relay = |name| Role::ordinary(name, Part::Relay { work_ns: SPELL_NS });
    let cast = vec![stage::ordinary(vec![relay("one"), relay("other")])];
    let played = play(takt, length, cast)?;
    Ok(figures(&played, |_, _| true))
}

/// The members of a group of two, of which the first hands over to the second.
pub fn in_group(takt: &Path, members: &[String], length: Duration) -> Result<Metrics> {
    let relay = |name: &String| Role::ordinary(name, Part::Relay { work_ns: SPELL_NS });
    let cast = vec![stage::ordinary(members.iter().map(relay).collect())];
    let played = play(takt, length, cast)?;
    Ok(figures(&played, |from, to| (from, to) == (0, 1)))
}

/// From a thread that reads the clock until it is cut, to the one whose slot begins then.
pub fn between_beats(
    takt: &Path,
    contender: Contender,
    beats: &Beats,
    length: Duration,
) -> Result<Metrics> {
    let cast = vec![without_end(contender, beats)];
    let played = play(takt, length, cast)?;
    let mut row = figures(&played, |from, to| (from, to) == (0, 1));
    let second = Beats {
        threads: beats.threads[1..].to_vec(),
        ..beats.clone()
    };
    // The other thread's work also delays this one.
    row.extend(jitter::of_threads(
        &second,
        &played.records[0][1..],
        played.window,
    ));
    Ok(row)
}

/// From a thread that has finished its job, to an ordinary one that reads the clock.
pub fn to_ordinary(
    takt: &Path,
    contender: Contender,
    beats: &Beats,
    length: Duration,
) -> Result<Metrics> {
    let played = play(takt, length, beside_watcher(contender, beats))?;
    Ok(figures(&played, |from, to| (from, to) == (0, 1)))
}

/// From an ordinary thread that reads the clock, to one whose beat begins.
pub fn from_ordinary(
    takt: &Path,
    contender: Contender,
    beats: &Beats,
    length: Duration,
) -> Result<Metrics> {
    let played = play(takt, length, beside_watcher(contender, beats))?;
    Ok(figures(&played, |from, to| (from, to) == (1, 0)))
}

/// One program, so that no switch changes the memory map.
fn beside_watcher(contender: Contender, beats: &Beats) -> Cast {
    let (namespace, mut threads) = stage::beats(contender, beats);
    threads.truncate(1);
    threads.push(Role::ordinary(
        "watcher",
        Part::Watch {
            rhythm: at_any_time(&beats.threads[0]),
        },
    ));
    vec![(namespace, threads)]
}

/// The beats, the first of which reads the clock without end.
pub fn without_end(contender: Contender, beats: &Beats) -> (Namespace, Vec<Role>) {
    let (namespace, mut threads) = stage::beats(contender, beats);
    let rhythm = beats.threads[0].rhythm;
    threads[0].part = Part::Watch { rhythm };
    (namespace, threads)
}

/// The additional cost of every switch over one between ordinary threads.
pub fn compare(rows: &mut [Row]) {
    let plain_ns = rows
        .iter()
        .find(|row| row.case == PLAIN)
        .and_then(|row| row.number(MEAN));
    for row in rows.iter_mut().filter(|row| row.case != PLAIN) {
        if let (Some(plain_ns), Some(mean_ns)) = (plain_ns, row.number(MEAN)) {
            row.metrics.insert(
                "switch_over_plain_ns".to_owned(),
                json!((mean_ns - plain_ns) as i64),
            );
        }
    }
}

fn at_any_time(beat: &Beat) -> Rhythm {
    Rhythm {
        phase_ns: 0,
        ..beat.rhythm
    }
}

fn figures(played: &Played, wanted: impl Fn(usize, usize) -> bool) -> Metrics {
    let switches = switches_ns(&merged(&played.records[0]), wanted);
    metrics([
        (MEAN, json!(jitter::mean(&switches))),
        ("switch_p50_ns", json!(nearest_rank(&switches, 500))),
        ("switch_p99_ns", json!(nearest_rank(&switches, 990))),
        ("switch_max_ns", json!(switches.last())),
        ("switches_count", json!(switches.len())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_compared_with_the_plain_one() {
        let row = |case: &str, mean_ns: u64| Row {
            scheduler: "takt".to_owned(),
            case: case.to_owned(),
            metrics: metrics([(MEAN, json!(mean_ns))]),
        };
        let mut rows = [row("switch-in-group", 5_060), row(PLAIN, 2_967)];
        compare(&mut rows);
        assert_eq!(rows[0].metrics["switch_over_plain_ns"], json!(2_093));
        assert!(!rows[1].metrics.contains_key("switch_over_plain_ns"));
    }
}
