//! Rates over time of classes that start, share a link, and stop one after the
//! other: a row for each case, a column for each scheduler, a colour for each class.

use maud::{Markup, html};

use super::legend;
use super::scale::round_step;
use super::{Figure, WIDTH, line, px, svg, text};
use crate::rows::{Report, Row};
use crate::units::{number, rate};
use crate::view::{SUBJECT, cases, scheduler_rank};

/// `[[time in ns, bit/s], …]` of one class.
const METRIC: &str = "rate_curve_bps";
const LEFT: f64 = 190.0;
/// Below the legend.
const TOP: f64 = 44.0;
/// Colours of classes (`figure.css`); further ones have them again.
const COLOURS: usize = 8;
const PANEL: f64 = 150.0;
const ROW: f64 = 196.0;
const GAP: f64 = 22.0;
const TICKS: f64 = 5.0;

/// A class of a case, under one scheduler.
struct Curve<'a> {
    case: &'a str,
    class: &'a str,
    scheduler: &'a str,
    points: Vec<(f64, f64)>,
}

pub fn figure(report: &Report) -> Option<Figure> {
    let curves: Vec<Curve> = cases(report)
        .iter()
        .filter_map(|case| Some((case.name.split_once('/')?, &case.rows)))
        .flat_map(|(names, rows)| rows.iter().map(move |row| (names, *row)))
        .filter_map(|(names, row)| curve(names, row))
        .collect();
    let mut names: Vec<&str> = curves.iter().map(|curve| curve.scheduler).collect();
    names.sort_by_key(|name| (scheduler_rank(name), *name));
    names.dedup();
    let mut rows: Vec<&str> = curves.iter().map(|curve| curve.case).collect();
    rows.dedup();
    let mut classes: Vec<&str> = Vec::new();
    for curve in &curves {
        if !classes.contains(&curve.class) {
            classes.push(curve.class);
        }
    }
    let colour = |class: &str| {
        let at = classes.iter().position(|known| *known == class);
        format!("c{}", at.unwrap_or(0) % COLOURS)
    };
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let end_ns = points().map(|point| point.0).reduce(f64::max)?.max(1.0);
    let most_bps = points().map(|point| point.1).reduce(f64::max)?.max(1.0);
    let (step_ns, step_bps) = (round_step(end_ns, TICKS), round_step(most_bps, TICKS));

    // Of seconds: so many that two ticks differ.
    let decimals = (9.0 - step_ns.log10().floor()).max(1.0) as usize;

    let pitch = (WIDTH - LEFT) / names.len() as f64;
    let x = |ns: f64| ns / end_ns * (pitch - GAP);
    let y = |bps: f64| -bps / most_bps * PANEL;
    let top = TOP + legend::height(&classes, 8.0);
    let bottom = top + rows.len() as f64 * ROW;
    let drawing = html! {
        (legend::strokes(&classes, 8.0, 12.0, colour))
        @for (column, name) in names.iter().enumerate() {
            text class=(if *name == SUBJECT { "heading subject" } else { "heading" })
                x=(px(LEFT + column as f64 * pitch)) y=(px(top - 16.0)) { (name) }
        }
        @for (at, case) in rows.iter().enumerate() {
            @let base = top + at as f64 * ROW + PANEL;
            // Between two ticks, whose labels reach as far.
            (text("case", (10.0, base - PANEL * 0.75 + 5.0), case))
            @for bps in steps(step_bps, most_bps) {
                (text("end tick", (LEFT - 8.0, base + y(bps) + 4.0), &rate(bps)))
            }
            @for (column, name) in names.iter().enumerate() {
                @let left = LEFT + column as f64 * pitch;
                @for bps in steps(step_bps, most_bps) {
                    (line("grid", (left, base + y(bps)), (left + pitch - GAP, base + y(bps))))
                }
                @for ns in steps(step_ns, end_ns) {
                    (text("mid tick", (left + x(ns), base + 18.0), &number(ns / 1e9, decimals)))
                }
                (line("base", (left, base), (left + pitch - GAP, base)))
                @let mine = curves.iter().filter(|one| one.case == *case && one.scheduler == *name);
                @for curve in mine {
                    (polyline(curve, &colour(curve.class), |(ns, bps)| (left + x(ns), base + y(bps))))
                }
            }
        }
    };
    Some(Figure {
        title: "Five classes share a link",
        caption: "Rate of each class over time in seconds: 40, 40, 40, 20 and 20 Mbit/s on a \
                  link of 100, starting one after the other and stopping one after the other. \
                  Shares in proportion are two bundles of level lines, one twice as high.",
        drawing: svg(
            bottom,
            "Rates over time of five classes that share a link, for each scheduler",
            drawing,
        ),
    })
}

fn curve<'a>((case, class): (&'a str, &'a str), row: &'a Row) -> Option<Curve<'a>> {
    let points = row.metrics.get(METRIC)?.as_array()?;
    Some(Curve {
        case,
        class,
        scheduler: &row.scheduler,
        points: points
            .iter()
            .filter_map(|point| Some((point.get(0)?.as_f64()?, point.get(1)?.as_f64()?)))
            .collect(),
    })
}

fn polyline(curve: &Curve, colour: &str, place: impl Fn((f64, f64)) -> (f64, f64)) -> Markup {
    let path: Vec<String> = curve
        .points
        .iter()
        .map(|point| {
            let (x, y) = place(*point);
            format!("{},{}", px(x), px(y))
        })
        .collect();
    html! {
        polyline class=(format!("{colour} curve firm")) points=(path.join(" ")) {}
    }
}

fn steps(step: f64, to: f64) -> impl Iterator<Item = f64> {
    (0..=(to / step).floor() as usize).map(move |at| at as f64 * step)
}
