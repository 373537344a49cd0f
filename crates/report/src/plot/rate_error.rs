//! Target rate against rate error, both logarithmic.

use maud::html;

use super::legend;
use super::marker::{colour, marker};
use super::scale::LogScale;
use super::{Figure, WIDTH, line, px, svg, text};
use crate::rows::{Report, Row};
use crate::units::{number, rate};
use crate::view::{Case, plotted_cases, schedulers};

const HEIGHT: f64 = 430.0;
const LEFT: f64 = 92.0;
const RIGHT: f64 = WIDTH - 30.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = HEIGHT - 62.0;
/// A tenth of a ppm is two frames in a day at 100 frames a second: exact.
const FLOOR_PPM: f64 = 0.1;
/// Schedulers at the same target stand side by side.
const APART_PX: f64 = 7.0;
/// Room at both ends for schedulers drawn side by side.
const MARGIN_PX: f64 = 36.0;

pub fn figure(report: &Report) -> Option<Figure> {
    let mut cases = plotted_cases(report, "rate_error_ppm");
    cases.retain(|case| is_line(case));
    let points = |case: &Case| -> Vec<(f64, f64)> {
        case.rows.iter().filter_map(|row| point(row)).collect()
    };
    let all: Vec<(f64, f64)> = cases.iter().flat_map(points).collect();
    let x_scale = LogScale::covering(
        all.iter().map(|point| point.0),
        1.0,
        (LEFT + MARGIN_PX, RIGHT - MARGIN_PX),
    )?;
    let y_scale = LogScale::covering(
        all.iter().map(|point| point.1).chain([FLOOR_PPM]),
        FLOOR_PPM,
        (BOTTOM, TOP),
    )?;
    let names = schedulers(&cases);
    let aside = |at: usize| (at as f64 - (names.len() as f64 - 1.0) / 2.0) * APART_PX;
    let curve = |at: usize| -> Vec<(f64, f64)> {
        let mut curve: Vec<(f64, f64)> = cases
            .iter()
            .flat_map(|case| &case.rows)
            .filter(|row| row.scheduler == names[at])
            .filter_map(|row| point(row))
            .collect();
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        curve
            .into_iter()
            .map(|(bps, ppm)| (x_scale.place(bps) + aside(at), y_scale.place(ppm)))
            .collect()
    };
    let drawing = html! {
        @for ppm in y_scale.decades() {
            @let y = y_scale.place(ppm);
            (line("grid", (LEFT, y), (RIGHT, y)))
            (text("end tick", (LEFT - 8.0, y + 4.0), &ppm_label(ppm)))
        }
        @for bps in x_scale.decades() {
            @let x = x_scale.place(bps);
            (line("grid", (x, TOP), (x, BOTTOM)))
            (text("mid tick", (x, BOTTOM + 20.0), &rate(bps)))
        }
        (text("axis", (LEFT, 18.0), "rate error, either way"))
        (text("mid axis", ((LEFT + RIGHT) / 2.0, HEIGHT - 14.0), "target rate"))
        (legend::schedulers(&names, LEFT + 180.0, 14.0))
        // Takt last, so that nothing lies on top of it.
        @for at in (0..names.len()).rev() {
            @let points = curve(at);
            @let path: Vec<String> =
                points.iter().map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect();
            polyline class=(format!("{} curve", colour(names[at]))) points=(path.join(" ")) {}
            @for point in points { (marker(names[at], "solid", point)) }
        }
    };
    Some(Figure {
        title: "Rate error by target rate",
        caption: "How far the rate over a whole run is from the rate asked for, one class at a \
                  time; lower is better, and schedulers at the same target stand side by side.",
        drawing: svg(
            HEIGHT,
            "Rate error in ppm against target rate, for each scheduler",
            drawing,
        ),
    })
}

/// A line joins cases that differ in nothing but the rate.
fn is_line(case: &Case) -> bool {
    case.name.starts_with("single-")
}

fn point(row: &Row) -> Option<(f64, f64)> {
    Some((
        row.number("target_bps")?,
        row.number("rate_error_ppm")?.abs(),
    ))
}

fn ppm_label(ppm: f64) -> String {
    if ppm <= FLOOR_PPM {
        "≤ 0.1 ppm".to_owned()
    } else if ppm >= 10_000.0 {
        format!("{} %", number(ppm / 10_000.0, 0))
    } else {
        format!("{} ppm", number(ppm, 0))
    }
}
