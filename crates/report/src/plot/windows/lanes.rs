//! Events, a line for each kind: ticks for moments, bars for intervals.

use maud::{Markup, html};
use takt_flows::{CongestionState, Event, Limit, Track, What};

use super::area::Time;
use super::{LEFT, RIGHT};
use crate::plot::{line, px, text};

const LANE: f64 = 17.0;
const MARK: f64 = 11.0;
/// Of shorter or closer events one is drawn.
const MARK_PX: f64 = 1.0;

struct Lane {
    name: &'static str,
    colour: &'static str,
    /// Coordinates of begin and end.
    marks: Vec<(f64, f64)>,
}

/// Draws from `top` on; returns the lower edge.
pub fn lanes(track: &Track, time: &Time, top: f64) -> (Markup, f64) {
    let ticks = |is_it: fn(&What) -> bool| {
        let events = track.events.iter().filter(|event| is_it(&event.what));
        let places = events.map(|event| time.place(event.at_ns));
        merged(places.map(|x| (x, x + MARK_PX)))
    };
    let is_recovering = |state| {
        matches!(
            state,
            CongestionState::Recovery | CongestionState::Loss | CongestionState::Cwr
        )
    };
    let recovering = spans(
        track,
        time,
        track
            .samples
            .first()
            .is_some_and(|sample| is_recovering(sample.congestion_state)),
        |what| match what {
            What::State { to, .. } => Some(is_recovering(*to)),
            _ => None,
        },
    );
    let held_by = |limit: Limit| {
        let first = track.samples.first();
        let is_so = first.is_some_and(|sample| sample.limit == limit);
        spans(track, time, is_so, move |what| match what {
            What::Limit { to, .. } => Some(*to == limit),
            _ => None,
        })
    };
    let lanes = [
        ("timeout", "s4", ticks(|what| matches!(what, What::Timeout))),
        (
            "retransmit",
            "s4",
            ticks(|what| matches!(what, What::Retransmit { .. })),
        ),
        (
            "ECN",
            "s6",
            ticks(|what| matches!(what, What::EcnEcho { .. } | What::EcnMark { .. })),
        ),
        ("recovery", "s5", recovering),
        ("window full", "s1", held_by(Limit::Window)),
        ("receiver full", "s2", held_by(Limit::Receiver)),
    ]
    .map(|(name, colour, marks)| Lane {
        name,
        colour,
        marks,
    });
    let bottom = top + LANE * lanes.len() as f64;
    let markup = html! {
        @for (at, lane) in lanes.iter().enumerate() {
            @let middle = top + (at as f64 + 0.5) * LANE;
            (text("end tick", (LEFT - 8.0, middle + 4.0), lane.name))
            (line("grid", (LEFT, middle), (RIGHT, middle)))
            @for (from, to) in &lane.marks {
                rect class=(format!("bar {}", lane.colour)) x=(px(*from)) y=(px(middle - MARK / 2.0))
                    width=(px((to - from).max(MARK_PX))) height=(px(MARK)) {}
            }
        }
    };
    (markup, bottom)
}

/// The interval from one state to the next.
fn spans(
    track: &Track,
    time: &Time,
    is_so: bool,
    says: impl Fn(&What) -> Option<bool>,
) -> Vec<(f64, f64)> {
    let begin_ns = track.samples.first().map(|sample| sample.at_ns);
    let mut since_ns = begin_ns.filter(|_| is_so);
    let mut marks = Vec::new();
    for Event { what, at_ns, .. } in &track.events {
        match (says(what), since_ns) {
            (Some(true), None) => since_ns = Some(*at_ns),
            (Some(false), Some(since)) => {
                marks.push((time.place(since), time.place(*at_ns)));
                since_ns = None;
            }
            _ => {}
        }
    }
    let end = track
        .ended_ns
        .map_or(time.end_px(), |at_ns| time.place(at_ns));
    marks.extend(since_ns.map(|since| (time.place(since), end)));
    merged(marks)
}

fn merged(marks: impl IntoIterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut merged: Vec<(f64, f64)> = Vec::new();
    for (from, to) in marks {
        match merged.last_mut() {
            Some(last) if from < last.1 + MARK_PX => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}
