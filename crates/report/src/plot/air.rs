//! Total throughput of all stations, by the SNR of one of them.

use maud::{Markup, html};

use super::legend;
use super::marker::{colour, marker};
use super::scale::round_step;
use super::{Figure, WIDTH, line, px, svg, text};
use crate::rows::Report;
use crate::units::{number, rate};
use crate::view::{Case, plotted_cases, schedulers};

const X: &str = "snr_db";
const Y: &str = "total_bps";
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 104.0;
const RIGHT: f64 = WIDTH - 32.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = HEIGHT - 56.0;
const TICKS: f64 = 5.0;

/// `None` unless one station's SNR goes through several values.
pub fn figure(report: &Report) -> Option<Figure> {
    let cases = plotted_cases(report, X);
    let names = schedulers(&cases);
    let values = |metric: &str| -> Vec<f64> {
        let rows = cases.iter().flat_map(|case| &case.rows);
        rows.filter_map(|row| row.number(metric)).collect()
    };
    let most = |metric: &str| values(metric).into_iter().fold(0.0, f64::max);
    let (most_db, most_bps) = (most(X), most(Y));
    if most_db <= 0.0 || most_bps <= 0.0 {
        return None;
    }
    let step_bps = round_step(most_bps, TICKS);
    let full_bps = (most_bps / step_bps).ceil() * step_bps;
    let place = |(db, bps): (f64, f64)| {
        (
            LEFT + db / most_db * (RIGHT - LEFT),
            BOTTOM - bps / full_bps * (BOTTOM - TOP),
        )
    };
    let ticks = (0..=(full_bps / step_bps).round() as usize).map(|at| at as f64 * step_bps);
    let mut strengths = values(X);
    strengths.sort_by(f64::total_cmp);
    strengths.dedup();
    let drawing = html! {
        (legend::schedulers(&names, 8.0, 14.0))
        @for bps in ticks {
            @let y = place((0.0, bps)).1;
            (line("grid", (LEFT, y), (RIGHT, y)))
            (text("end tick", (LEFT - 8.0, y + 4.0), &rate(bps)))
        }
        @for db in strengths {
            (text("mid tick", (place((db, 0.0)).0, BOTTOM + 20.0), &format!("{} dB", number(db, 0))))
        }
        // Takt last, so that nothing lies on top of it.
        @for name in names.iter().rev() { (curve(name, &points(&cases, name), place)) }
    };
    Some(Figure {
        title: "One station that hears badly",
        caption: "What eight stations receive together, each sent 1.5 Mbit/s, by how well one \
                  of them hears; higher is better.",
        drawing: svg(
            HEIGHT,
            "Total throughput against the SNR of one station, by scheduler",
            drawing,
        ),
    })
}

fn points(cases: &[Case], name: &str) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = cases
        .iter()
        .flat_map(|case| &case.rows)
        .filter(|row| row.scheduler == name)
        .filter_map(|row| Some((row.number(X)?, row.number(Y)?)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn curve(name: &str, points: &[(f64, f64)], place: impl Fn((f64, f64)) -> (f64, f64)) -> Markup {
    let points: Vec<(f64, f64)> = points.iter().map(|point| place(*point)).collect();
    let path: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{},{}", px(*x), px(*y)))
        .collect();
    html! {
        polyline class=(format!("{} curve", colour(name))) points=(path.join(" ")) {}
        @for point in points { (marker(name, "solid", point)) }
    }
}
