//! Three members of a group: do they ever run at the same time, or out of turn?

use std::path::Path;

use serde_json::json;
use std::time::Duration;

use super::beat::{Beats, US};
use super::load::{Load, busy};
use super::script::{Part, Record, Role};
use super::spans::{disorders, merged, overlaps};
use super::stage::{self, Played, play};
use crate::experiment::error::Result;
use crate::experiment::metrics::{Metrics, metrics};

/// Four of them stay well within the first beat's budget.
const WORK_NS: u64 = 30 * US;

/// In their order: as many periods as fit, under network load and with two busy threads.
pub fn in_order(
    takt: &Path,
    beats: &Beats,
    members: &[String],
    load: Load,
    length: Duration,
) -> Result<Metrics> {
    let threads = members
        .iter()
        .map(|name| Role::ordinary(name, Part::Relay { work_ns: WORK_NS }));
    let played = beside(takt, threads.collect(), load, length)?;
    let spans = merged(&played.records[0]);
    let periods = periods(beats, &played);
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

/// The same with members that choose who goes next, four turns in each period.
pub fn by_choice(
    takt: &Path,
    beats: &Beats,
    members: &[String],
    load: Load,
    length: Duration,
) -> Result<Metrics> {
    let threads = (1..).zip(members).map(|(member, name)| {
        let members = members.len() as u32;
        Role::ordinary(
            name,
            Part::Pass {
                work_ns: WORK_NS,
                member,
                members,
            },
        )
    });
    let played = beside(takt, threads.collect(), load, length)?;
    let spans = merged(&played.records[0]);
    let turns = turns(&played.records[0]);
    let ended = turns.iter().filter(|turn| turn.choice == 0).count() as u64;
    let periods = periods(beats, &played);
    Ok(metrics([
        ("overlaps_count", json!(overlaps(&spans))),
        ("disorders_count", json!(not_chosen(&turns))),
        ("periods_count", json!(periods)),
        ("runs_count", json!(spans.len())),
        ("passes_count", json!(turns.len() as u64 - ended)),
        ("missed_jobs_count", json!(periods.saturating_sub(ended))),
    ]))
}

fn beside(takt: &Path, members: Vec<Role>, load: Load, length: Duration) -> Result<Played> {
    let mut cast = vec![stage::ordinary(members), stage::ordinary(busy())];
    cast.extend(load.ends());
    play(takt, length, cast)
}

fn periods(beats: &Beats, played: &Played) -> u64 {
    let window = played.window;
    beats.threads[0]
        .rhythm
        .count(window.begin_ns, window.end_ns)
}

/// A member's turn.
struct Turn {
    start_ns: u64,
    thread: usize,
    /// The member that was to have the next one.
    choice: u32,
}

fn turns(records: &[Record]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for (thread, record) in records.iter().enumerate() {
        let chosen = record.spans.iter().zip(&record.choices);
        turns.extend(chosen.map(|((start_ns, _), choice)| Turn {
            start_ns: *start_ns,
            thread,
            choice: *choice,
        }));
    }
    turns.sort_unstable_by_key(|turn| turn.start_ns);
    turns
}

/// Turns that another member had than the one before chose; the first one begins a job.
fn not_chosen(turns: &[Turn]) -> usize {
    turns
        .windows(2)
        .filter(|pair| pair[1].thread as u32 != pair[0].choice.saturating_sub(1))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_was_not_chosen_is_counted() {
        let record = |spans: &[(u64, u64)], choices: &[u32]| Record {
            spans: spans.to_vec(),
            choices: choices.to_vec(),
            ..Record::default()
        };
        // The first to the second, that to itself, that ends the job; then the first goes on.
        let good = [
            record(&[(0, 2), (9, 11)], &[2, 0]),
            record(&[(3, 5), (6, 8)], &[2, 0]),
        ];
        assert_eq!(not_chosen(&turns(&good)), 0);
        let bad = [
            record(&[(0, 2), (9, 11)], &[1, 0]),
            record(&[(3, 5), (6, 8)], &[1, 2]),
        ];
        assert_eq!(not_chosen(&turns(&bad)), 3);
    }
}
