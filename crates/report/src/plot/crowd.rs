//! Total throughput and round trips of terminals that share the air, by their number and by the
//! wire's delay.

use maud::{Markup, html};

use super::legend;
use super::marker::{colour, marker};
use super::scale::{LogScale, round_step};
use super::{Figure, WIDTH, line, px, svg, text};
use crate::rows::{Report, Row};
use crate::units::{rate, round_time};
use crate::view::{plotted_cases, schedulers};

const TERMINALS: &str = "terminals";
const WIRED_NS: &str = "wired_rtt_ns";
const TOTAL_BPS: &str = "total_bps";
const RTT_NS: &str = "rtt_p99_ns";
/// The quantity of the bars.
const USUAL_TERMINALS: f64 = 10.0;
const USUAL_WIRED_NS: f64 = 16e6;
/// Both axes are the same for every picture of them.
const FLOOR_NS: f64 = 1e6;

const PANEL: f64 = WIDTH / 2.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = PANEL - 28.0;
const TOP: f64 = 82.0;
const BOTTOM: f64 = 316.0;
const ROW_PX: f64 = 330.0;
const TICKS: f64 = 5.0;

/// `None` unless terminals upload.
pub fn figure(report: &Report) -> Option<Figure> {
    let rows: Vec<&Row> = plotted_cases(report, WIRED_NS)
        .iter()
        .flat_map(|case| &case.rows)
        .copied()
        .filter(|row| is_plain_upload(row))
        .collect();
    let usual = |metric, value| {
        let rows = rows.iter().copied();
        rows.filter(|row| row.number(metric) == Some(value))
            .collect::<Vec<_>>()
    };
    let by_number = Place::new(usual(WIRED_NS, USUAL_WIRED_NS), TERMINALS)?;
    let by_delay = Place::new(usual(TERMINALS, USUAL_TERMINALS), WIRED_NS)?;
    let most_bps = (rows.iter())
        .filter_map(|row| row.number(TOTAL_BPS))
        .fold(0.0, f64::max);
    let step_bps = round_step(most_bps, TICKS);
    let full_bps = (most_bps / step_bps).ceil() * step_bps;
    let rtts = rows.iter().filter_map(|row| row.number(RTT_NS));
    let scale = LogScale::covering(rtts, FLOOR_NS, (BOTTOM, TOP))?;
    let mut names: Vec<&str> = rows.iter().map(|row| row.scheduler.as_str()).collect();
    let order = schedulers(&plotted_cases(report, WIRED_NS));
    names.sort_by_key(|name| order.iter().position(|known| known == name));
    names.dedup();

    let total = |row: &Row| Some(BOTTOM - row.number(TOTAL_BPS)? / full_bps * (BOTTOM - TOP));
    let p99 = |row: &Row| Some(scale.place(row.number(RTT_NS)?));
    let panel = |place: &Place, (x, y): (f64, f64), heading: &str, note: &str, body: Markup| {
        html! {
            g transform=(format!("translate({} {})", px(x), px(y))) {
                (text("heading", (LEFT, 48.0), heading))
                (text("note", (LEFT, 65.0), note))
                (place.ticks())
                (body)
            }
        }
    };
    let totals = |place: &Place| {
        let ticks = (0..=(full_bps / step_bps).round() as usize).map(|at| at as f64 * step_bps);
        html! {
            @for bps in ticks {
                @let y = BOTTOM - bps / full_bps * (BOTTOM - TOP);
                (line("grid", (LEFT, y), (RIGHT, y)))
                (text("end tick", (LEFT - 8.0, y + 4.0), &rate(bps)))
            }
            @for name in names.iter().rev() { (place.curve(name, total)) }
        }
    };
    let round_trips = |place: &Place| {
        html! {
            @for ns in scale.decades() {
                @let y = scale.place(ns);
                (line("grid", (LEFT, y), (RIGHT, y)))
                (text("end tick", (LEFT - 8.0, y + 4.0), &round_time(ns)))
            }
            @for name in names.iter().rev() { (place.curve(name, p99)) }
        }
    };
    let (number, delay) = (
        "16 ms of wire, by terminals",
        "ten terminals, by the wire's delay",
    );
    let drawing = html! {
        (legend::schedulers(&names, 8.0, 12.0))
        (panel(&by_number, (0.0, 0.0), "Total", number, totals(&by_number)))
        (panel(&by_number, (PANEL, 0.0), "Round trip, p99", number, round_trips(&by_number)))
        (panel(&by_delay, (0.0, ROW_PX), "Total", delay, totals(&by_delay)))
        (panel(&by_delay, (PANEL, ROW_PX), "Round trip, p99", delay, round_trips(&by_delay)))
    };
    Some(Figure {
        title: "Terminals that share the air",
        caption: "Terminals upload over one access point, 802.11g at 54 Mbit/s: what they get \
                  together (higher is better) and the round trip that 99 of 100 stay within \
                  (lower is better, logarithmic).",
        drawing: svg(
            2.0 * ROW_PX + 12.0,
            "Total throughput and 99th percentile of round trips, by number of terminals and by \
             delay, by scheduler",
            drawing,
        ),
    })
}

/// Uploads only: no loss, no stranger.
fn is_plain_upload(row: &Row) -> bool {
    let (Some(terminals), Some(wired_ns)) = (row.number(TERMINALS), row.number(WIRED_NS)) else {
        return false;
    };
    row.case == format!("upload-{terminals}-{}ms", wired_ns / 1e6)
}

/// Rows along one metric, with evenly spaced values.
struct Place<'a> {
    rows: Vec<&'a Row>,
    metric: &'static str,
    values: Vec<f64>,
}

impl<'a> Place<'a> {
    /// `None` unless there are two values.
    fn new(rows: Vec<&'a Row>, metric: &'static str) -> Option<Self> {
        let mut values: Vec<f64> = rows.iter().filter_map(|row| row.number(metric)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        (values.len() > 1).then_some(Self {
            rows,
            metric,
            values,
        })
    }

    fn x(&self, value: f64) -> Option<f64> {
        let at = self.values.iter().position(|known| *known == value)? as f64;
        let last = (self.values.len() - 1) as f64;
        Some(LEFT + 24.0 + at / last * (RIGHT - LEFT - 48.0))
    }

    fn ticks(&self) -> Markup {
        html! {
            @for value in &self.values {
                @let label = match self.metric {
                    WIRED_NS => format!("{} ms", value / 1e6),
                    _ => value.to_string(),
                };
                (text("mid tick", (self.x(*value).unwrap_or(LEFT), BOTTOM + 20.0), &label))
            }
        }
    }

    fn curve(&self, name: &str, y: impl Fn(&Row) -> Option<f64>) -> Markup {
        let mut points: Vec<(f64, f64)> = (self.rows.iter())
            .filter(|row| row.scheduler == name)
            .filter_map(|row| Some((self.x(row.number(self.metric)?)?, y(row)?)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let path: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{},{}", px(*x), px(*y)))
            .collect();
        html! {
            polyline class=(format!("{} curve", colour(name))) points=(path.join(" ")) {}
            @for point in points { (marker(name, "solid", point)) }
        }
    }
}
