//! What a switch's port carries when many servers answer at once.

use maud::html;

use super::legend;
use super::marker::marker;
use super::{Figure, WIDTH, line, px, svg, text, text_px};
use crate::rows::Report;
use crate::view::{plotted_cases, schedulers};

const METRIC: &str = "port_percent";
const TICK_PERCENT: usize = 20;
const ROW: f64 = 34.0;
const NAMES_LEFT: f64 = 10.0;
const RIGHT: f64 = WIDTH - 40.0;
const ABOVE: f64 = 34.0;
const BELOW: f64 = 46.0;

pub fn figure(report: &Report) -> Option<Figure> {
    let cases = plotted_cases(report, METRIC);
    let widest = cases.iter().map(|case| text_px(case.name, 13.0));
    let left = NAMES_LEFT + widest.reduce(f64::max)? + 24.0;
    let names = schedulers(&cases);
    let top = legend::height(&names, left) + ABOVE;
    let bottom = top + cases.len() as f64 * ROW;
    let across = |percent: f64| left + percent / 100.0 * (RIGHT - left);
    let drawing = html! {
        (legend::schedulers(&names, left, 14.0))
        @for at in (0..cases.len()).step_by(2) {
            rect class="band" x="0" y=(px(top + at as f64 * ROW)) width=(px(WIDTH))
                height=(px(ROW)) {}
        }
        @for percent in (0..=100).step_by(TICK_PERCENT) {
            @let x = across(f64::from(percent));
            (line("grid", (x, top), (x, bottom)))
            (text("mid tick", (x, bottom + 16.0), &format!("{percent} %")))
        }
        (text("mid axis", ((left + RIGHT) / 2.0, bottom + 36.0), "of the port's rate"))
        @for (at, case) in cases.iter().enumerate() {
            @let y = top + (at as f64 + 0.5) * ROW;
            (text("case", (NAMES_LEFT, y + 4.5), case.name))
            // Takt last, so that nothing lies on top of it.
            @for row in case.rows.iter().rev() {
                @if let Some(percent) = row.number(METRIC) {
                    (marker(&row.scheduler, "solid", (across(percent), y)))
                }
            }
        }
    };
    Some(Figure {
        title: "Many servers answer at once",
        caption: "A client asks all servers, and asks again when it has all answers: what these take of \
                  the switch's port, for each number of servers, length of an answer and buffer of the \
                  port. Further right is better.",
        drawing: svg(
            bottom + BELOW,
            "The part of a port that answers take, for each case and scheduler",
            drawing,
        ),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_scheduler_has_its_place_in_a_case() {
        let row = |scheduler: &str, percent: f64| json!({ "scheduler": scheduler, "case": "incast-64x64kb", "port_percent": percent });
        let of = |rows: serde_json::Value| -> Report {
            let report = json!({
                "experiment": "pacing", "kernel": "6.18", "clock": "virtual", "command": "",
                "commit": "", "rows": rows,
            });
            serde_json::from_value(report).expect("a report")
        };
        let drawing = figure(&of(json!([row("takt", 96.0), row("none", 40.0)])));
        let drawing = drawing.expect("a figure").drawing.0;
        // Takt's are circles: one in the legend, one in the case.
        assert_eq!(drawing.matches("<circle").count(), 2);
        assert!(figure(&of(json!([]))).is_none());
    }
}
