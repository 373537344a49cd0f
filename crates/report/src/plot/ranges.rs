//! From the median to the 99th percentile, of every case and scheduler: spacing errors, delays.

use maud::{Markup, html};

use super::marker::{colour, marker};
use super::scale::LogScale;
use super::stack::Stack;
use super::{Figure, WIDTH, decades, line, scheduler_label, svg, text};
use crate::rows::{Report, Row};
use crate::units::time;
use crate::view::{Case, cases, plotted_cases};

const RIGHT: f64 = WIDTH - 96.0;
const TOP: f64 = 58.0;
const ROW: f64 = 20.0;
const CASE_GAP: f64 = 12.0;
/// Clocks count whole nanoseconds.
const FLOOR_NS: f64 = 1.0;
/// Less than a frame takes on the fastest of a gateway's lines.
const LINE_FLOOR_NS: f64 = 10_000.0;

/// What is measured, and how it is told.
struct Measure {
    metric: &'static str,
    axis: &'static str,
    title: &'static str,
    caption: &'static str,
    label: &'static str,
    /// Smaller values are drawn as this one.
    floor_ns: f64,
}

const SPACING: Measure = Measure {
    metric: "spacing_error",
    axis: "spacing error",
    title: "Spacing error by case",
    caption: "How far the gap between two packets in a row is from the gap the rate asks for: \
              the thick line reaches from the median (hollow) to the 99th percentile (solid), \
              the thin one on to the worst gap of the run; further left is better.",
    label: "Spacing error, median to 99th percentile, for each case and scheduler",
    floor_ns: FLOOR_NS,
};

const DELAY: Measure = Measure {
    metric: "delay",
    axis: "delay",
    title: "Delays",
    caption: "How long packets of each class wait for the line: the thick line reaches from the \
              median (hollow) to the 99th percentile (solid), the thin one on to the longest; \
              further left is better.",
    label: "Delay, median to 99th percentile, for each class and scheduler",
    floor_ns: FLOOR_NS,
};

const DOWN: Measure = Measure {
    metric: "ping_down",
    axis: "later than without load, down",
    title: "Pings into the house",
    caption: "How much later packets come in when the line is full: the thick line reaches from \
              the median (hollow) to the 99th percentile (solid), the thin one on to the longest; \
              further left is better.",
    label: "Added delay of pings downwards, median to 99th percentile, for each case and scheduler",
    floor_ns: LINE_FLOOR_NS,
};

const UP: Measure = Measure {
    metric: "ping_up",
    axis: "later than without load, up",
    title: "Pings out of the house",
    caption: "The same of packets that go out.",
    label: "Added delay of pings upwards, median to 99th percentile, for each case and scheduler",
    floor_ns: LINE_FLOOR_NS,
};

pub fn spacing(report: &Report) -> Option<Figure> {
    let cases = plotted_cases(report, "spacing_error_p99_ns");
    figure(&SPACING, &cases)
}

/// Of a gateway's hosts, from the internet.
pub fn down(report: &Report) -> Option<Figure> {
    figure(&DOWN, &plotted_cases(report, "ping_down_p99_ns"))
}

/// Likewise, to the internet.
pub fn up(report: &Report) -> Option<Figure> {
    figure(&UP, &plotted_cases(report, "ping_up_p99_ns"))
}

/// Of classes, too.
pub fn delays(report: &Report) -> Option<Figure> {
    let mut cases = cases(report);
    for case in &mut cases {
        case.rows.retain(|row| DELAY.reach(row).is_some());
    }
    cases.retain(|case| !case.rows.is_empty());
    figure(&DELAY, &cases)
}

fn figure(measure: &Measure, cases: &[Case]) -> Option<Figure> {
    let reaches: Vec<Reach> = cases
        .iter()
        .flat_map(|case| &case.rows)
        .filter_map(|row| measure.reach(row))
        .collect();
    let stack = Stack::new(cases, TOP, ROW, CASE_GAP);
    let left = stack.names_right() + 18.0;
    let scale = LogScale::covering(
        reaches
            .iter()
            .flat_map(|reach| [reach.p50_ns, reach.p99_ns, reach.max_ns]),
        measure.floor_ns,
        (left, RIGHT),
    )?;
    let drawing = html! {
        (text("axis", (left, 16.0), measure.axis))
        (text("end axis", (WIDTH - 6.0, 16.0), "p99"))
        (stack.bands(WIDTH))
        (decades(&scale, TOP, stack.bottom()))
        @for (at, case) in cases.iter().enumerate() {
            (stack.name(at, case))
            @for (line, row) in case.rows.iter().enumerate() {
                @if let Some(reach) = measure.reach(row) {
                    (drawn(&scale, &reach, &row.scheduler, (stack.names_right(), stack.middle(at, line))))
                }
            }
        }
    };
    Some(Figure {
        title: measure.title,
        caption: measure.caption,
        drawing: svg(stack.bottom() + 30.0, measure.label, drawing),
    })
}

impl Measure {
    fn reach(&self, row: &Row) -> Option<Reach> {
        let number = |part: &str| row.number(&format!("{}_{part}_ns", self.metric));
        let p99_ns = number("p99")?;
        Some(Reach {
            p50_ns: number("p50").unwrap_or(p99_ns),
            p99_ns,
            max_ns: number("max").unwrap_or(p99_ns),
        })
    }
}

struct Reach {
    p50_ns: f64,
    p99_ns: f64,
    max_ns: f64,
}

fn drawn(scale: &LogScale, reach: &Reach, name: &str, (name_right, y): (f64, f64)) -> Markup {
    let [p50, p99, max] = [reach.p50_ns, reach.p99_ns, reach.max_ns].map(|ns| scale.place(ns));
    let colour = colour(name);
    html! {
        (scheduler_label((name_right, y + 4.5), name))
        (line(&format!("{colour} whisker"), (p99, y), (max, y)))
        (line(&format!("{colour} whisker"), (max, y - 4.0), (max, y + 4.0)))
        (line(&format!("{colour} reach"), (p50, y), (p99, y)))
        (marker(name, "hollow", (p50, y)))
        (marker(name, "solid", (p99, y)))
        (text("end tick", (WIDTH - 6.0, y + 4.5), &time(reach.p99_ns)))
    }
}
