//! The spans of several threads in one order.

use serde_json::{Value, json};

use super::script::{Record, Window};

/// A thread ran, at least from its first reading of the clock to its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The index of the thread's record.
    pub thread: usize,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// All threads' spans and jobs, by their begin.
pub fn merged(records: &[Record]) -> Vec<Span> {
    let mut spans: Vec<Span> = records
        .iter()
        .enumerate()
        .flat_map(|(thread, record)| {
            let jobs = record.jobs.iter().map(|job| (job.woke_ns, job.end_ns));
            let spans = record.spans.iter().copied();
            jobs.chain(spans).map(move |(start_ns, end_ns)| Span {
                thread,
                start_ns,
                end_ns,
            })
        })
        .collect();
    spans.sort_unstable_by_key(|span| (span.start_ns, span.end_ns));
    spans
}

/// From one thread's last reading of the clock to another's first, for every switch from one to
/// the other.
pub fn switches_ns(spans: &[Span], wanted: impl Fn(usize, usize) -> bool) -> Vec<u64> {
    let mut found: Vec<u64> = spans
        .windows(2)
        .filter(|pair| pair[0].thread != pair[1].thread && wanted(pair[0].thread, pair[1].thread))
        .map(|pair| pair[1].start_ns.saturating_sub(pair[0].end_ns))
        .collect();
    found.sort_unstable();
    found
}

/// Spans that begin before the one before them has ended.
pub fn overlaps(spans: &[Span]) -> usize {
    spans
        .windows(2)
        .filter(|pair| pair[1].start_ns < pair[0].end_ns)
        .count()
}

/// Spans that are not the next thread's in turn.
pub fn disorders(spans: &[Span], threads: usize) -> usize {
    spans
        .windows(2)
        .filter(|pair| pair[1].thread != (pair[0].thread + 1) % threads)
        .count()
}

/// The spans in the first `length_ns` of the window, for a plot: for each thread its name and
/// intervals, in nanoseconds from the window's begin.
pub fn trace(records: &[Record], window: Window, length_ns: u64) -> Value {
    let spans = merged(records);
    let rows = records.iter().enumerate().map(|(thread, record)| {
        let ran: Vec<(u64, u64)> = spans
            .iter()
            .filter(|span| span.thread == thread && span.start_ns >= window.begin_ns)
            .map(|span| {
                (
                    span.start_ns - window.begin_ns,
                    span.end_ns - window.begin_ns,
                )
            })
            .filter(|(start_ns, _)| *start_ns < length_ns)
            .map(|(start_ns, end_ns)| (start_ns, end_ns.min(length_ns)))
            .collect();
        json!([record.name, ran])
    });
    json!(rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(spans: &[(u64, u64)]) -> Record {
        Record {
            spans: spans.to_vec(),
            ..Record::default()
        }
    }

    #[test]
    fn a_switch_is_from_one_thread_to_another() {
        let spans = merged(&[
            record(&[(0, 10), (13, 20), (40, 50)]),
            record(&[(22, 38), (57, 60)]),
        ]);
        assert_eq!(switches_ns(&spans, |_, _| true), [2, 2, 7]);
        assert_eq!(switches_ns(&spans, |from, to| (from, to) == (0, 1)), [2, 7]);
        assert_eq!(overlaps(&spans), 0);
    }

    #[test]
    fn turns_and_overlaps_are_counted() {
        let in_turn = [
            record(&[(0, 2), (9, 11)]),
            record(&[(3, 5)]),
            record(&[(6, 8)]),
        ];
        assert_eq!(disorders(&merged(&in_turn), 3), 0);
        let twice = [
            record(&[(0, 2), (3, 5)]),
            record(&[(4, 8)]),
            record(&[(9, 10)]),
        ];
        assert_eq!(disorders(&merged(&twice), 3), 1);
        assert_eq!(overlaps(&merged(&twice)), 1);
    }

    #[test]
    fn a_trace_begins_with_its_window() {
        let window = Window {
            begin_ns: 100,
            end_ns: 900,
        };
        let mut one = record(&[(90, 95), (100, 110), (190, 230), (300, 310)]);
        one.name = "beat-0".to_owned();
        assert_eq!(
            trace(&[one], window, 100),
            json!([["beat-0", [[0, 10], [90, 100]]]])
        );
    }
}
