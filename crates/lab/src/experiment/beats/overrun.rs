//! A thread that never yields, beside three that keep their declaration.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use takt_report::nearest_rank;

use super::beat::{Beat, Beats, US};
use super::contender::Contender;
use super::jitter;
use super::load::watched;
use super::script::{Record, Window};
use super::spans::trace;
use super::stage::{self, play};
use super::switches::without_end;
use crate::experiment::error::Result;
use crate::experiment::metrics::{Metrics, metrics};

/// Frames in the plot of the threads' runs.
const FRAMES_SHOWN: u64 = 2;

/// The jitter of the three, and the cut of the first one if it never yields.
pub fn measure(
    takt: &Path,
    contender: Contender,
    beats: &Beats,
    yields: bool,
    length: Duration,
) -> Result<Metrics> {
    let cast = vec![
        if yields {
            stage::beats(contender, beats)
        } else {
            without_end(contender, beats)
        },
        stage::ordinary(watched()),
    ];
    let played = play(takt, length, cast)?;
    let (first, others) = played.records[0].split_at(1);
    let well_behaved = Beats {
        threads: beats.threads[1..].to_vec(),
        ..beats.clone()
    };
    let mut row = jitter::of_threads(&well_behaved, others, played.window);
    row.extend(of_cuts(contender, &beats.threads[0], &first[0]));
    let all_records: Vec<Record> = played.records.concat();
    let shown_ns = FRAMES_SHOWN * beats.threads[0].rhythm.period_ns;
    row.extend(metrics([
        ("trace_ns", trace(&all_records, played.window, shown_ns)),
        ("slots_ns", slots(beats, played.window, shown_ns)),
    ]));
    Ok(row)
}

/// How long after the end of its budget it was cut, if it has spans. A thread that yields has
/// jobs instead.
/// yields has jobs instead.
fn of_cuts(contender: Contender, beat: &Beat, record: &Record) -> Metrics {
    let mut late = match contender {
        Contender::Takt | Contender::TaktLead => after_slots(beat, &record.spans),
        _ => after_budgets(beat, &record.spans),
    };
    late.sort_unstable();
    metrics([
        ("cut_late_p50_ns", json!(nearest_rank(&late, 500))),
        ("cut_late_p99_ns", json!(nearest_rank(&late, 990))),
        ("cut_late_max_ns", json!(late.last())),
        ("cuts_count", json!(late.len())),
    ])
}

/// A slot ends where the table says. The thread may have run before it, and may run after it,
/// as an ordinary one: that takes two switches, more than a tick.
fn after_slots(beat: &Beat, spans: &[(u64, u64)]) -> Vec<i64> {
    const TICK_MAX_NS: u64 = 4 * US;
    let runs = runs(spans, TICK_MAX_NS);
    let Some((first_ns, last_ns)) = runs.first().zip(runs.last()).map(|(a, b)| (a.0, b.1)) else {
        return Vec::new();
    };
    let beats = beat.rhythm.count(first_ns, last_ns);
    let first_beat_ns = beat.rhythm.next_after(first_ns - 1);
    (0..beats)
        .map(|at| first_beat_ns + at * beat.rhythm.period_ns)
        .filter_map(|beat_ns| {
            let end_ns = beat_ns + beat.budget_ns;
            let run = runs[..runs.partition_point(|run| run.0 < end_ns)].last()?;
            (run.1 > beat_ns).then_some(run.1 as i64 - end_ns as i64)
        })
        .collect()
}

/// A budget of SCHED_DEADLINE ends when the thread has run for that time.
fn after_budgets(beat: &Beat, spans: &[(u64, u64)]) -> Vec<i64> {
    const INTERRUPT_MAX_NS: u64 = 100 * US;
    runs(spans, INTERRUPT_MAX_NS)
        .into_iter()
        .map(|(start_ns, end_ns)| end_ns as i64 - (start_ns + beat.budget_ns) as i64)
        .collect()
}

/// Spans with nothing but an interrupt between them are one run. The window ended the last one.
fn runs(spans: &[(u64, u64)], interrupt_max_ns: u64) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for (start_ns, end_ns) in spans {
        match runs.last_mut() {
            Some(run) if start_ns - run.1 < interrupt_max_ns => run.1 = *end_ns,
            _ => runs.push((*start_ns, *end_ns)),
        }
    }
    runs.pop();
    runs
}

/// The slots, in nanoseconds from the window's begin: the planner puts a task where its offset
/// says, or refuses.
fn slots(beats: &Beats, window: Window, length_ns: u64) -> Value {
    let slots = beats.threads.iter().map(|beat| {
        let frames = (0..length_ns / beat.rhythm.period_ns).map(|frame| {
            let beat_ns = window.begin_ns + frame * beat.rhythm.period_ns;
            let begin_ns = beat.rhythm.next_after(beat_ns) - window.begin_ns;
            (begin_ns, begin_ns + beat.budget_ns)
        });
        json!([beat.name, frames.collect::<Vec<_>>()])
    });
    json!(slots.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_cut_is_told_from_an_interrupt_and_from_what_it_gets_besides() {
        let spans = [
            (MS, 3 * MS),
            // A tick, and then the end of the slot.
            (3 * MS + 3_000, 9 * MS + 7_000),
            // In free slots, and from there right into the next one; it goes on as an ordinary
            // thread after it.
            (39 * MS, 49 * MS + 9_000),
            (49 * MS + 15_000, 50 * MS),
            (81 * MS, 83 * MS),
        ];
        let record = Record {
            spans: spans.to_vec(),
            ..Record::default()
        };
        let beat = &Beats::slow().threads[0];
        let figures = of_cuts(Contender::Takt, beat, &record);
        assert_eq!(figures["cuts_count"], json!(2));
        assert_eq!(figures["cut_late_p50_ns"], json!(7_000));
        assert_eq!(figures["cut_late_max_ns"], json!(9_000));
        let deadline = of_cuts(Contender::Deadline, beat, &record);
        assert_eq!(deadline["cut_late_p50_ns"], json!(7_000));
    }

    #[test]
    fn slots_are_where_the_offsets_say() {
        let window = Window {
            begin_ns: 80 * MS,
            end_ns: 800 * MS,
        };
        let slots = slots(&Beats::slow(), window, 80 * MS);
        assert_eq!(
            slots[0],
            json!(["beat-0", [[MS, 9 * MS], [41 * MS, 49 * MS]]])
        );
    }
}
