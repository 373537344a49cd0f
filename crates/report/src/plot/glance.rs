//! The result at a glance: spacing with five classes beside spacing with one.

use maud::{Markup, html};

use super::marker::{colour, marker};
use super::scale::LogScale;
use super::{Figure, WIDTH, line, scheduler_label, svg, text};
use crate::rows::{Report, Row};
use crate::units::{round_time, time};
use crate::view::{Case, plotted_cases};

const METRIC: &str = "spacing_error_p99_ns";
const PANEL: f64 = WIDTH / 2.0;
const NAME_RIGHT: f64 = 74.0;
const LEFT: f64 = 88.0;
const RIGHT: f64 = PANEL - 76.0;
const TOP: f64 = 92.0;
const ROW: f64 = 32.0;
const FLOOR_NS: f64 = 1.0;

/// `None` unless the report has a case of one class and one of five.
pub fn glance(report: &Report) -> Option<Figure> {
    let mut cases = plotted_cases(report, METRIC);
    let five = cases
        .iter()
        .position(|case| case.name.starts_with("five"))?;
    let five = cases.remove(five);
    let find = |wanted: &str| cases.iter().position(|case| case.name.starts_with(wanted));
    let one = cases.remove(find("single-100mbit").or_else(|| find("single-"))?);

    let panels = [("Five classes at once", five), ("One class", one)];
    let rows = || panels.iter().flat_map(|(_, case)| &case.rows);
    let values = rows().filter_map(|row| row.number(METRIC));
    let scale = LogScale::covering(values, FLOOR_NS, (LEFT, RIGHT))?;
    let longest = panels.iter().map(|(_, case)| case.rows.len()).max()?;
    let bottom = TOP + longest as f64 * ROW;
    let drawing = html! {
        @for (at, (heading, case)) in panels.iter().enumerate() {
            g transform=(format!("translate({} 0)", at as f64 * PANEL)) {
                (panel(&scale, heading, case, bottom))
            }
        }
    };
    Some(Figure {
        title: "At a glance",
        caption: "The spacing error that 99 of 100 gaps stay within, with one class and with \
                  five at once, on the same logarithmic axis; further left is better.",
        drawing: svg(
            bottom + 12.0,
            "99th percentile of the spacing error with one class and with five, by scheduler",
            drawing,
        ),
    })
}

fn panel(scale: &LogScale, heading: &str, case: &Case, bottom: f64) -> Markup {
    html! {
        (text("heading", (LEFT, 24.0), heading))
        (text("note", (LEFT, 44.0), &format!("{}, spacing error p99", case.name)))
        @for value in scale.decades() {
            @let x = scale.place(value);
            (line("grid", (x, TOP - 6.0), (x, bottom)))
            (text("mid tick", (x, TOP - 14.0), &round_time(value)))
        }
        @for (at, row) in case.rows.iter().enumerate() {
            @let y = TOP + (at as f64 + 0.5) * ROW;
            @if let Some(ns) = row.number(METRIC) { (dot(row, (scale.place(ns), y), ns)) }
        }
    }
}

fn dot(row: &Row, (x, y): (f64, f64), ns: f64) -> Markup {
    let name = row.scheduler.as_str();
    html! {
        (scheduler_label((NAME_RIGHT, y + 4.5), name))
        (line(&format!("{} reach", colour(name)), (LEFT, y), (x, y)))
        (marker(name, "solid", (x, y)))
        (text("strong", (x + 13.0, y + 4.5), &time(ns)))
    }
}
