//! Lateness of threads after their beats by network load, a panel for each period.

use maud::{Markup, html};

use super::legend;
use super::marker::{colour, marker};
use super::scale::LogScale;
use super::{Figure, WIDTH, line, px, svg, text};
use crate::rows::Report;
use crate::units::round_time;
use crate::view::{Case, plotted_cases, schedulers};

const METRIC: &str = "jitter_p99_ns";
const MOST: &str = "jitter_max_ns";
/// Only these rows: threads are late in other cases, too.
const PERIOD: &str = "period_ns";
const FLOOR_NS: f64 = 10.0;
const HEIGHT: f64 = 470.0;
const TOP: f64 = 76.0;
const BOTTOM: f64 = HEIGHT - 52.0;
const LEFT: f64 = 64.0;
/// Between panels, and right of the last one.
const GAP: f64 = 40.0;

pub fn figure(report: &Report) -> Option<Figure> {
    let mut cases = plotted_cases(report, METRIC);
    for case in &mut cases {
        case.rows.retain(|row| row.number(PERIOD).is_some());
    }
    cases.retain(|case| !case.rows.is_empty());
    let values = cases
        .iter()
        .flat_map(|case| &case.rows)
        .flat_map(|row| [row.number(METRIC), row.number(MOST)])
        .flatten();
    let scale = LogScale::covering(values, FLOOR_NS, (BOTTOM, TOP))?;
    let panels = panels(&cases);
    let places: usize = panels.iter().map(|panel| panel.len()).sum();
    let step = (WIDTH - LEFT - GAP * panels.len() as f64) / places as f64;
    let names: Vec<&str> = drawn(&cases);
    let starts = panels.iter().scan(LEFT, |from, panel| {
        let start = *from;
        *from += step * panel.len() as f64 + GAP;
        Some(start)
    });
    let drawing = html! {
        (legend::schedulers(&names, 8.0, 14.0))
        @for value in scale.decades() {
            (text("end tick", (LEFT - 8.0, scale.place(value) + 4.0), &round_time(value)))
        }
        @for (panel, from) in panels.iter().zip(starts) {
            (drawn_panel(panel, &names, &scale, from, step))
        }
    };
    Some(Figure {
        title: "Jitter by network load",
        caption: "How late threads start after their beats, with two busy ordinary threads \
                  and UDP both ways: what 99 of 100 starts stay within (filled, joined), and \
                  the latest start (hollow). One panel for each period; lower is better.",
        drawing: svg(
            HEIGHT,
            "99th percentile and maximum of the jitter against network load, by scheduler",
            drawing,
        ),
    })
}

/// Cases of the same period.
fn panels<'a, 'b>(cases: &'b [Case<'a>]) -> Vec<&'b [Case<'a>]> {
    let period = |case: &Case| case.rows.first().and_then(|row| row.number(PERIOD));
    cases
        .chunk_by(|one, next| period(one) == period(next))
        .collect()
}

/// One point is no curve.
fn drawn<'a>(cases: &[Case<'a>]) -> Vec<&'a str> {
    let mut names = schedulers(cases);
    names.retain(|name| {
        let rows = cases.iter().flat_map(|case| &case.rows);
        rows.filter(|row| row.scheduler == *name).count() > 1
    });
    names
}

fn drawn_panel(panel: &[Case], names: &[&str], scale: &LogScale, from: f64, step: f64) -> Markup {
    let x = |at: usize| from + step * (at as f64 + 0.5);
    let to = from + step * panel.len() as f64;
    let period_ns = panel
        .iter()
        .flat_map(|case| &case.rows)
        .find_map(|row| row.number(PERIOD));
    html! {
        @if let Some(period_ns) = period_ns {
            (text("heading", (from, 52.0), &format!("every {}", round_time(period_ns))))
        }
        @for value in scale.decades() {
            (line("grid", (from, scale.place(value)), (to, scale.place(value))))
        }
        @for (at, case) in panel.iter().enumerate() {
            (text("mid tick", (x(at), BOTTOM + 20.0), &load(case.name)))
        }
        // Takt last, so that nothing lies on top of it.
        @for name in names.iter().rev() {
            @let points = |metric: &str| -> Vec<(f64, f64)> {
                panel
                    .iter()
                    .enumerate()
                    .filter_map(|(at, case)| {
                        let row = case.rows.iter().find(|row| row.scheduler == *name)?;
                        Some((x(at), scale.place(row.number(metric)?)))
                    })
                    .collect()
            };
            polyline class=(format!("{} curve", colour(name))) points=(path(&points(METRIC))) {}
            @for point in points(MOST) { (marker(name, "hollow", point)) }
            @for point in points(METRIC) { (marker(name, "solid", point)) }
        }
    }
}

fn path(points: &[(f64, f64)]) -> String {
    let points: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{},{}", px(*x), px(*y)))
        .collect();
    points.join(" ")
}

/// The load in a case's name, `40ms-600kBps`.
fn load(case: &str) -> String {
    let load = case.split_once('-').map_or(case, |(_, load)| load);
    load.replace("kBps", " KB/s")
}
