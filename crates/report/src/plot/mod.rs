//! The figures of a report, one module each, drawn as SVG. Every figure is a
//! function from a report to a drawing, or to nothing where the report lacks
//! the metrics: an experiment with new metrics simply has fewer figures.
//!
//! Colours and fonts are classes of `figure.css`, so one drawing serves light
//! and dark.

mod air;
mod cost;
mod crowd;
mod glance;
mod headlines;
mod histograms;
mod incast;
mod jitter;
mod legend;
mod marker;
mod ranges;
mod rate_error;
mod scale;
mod shares;
mod slack;
mod stack;
mod timeline;
mod transfer;
pub mod windows;

use maud::{Markup, html};

use crate::rows::Report;
use crate::units::round_time;
use crate::view::is_subject;

pub use glance::glance;
pub use headlines::headlines;

/// The style of every figure, on the page and standing alone.
pub const FIGURE_CSS: &str = include_str!("figure.css");

/// All figures have this width; the page scales them.
const WIDTH: f64 = 1000.0;

/// A drawing and its caption.
pub struct Figure {
    pub title: &'static str,
    pub caption: &'static str,
    pub drawing: Markup,
}

/// Every figure for which the report has metrics.
pub fn figures(report: &Report) -> Vec<Figure> {
    let draw: [fn(&Report) -> Option<Figure>; 15] = [
        air::figure,
        windows::figure,
        crowd::figure,
        jitter::figure,
        timeline::figure,
        transfer::figure,
        rate_error::figure,
        slack::figure,
        ranges::spacing,
        ranges::down,
        ranges::up,
        shares::figure,
        incast::figure,
        histograms::figure,
        cost::figure,
    ];
    draw.iter().filter_map(|figure| figure(report)).collect()
}

/// What a simulation shows: rates of classes over time, and delays, of any report that has them.
pub fn of_simulation(report: &Report) -> Vec<Figure> {
    let rates = shares::figure(report).map(|figure| Figure {
        title: "Rates over time",
        caption: "Of each class, over seconds; a row for each policy, a column for each scheduler. \
                  All of them had the same traffic.",
        ..figure
    });
    [rates, ranges::delays(report)]
        .into_iter()
        .flatten()
        .collect()
}

/// The frame every figure shares; `label` is what a screen reader says.
fn svg(height: f64, label: &str, content: Markup) -> Markup {
    html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {height}"))
            role="img" aria-label=(label) class="plot" { (content) }
    }
}

/// A drawing as a file of its own.
pub fn standalone(figure: &Figure) -> String {
    // The style goes inside: a picture shown by <img> sees no style sheet.
    let style = format!("<style>{FIGURE_CSS}</style>");
    let drawing =
        figure
            .drawing
            .0
            .replacen("class=\"plot\">", &format!("class=\"plot\">{style}"), 1);
    drawing + "\n"
}

/// The width of a text of this size, or somewhat more: fonts differ.
fn text_px(text: &str, size_px: f64) -> f64 {
    text.chars().count() as f64 * size_px * 0.64
}

/// A coordinate, to a tenth of a pixel.
fn px(value: f64) -> String {
    format!("{value:.1}")
}

fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Markup {
    html! { line class=(class) x1=(px(from.0)) y1=(px(from.1)) x2=(px(to.0)) y2=(px(to.1)) {} }
}

fn text(class: &str, at: (f64, f64), content: &str) -> Markup {
    html! { text class=(class) x=(px(at.0)) y=(px(at.1)) { (content) } }
}

/// A scheduler's name, set off if it is Takt.
fn scheduler_label(at: (f64, f64), scheduler: &str) -> Markup {
    let class = if is_subject(scheduler) {
        "end name subject"
    } else {
        "end name"
    };
    text(class, at, scheduler)
}

/// Vertical lines at every decade of a time axis, with values above and below.
fn decades(scale: &scale::LogScale, top: f64, bottom: f64) -> Markup {
    html! {
        @for value in scale.decades() {
            @let x = scale.place(value);
            (line("grid", (x, top), (x, bottom)))
            (text("mid tick", (x, top - 8.0), &round_time(value)))
            (text("mid tick", (x, bottom + 18.0), &round_time(value)))
        }
    }
}
