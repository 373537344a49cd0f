//! A flow over time: its window between its bounds, its round trips, its rate, and its events.
//! From a recording, or from an experiment that has one.

mod area;
mod curve;
mod lanes;

use maud::{Markup, html};
use serde_json::Value;
use takt_flows::{Line, Recording, Sample, Track};

use self::area::{Area, Time};
use self::curve::{band, curve};
use super::{Figure, WIDTH, svg, text};
use crate::rows::Report;
use crate::units::{number, rate, round_time};
use crate::view::SUBJECT;

/// Lines of a recording, as in a file.
const LINES: &str = "flows_lines";
/// The most flows that are drawn of a row.
const FLOWS_MAX: usize = 3;

const LEFT: f64 = 96.0;
const RIGHT: f64 = WIDTH - 20.0;
const NAME_PX: f64 = 26.0;
const GAP_PX: f64 = 30.0;
const WINDOW_PX: f64 = 170.0;
const RTT_PX: f64 = 110.0;
const RATE_PX: f64 = 70.0;
/// Above the largest window, so that it does not run along the edge.
const AIR: f64 = 1.08;
/// A bound above the window times this does not scale the axis, or the window would look flat.
const BOUND_FAR: f64 = 2.0;

const CAPTION: &str = "The congestion window with its bounds (shaded), the segments in flight \
                       and the slow start threshold (dashed); smoothed round trips over the \
                       shortest; the rate of delivery; and what happened. Steps: a value holds \
                       until the next sample.";

/// The flows that one of Takt's rows has recorded, those with the most bytes.
pub fn figure(report: &Report) -> Option<Figure> {
    let rows = report.rows.iter().filter(|row| row.scheduler == SUBJECT);
    let recording = rows
        .filter_map(|row| recording(row.metrics.get(LINES)?))
        .next_back()?;
    let recording = recording.heaviest(FLOWS_MAX);
    let time = Time::new(&recording, (LEFT, RIGHT))?;
    let mut top = 0.0;
    let mut drawn = Vec::new();
    for track in &recording.tracks {
        let (markup, bottom) = flow(track, &time, top, true);
        drawn.push(markup);
        top = bottom + GAP_PX;
    }
    let drawing = html! { @for flow in &drawn { (flow) } };
    Some(Figure {
        title: "Windows and round trips over time",
        caption: CAPTION,
        drawing: svg(
            top,
            "Congestion windows, round trips and events over time",
            drawing,
        ),
    })
}

/// One flow as a drawing of its own.
pub fn of_flow(track: &Track, recording: &Recording) -> Option<Markup> {
    let time = Time::new(recording, (LEFT, RIGHT))?;
    let (drawing, bottom) = flow(track, &time, 0.0, false);
    Some(svg(
        bottom + 8.0,
        "Window, round trips and events of a flow over time",
        drawing,
    ))
}

pub fn caption() -> &'static str {
    CAPTION
}

fn recording(lines: &Value) -> Option<Recording> {
    let lines = lines.as_array()?.iter();
    let lines: Option<Vec<Line>> = lines
        .map(|line| serde_json::from_value(line.clone()).ok())
        .collect();
    Recording::from_parsed(lines?).ok()
}

/// Draws from `top` on; returns the lower edge.
fn flow(track: &Track, time: &Time, top: f64, is_named: bool) -> (Markup, f64) {
    let top = top + if is_named { NAME_PX } else { 0.0 };
    let points = |value: &dyn Fn(&Sample) -> Option<f64>| -> Vec<(f64, f64)> {
        let samples = track.samples.iter();
        samples
            .filter_map(|sample| Some((time.place(sample.at_ns), value(sample)?)))
            .collect()
    };
    let cwnd = points(&|s| Some(s.cwnd_segments.into()));
    let in_flight = points(&|s| Some(s.in_flight_segments.into()));
    let ssthresh = points(&|s| s.ssthresh_segments.map(f64::from));
    let lower = points(&|s| s.lower_segments.map(f64::from));
    let upper = points(&|s| s.upper_segments.map(f64::from));
    let rtt = points(&|s| s.rtt_us.map(|us| f64::from(us) * 1e3));
    let rtt_min = points(&|s| s.rtt_min_us.map(|us| f64::from(us) * 1e3));
    let delivery = points(&|s| Some(8.0 * s.delivery_bytes_ps as f64));

    let widest = most(&cwnd).max(most(&in_flight));
    let near: Vec<_> = upper
        .iter()
        .copied()
        .filter(|(_, bound)| *bound <= BOUND_FAR * widest)
        .collect();
    let windows = Area::new(top + GAP_PX, WINDOW_PX, AIR * widest.max(most(&near)));
    let rtts = Area::new(windows.bottom + GAP_PX, RTT_PX, AIR * most(&rtt));
    let rates = Area::new(rtts.bottom + GAP_PX, RATE_PX, AIR * most(&delivery));
    let (lanes, bottom) = lanes::lanes(track, time, rates.bottom + 16.0);
    let markup = html! {
        @if is_named { (text("case", (LEFT, top), &name(track))) }
        (windows.frame(time, "window, segments", &|segments| number(segments, 0)))
        (legend(windows.top))
        (band(&windows, &lower, &upper))
        (curve("curve s7", &windows, &in_flight))
        (curve("dashed", &windows, &ssthresh))
        (curve("curve firm s1", &windows, &cwnd))
        (rtts.frame(time, "round trip", &round_time))
        (curve("dashed", &rtts, &rtt_min))
        (curve("curve firm s2", &rtts, &rtt))
        (rates.frame(time, "delivery", &rate))
        (curve("curve firm s6", &rates, &delivery))
        (lanes)
        (time.ticks(bottom))
    };
    (markup, bottom + 24.0)
}

/// The legend of the first area.
fn legend(top: f64) -> Markup {
    let entries = [("s1", "cwnd"), ("s0", "bounds"), ("s7", "in flight")];
    html! {
        @for (at, (colour, name)) in entries.iter().enumerate() {
            @let x = RIGHT - 260.0 + 90.0 * at as f64;
            (super::line(&format!("reach {colour}"), (x, top - 12.0), (x + 14.0, top - 12.0)))
            (text("tick", (x + 22.0, top - 8.0), name))
        }
    }
}

/// The flow's ends and properties.
pub fn name(track: &Track) -> String {
    let flow = &track.flow;
    let mut name = format!("{} → {}", flow.ends.local, flow.ends.remote);
    for more in [&flow.congestion, &flow.application].into_iter().flatten() {
        name += " · ";
        name += more;
    }
    name
}

fn most(points: &[(f64, f64)]) -> f64 {
    points.iter().map(|(_, value)| *value).fold(0.0, f64::max)
}
