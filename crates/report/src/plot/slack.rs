//! What a late timer costs in spacing, against what it saves.

use maud::html;

use super::legend;
use super::marker::{colour, marker};
use super::scale::{LogScale, round_step};
use super::{Figure, WIDTH, decades, line, px, svg, text};
use crate::rows::{Report, Row};
use crate::units::time;
use crate::view::{Case, plotted_cases, schedulers};

const HEIGHT: f64 = 430.0;
const LEFT: f64 = 92.0;
const RIGHT: f64 = WIDTH - 60.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = HEIGHT - 62.0;
const FLOOR_NS: f64 = 100.0;
/// Cases of one point each, joined to a line.
const CASES: &str = "slack-";
const STEPS: f64 = 6.0;

pub fn figure(report: &Report) -> Option<Figure> {
    let mut cases = plotted_cases(report, "spacing_error_p99_ns");
    cases.retain(|case| case.name.starts_with(CASES));
    let points = |case: &Case| -> Vec<(f64, f64)> {
        case.rows.iter().filter_map(|row| point(row)).collect()
    };
    let all: Vec<(f64, f64)> = cases.iter().flat_map(points).collect();
    let across = LogScale::covering(all.iter().map(|point| point.0), FLOOR_NS, (LEFT, RIGHT))?;
    let busiest_ns = all.iter().map(|point| point.1).fold(0.0, f64::max);
    let least_ns = all.iter().map(|point| point.1).fold(busiest_ns, f64::min);
    let step_ns = round_step((busiest_ns - least_ns).max(1.0), STEPS);
    let (low_ns, high_ns) = (
        (least_ns / step_ns).floor() * step_ns,
        (busiest_ns / step_ns).ceil() * step_ns,
    );
    let up = |ns: f64| BOTTOM - (ns - low_ns) / (high_ns - low_ns) * (BOTTOM - TOP);
    let steps = ((high_ns - low_ns) / step_ns).round() as u32;
    let names = schedulers(&cases);
    // In the order of the cases, so that the line leads from no slack to the most.
    let curve = |name: &str| -> Vec<(String, (f64, f64))> {
        let rows = cases.iter().flat_map(|case| {
            let of_scheduler = case.rows.iter().filter(|row| row.scheduler == name);
            of_scheduler.map(|row| (case.name.trim_start_matches(CASES), row))
        });
        rows.filter_map(|(slack, row)| {
            let (error_ns, busy_ns) = point(row)?;
            Some((slack.to_owned(), (across.place(error_ns), up(busy_ns))))
        })
        .collect()
    };
    let drawing = html! {
        @for step in 0..=steps {
            @let busy_ns = low_ns + f64::from(step) * step_ns;
            @let y = up(busy_ns);
            (line("grid", (LEFT, y), (RIGHT, y)))
            (text("end tick", (LEFT - 8.0, y + 4.0), &time(busy_ns)))
        }
        (decades(&across, TOP, BOTTOM))
        (text("axis", (LEFT, 18.0), "processor time for a packet"))
        (text("mid axis", ((LEFT + RIGHT) / 2.0, HEIGHT - 14.0), "spacing error, 99th percentile"))
        (legend::schedulers(&names, LEFT + 240.0, 14.0))
        // Takt last, so that nothing lies on top of it.
        @for name in names.iter().rev() {
            @let points = curve(name);
            @let path: Vec<String> =
                points.iter().map(|(_, (x, y))| format!("{},{}", px(*x), px(*y))).collect();
            polyline class=(format!("{} curve", colour(name))) points=(path.join(" ")) {}
            @for (slack, point) in &points {
                (marker(name, "solid", *point))
                (text("tick", (point.0 + 9.0, point.1 - 7.0), slack))
            }
        }
    };
    Some(Figure {
        title: "What a late timer saves, and costs",
        caption: "A hundred classes, whose packets are due at any distance. Each point is a slack: how \
                  late the timer may be, so that packets due within that time leave together. Lower \
                  saves more, further left is more exact.",
        drawing: svg(
            HEIGHT,
            "Processor time for a packet against spacing error, for each slack",
            drawing,
        ),
    })
}

fn point(row: &Row) -> Option<(f64, f64)> {
    Some((
        row.number("spacing_error_p99_ns")?,
        row.number("busy_ns_per_packet")?,
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(rows: serde_json::Value) -> Report {
        let report = json!({
            "experiment": "pacing", "kernel": "6.18", "clock": "virtual", "command": "", "commit": "",
            "rows": rows,
        });
        serde_json::from_value(report).expect("a report")
    }

    #[test]
    fn a_line_leads_from_slack_to_slack() {
        let row = |case: &str, error_ns: u64, busy_ns: u64| {
            json!({
                "scheduler": "takt", "case": case,
                "spacing_error_p99_ns": error_ns, "busy_ns_per_packet": busy_ns,
            })
        };
        let both = report(json!([
            row("slack-0us", 1_800, 20_000),
            row("slack-10us", 9_000, 18_000),
            row("five", 1, 1),
        ]));
        let drawing = figure(&both).expect("a figure").drawing.0;
        assert_eq!(drawing.matches("<circle").count(), 2 + 1);
        assert!(drawing.contains(">10us<"), "{drawing}");
        assert!(figure(&report(json!([row("five", 1, 1)]))).is_none());
    }
}
