//! A scheduler's cost per packet, as bars.

use maud::html;

use super::marker::colour;
use super::scale::round_step;
use super::stack::Stack;
use super::{Figure, WIDTH, line, px, scheduler_label, svg, text};
use crate::rows::{Report, Row};
use crate::units::number;
use crate::view::plotted_cases;

const METRIC: &str = "cost_ns_per_packet";
const RIGHT: f64 = WIDTH - 70.0;
const TOP: f64 = 46.0;
const ROW: f64 = 22.0;
const BAR: f64 = 15.0;
const CASE_GAP: f64 = 18.0;
const TICKS: f64 = 7.0;

pub fn figure(report: &Report) -> Option<Figure> {
    let mut cases = plotted_cases(report, METRIC);
    for case in &mut cases {
        // The baseline adds nothing to itself.
        case.rows.retain(|row| row.scheduler != "none");
    }
    cases.retain(|case| !case.rows.is_empty());
    let cost = |row: &&Row| row.number(METRIC);
    let most = cases
        .iter()
        .flat_map(|case| &case.rows)
        .filter_map(cost)
        .reduce(f64::max)?;
    let step = round_step(most.max(1.0), TICKS);
    let full = (most.max(1.0) / step).ceil() * step;
    let stack = Stack::new(&cases, TOP, ROW, CASE_GAP);
    let left = stack.names_right() + 12.0;
    let place = |ns: f64| left + ns.max(0.0) / full * (RIGHT - left);
    let bottom = stack.bottom();
    let drawing = html! {
        (text("axis", (left, 16.0), "added per packet, ns"))
        @for tick in (0..=(full / step).round() as usize).map(|at| at as f64 * step) {
            (line("grid", (place(tick), TOP - 6.0), (place(tick), bottom)))
            (text("mid tick", (place(tick), TOP - 12.0), &number(tick, 0)))
        }
        @for (at, case) in cases.iter().enumerate() {
            (stack.name(at, case))
            @for (line, row) in case.rows.iter().enumerate() {
                @let y = stack.middle(at, line);
                @if let Some(ns) = row.number(METRIC) {
                    (scheduler_label((stack.names_right(), y + 4.5), &row.scheduler))
                    rect class=(format!("{} bar", colour(&row.scheduler))) rx="2"
                        x=(px(left)) y=(px(y - BAR / 2.0))
                        width=(px(place(ns) - left)) height=(px(BAR)) {}
                    (text("tick", (place(ns) + 7.0, y + 4.5), &number(ns, 0)))
                }
            }
        }
    };
    Some(Figure {
        title: "Cost by number of classes and flows",
        caption: "Nanoseconds (under the virtual clock: instructions) that each scheduler adds \
                  to the way of one packet from socket to socket, over the same way with no \
                  qdisc; where packets wait, over a sender that keeps the pace by a timer of \
                  its own. Shorter is better.",
        drawing: svg(
            bottom + 6.0,
            "Cost per packet, for each number of classes or flows and scheduler",
            drawing,
        ),
    })
}
