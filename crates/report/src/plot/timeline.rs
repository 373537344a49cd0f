//! The time-slot table, and the threads that ran in each slot.

use maud::{Markup, html};
use serde_json::Value;

use super::marker::colour;
use super::scale::round_step;
use super::{Figure, WIDTH, line, px, svg, text};
use crate::rows::{Report, Row};
use crate::units::round_time;
use crate::view::{SUBJECT, scheduler_rank};

/// For each thread its name and the intervals in which it ran: `[["beat-0", [[0, 5000], …]],
/// …]`.
const RAN: &str = "trace_ns";
/// For each task its slots, likewise.
const SLOTS: &str = "slots_ns";
const LEFT: f64 = 90.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 30.0;
const ROW: f64 = 30.0;
const BAR: f64 = 16.0;
const TICKS: f64 = 10.0;
/// A shorter interval would not be visible.
const WIDTH_MIN: f64 = 0.4;

/// A thread or a task, and its intervals.
type Line<'a> = (&'a str, Vec<(f64, f64)>);

/// Takt's last row with a trace, which shows most.
pub fn figure(report: &Report) -> Option<Figure> {
    let row = report
        .rows
        .iter()
        .rfind(|row| row.scheduler == SUBJECT && row.metrics.contains_key(RAN))?;
    let (ran, slots) = (lines(row, RAN), lines(row, SLOTS));
    let last_ns = ran
        .iter()
        .chain(&slots)
        .flat_map(|(_, intervals)| intervals)
        .map(|interval| interval.1)
        .reduce(f64::max)
        .filter(|last_ns| *last_ns > 0.0)?;
    let place = |ns: f64| LEFT + ns / last_ns * (RIGHT - LEFT);
    let bottom = TOP + ran.len() as f64 * ROW;
    let step = round_step(last_ns, TICKS);
    let drawing = html! {
        @for tick in (0..=(last_ns / step).floor() as usize).map(|at| at as f64 * step) {
            (line("grid", (place(tick), TOP), (place(tick), bottom)))
            (text("mid tick", (place(tick), TOP - 10.0), &round_time(tick)))
        }
        @for (at, (name, intervals)) in ran.iter().enumerate() {
            @let middle = TOP + (at as f64 + 0.5) * ROW;
            (text("end name", (LEFT - 10.0, middle + 4.5), name))
            @let mine = slots.iter().find(|(task, _)| task == name);
            @let class = match mine {
                Some(_) => colour(SUBJECT),
                // The colour after all known schedulers.
                None => format!("s{}", scheduler_rank("")),
            };
            @for interval in intervals {
                (bar(&format!("{class} bar"), place, *interval, (middle, BAR)))
            }
            @for interval in mine.iter().flat_map(|(_, slots)| slots) {
                (bar("slot", place, *interval, (middle, BAR + 7.0)))
            }
        }
    };
    Some(Figure {
        title: "The table, and what ran in it",
        caption: "Outlined: the slots of the time-slot table. Filled: when each thread really \
                  ran, by its own readings of the clock. The first thread never yields: it is \
                  cut where its slot ends, and goes on as an ordinary thread in what is free.",
        drawing: svg(
            bottom + 8.0,
            "Slots of the table and spans in which threads ran",
            drawing,
        ),
    })
}

fn bar(
    class: &str,
    place: impl Fn(f64) -> f64,
    (from, to): (f64, f64),
    (middle, height): (f64, f64),
) -> Markup {
    let width = (place(to) - place(from)).max(WIDTH_MIN);
    html! {
        rect class=(class) x=(format!("{:.2}", place(from))) y=(px(middle - height / 2.0))
            width=(format!("{width:.2}")) height=(px(height)) {}
    }
}

/// Values of another form are left out.
fn lines<'a>(row: &'a Row, metric: &str) -> Vec<Line<'a>> {
    let list = row.metrics.get(metric).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(|line| {
            let name = line.get(0)?.as_str()?;
            let intervals = line.get(1)?.as_array()?.iter().filter_map(interval);
            Some((name, intervals.collect()))
        })
        .collect()
}

fn interval(pair: &Value) -> Option<(f64, f64)> {
    let (from, to) = (pair.get(0)?.as_f64()?, pair.get(1)?.as_f64()?);
    (0.0 <= from && from <= to).then_some((from, to))
}
