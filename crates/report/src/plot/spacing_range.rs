//! Spacing error of every case and scheduler: median to 99th percentile.

use maud::{Markup, html};

use super::marker::{colour, marker};
use super::scale::LogScale;
use super::stack::Stack;
use super::{Figure, WIDTH, decades, line, scheduler_label, svg, text};
use crate::rows::{Report, Row};
use crate::units::time;
use crate::view::plotted_cases;

const NAME_RIGHT: f64 = 236.0;
const LEFT: f64 = 254.0;
const RIGHT: f64 = WIDTH - 96.0;
const TOP: f64 = 58.0;
const ROW: f64 = 20.0;
const CASE_GAP: f64 = 12.0;
/// Clocks count whole nanoseconds, so smaller values are drawn as one.
const FLOOR_NS: f64 = 1.0;

pub fn figure(report: &Report) -> Option<Figure> {
    let cases = plotted_cases(report, "spacing_error_p99_ns");
    let reaches: Vec<Reach> = cases
        .iter()
        .flat_map(|case| &case.rows)
        .filter_map(|row| Reach::of(row))
        .collect();
    let scale = LogScale::covering(
        reaches
            .iter()
            .flat_map(|reach| [reach.p50_ns, reach.p99_ns, reach.max_ns]),
        FLOOR_NS,
        (LEFT, RIGHT),
    )?;
    let stack = Stack::new(&cases, TOP, ROW, CASE_GAP);
    let drawing = html! {
        (text("axis", (LEFT, 16.0), "spacing error"))
        (text("end axis", (WIDTH - 6.0, 16.0), "p99"))
        (stack.bands(WIDTH))
        (decades(&scale, TOP, stack.bottom()))
        @for (at, case) in cases.iter().enumerate() {
            (stack.name(at, case))
            @for (line, row) in case.rows.iter().enumerate() {
                (reach(&scale, row, stack.middle(at, line)))
            }
        }
    };
    Some(Figure {
        title: "Spacing error by case",
        caption: "How far the gap between two packets in a row is from the gap the rate asks \
                  for: the thick line reaches from the median (hollow) to the 99th percentile \
                  (solid), the thin one on to the worst gap of the run; further left is better.",
        drawing: svg(
            stack.bottom() + 30.0,
            "Spacing error, median to 99th percentile, for each case and scheduler",
            drawing,
        ),
    })
}

struct Reach {
    p50_ns: f64,
    p99_ns: f64,
    max_ns: f64,
}

impl Reach {
    fn of(row: &Row) -> Option<Self> {
        let p99_ns = row.number("spacing_error_p99_ns")?;
        Some(Reach {
            p50_ns: row.number("spacing_error_p50_ns").unwrap_or(p99_ns),
            p99_ns,
            max_ns: row.number("spacing_error_max_ns").unwrap_or(p99_ns),
        })
    }
}

fn reach(scale: &LogScale, row: &Row, y: f64) -> Markup {
    let Some(reach) = Reach::of(row) else {
        return Markup::default();
    };
    let [p50, p99, max] = [reach.p50_ns, reach.p99_ns, reach.max_ns].map(|ns| scale.place(ns));
    let name = row.scheduler.as_str();
    let colour = colour(name);
    html! {
        (scheduler_label((NAME_RIGHT, y + 4.5), name))
        (line(&format!("{colour} whisker"), (p99, y), (max, y)))
        (line(&format!("{colour} whisker"), (max, y - 4.0), (max, y + 4.0)))
        (line(&format!("{colour} reach"), (p50, y), (p99, y)))
        (marker(name, "hollow", (p50, y)))
        (marker(name, "solid", (p99, y)))
        (text("end tick", (WIDTH - 6.0, y + 4.5), &time(reach.p99_ns)))
    }
}
