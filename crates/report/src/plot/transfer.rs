//! Transfer time by size, a panel for each rate of the link.

use maud::{Markup, html};

use super::legend;
use super::marker::{colour, marker};
use super::scale::round_step;
use super::{Figure, WIDTH, line, px, svg, text};
use crate::rows::{Report, Row};
use crate::units::{number, rate, round_time};
use crate::view::{plotted_cases, schedulers};

const METRIC: &str = "transfer_mean_ns";
const HEIGHT: f64 = 460.0;
const PANEL: f64 = WIDTH / 2.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = PANEL - 24.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = HEIGHT - 52.0;
const TICKS: f64 = 6.0;

/// One scheduler at one rate: bytes and time of each size.
struct Curve<'a> {
    scheduler: &'a str,
    link_bps: f64,
    points: Vec<(f64, f64)>,
}

pub fn figure(report: &Report) -> Option<Figure> {
    let cases = plotted_cases(report, METRIC);
    let names = schedulers(&cases);
    let mut curves: Vec<Curve> = Vec::new();
    for row in cases.iter().flat_map(|case| &case.rows) {
        let (Some(link_bps), Some(point)) = (row.number("target_bps"), point(row)) else {
            continue;
        };
        let mine = curves
            .iter_mut()
            .find(|curve| curve.scheduler == row.scheduler && curve.link_bps == link_bps);
        match mine {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve {
                scheduler: &row.scheduler,
                link_bps,
                points: vec![point],
            }),
        }
    }
    let mut rates_bps: Vec<f64> = curves.iter().map(|curve| curve.link_bps).collect();
    rates_bps.sort_by(f64::total_cmp);
    rates_bps.dedup();
    rates_bps.truncate(2);
    if rates_bps.is_empty() {
        return None;
    }
    let drawing = html! {
        (legend::schedulers(&names, 8.0, 14.0))
        @for (at, link_bps) in rates_bps.iter().enumerate() {
            @let mine: Vec<&Curve> =
                curves.iter().filter(|curve| curve.link_bps == *link_bps).collect();
            g transform=(format!("translate({} 0)", px(at as f64 * PANEL))) {
                (panel(*link_bps, &mine, &names))
            }
        }
    };
    Some(Figure {
        title: "A transfer beside a background upload",
        caption: "Mean time of a foreground upload, by its size, while another upload runs in \
                  the background. The lowest line is the same upload alone; a \
                  line on top of it is what one wants.",
        drawing: svg(
            HEIGHT,
            "Transfer time against size, for each rate of the link and scheduler",
            drawing,
        ),
    })
}

fn panel(link_bps: f64, curves: &[&Curve], names: &[&str]) -> Markup {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(1.0, f64::max);
    let (most_bytes, most_ns) = (most(|point| point.0), most(|point| point.1));
    let (step_bytes, step_ns) = (round_step(most_bytes, TICKS), round_step(most_ns, TICKS));
    let full_ns = (most_ns / step_ns).ceil() * step_ns;
    let place = |(bytes, ns): (f64, f64)| {
        (
            LEFT + bytes / most_bytes * (RIGHT - LEFT),
            BOTTOM - ns / full_ns * (BOTTOM - TOP),
        )
    };
    let steps =
        |step: f64, to: f64| (0..=(to / step).round() as usize).map(move |at| at as f64 * step);
    html! {
        (text("heading", (LEFT, 52.0), &rate(link_bps)))
        @for ns in steps(step_ns, full_ns) {
            @let y = place((0.0, ns)).1;
            (line("grid", (LEFT, y), (RIGHT, y)))
            (text("end tick", (LEFT - 8.0, y + 4.0), &round_time(ns)))
        }
        @for bytes in steps(step_bytes, most_bytes) {
            @let x = place((bytes, 0.0)).0;
            (text("mid tick", (x, BOTTOM + 20.0), &format!("{} KB", number(bytes / 1e3, 0))))
        }
        // Takt last, so that nothing lies on top of it.
        @for name in names.iter().rev() {
            @for curve in curves.iter().filter(|curve| curve.scheduler == *name) {
                (drawn(curve, place))
            }
        }
    }
}

fn drawn(curve: &Curve, place: impl Fn((f64, f64)) -> (f64, f64)) -> Markup {
    let mut points = curve.points.clone();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let points: Vec<(f64, f64)> = points.into_iter().map(place).collect();
    let path: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{},{}", px(*x), px(*y)))
        .collect();
    html! {
        polyline class=(format!("{} curve", colour(curve.scheduler))) points=(path.join(" ")) {}
        @for point in points { (marker(curve.scheduler, "solid", point)) }
    }
}

fn point(row: &Row) -> Option<(f64, f64)> {
    Some((row.number("foreground_bytes")?, row.number(METRIC)?))
}
