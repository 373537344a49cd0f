//! Coordinates of values and times.

use maud::{Markup, html};
use takt_flows::Recording;

use super::{LEFT, RIGHT};
use crate::plot::{line, scale::round_step, text};
use crate::units::round_time;

const TICKS: f64 = 4.0;
const TIME_TICKS: f64 = 10.0;

/// The time axis, which all areas share.
pub struct Time {
    from_ns: u64,
    span_ns: f64,
    px: (f64, f64),
}

impl Time {
    /// From the recording's first moment to its last; `None` if it is empty.
    pub fn new(recording: &Recording, px: (f64, f64)) -> Option<Self> {
        let (from_ns, to_ns) = recording.span_ns()?;
        Some(Self {
            from_ns,
            span_ns: (to_ns.saturating_sub(from_ns) as f64).max(1.0),
            px,
        })
    }

    pub fn place(&self, at_ns: u64) -> f64 {
        let share = at_ns.saturating_sub(self.from_ns) as f64 / self.span_ns;
        self.px.0 + share.min(1.0) * (self.px.1 - self.px.0)
    }

    /// The coordinate of the last moment.
    pub fn end_px(&self) -> f64 {
        self.px.1
    }

    fn steps(&self) -> impl Iterator<Item = (f64, f64)> + use<> {
        let (step, (from, to), span_ns) =
            (round_step(self.span_ns, TIME_TICKS), self.px, self.span_ns);
        let ticks = 0..=(span_ns / step).floor() as usize;
        ticks.map(move |at| {
            let ns = at as f64 * step;
            (ns, from + ns / span_ns * (to - from))
        })
    }

    /// The seconds, below all areas.
    pub fn ticks(&self, bottom: f64) -> Markup {
        html! {
            @for (ns, x) in self.steps() {
                (text("mid tick", (x, bottom + 16.0), &or_zero(ns, &round_time)))
            }
        }
    }
}

/// A strip of the drawing with a linear axis from zero.
pub struct Area {
    pub top: f64,
    pub bottom: f64,
    most: f64,
}

impl Area {
    pub fn new(top: f64, height: f64, most: f64) -> Self {
        Self {
            top,
            bottom: top + height,
            most: if most > 0.0 { most } else { 1.0 },
        }
    }

    /// Values off the axis are drawn at its end.
    pub fn place(&self, value: f64) -> f64 {
        self.bottom - (value / self.most).clamp(0.0, 1.0) * (self.bottom - self.top)
    }

    /// The grid and its labels.
    pub fn frame(&self, time: &Time, name: &str, show: &dyn Fn(f64) -> String) -> Markup {
        let step = round_step(self.most, TICKS);
        let ticks = (0..=(self.most / step).floor() as usize).map(|at| at as f64 * step);
        html! {
            (text("axis", (LEFT, self.top - 8.0), name))
            @for (_, x) in time.steps() {
                (line("grid", (x, self.top), (x, self.bottom)))
            }
            @for value in ticks {
                @let y = self.place(value);
                (line("grid", (LEFT, y), (RIGHT, y)))
                (text("end tick", (LEFT - 8.0, y + 4.0), &or_zero(value, show)))
            }
        }
    }
}

/// Zero needs no unit.
fn or_zero(value: f64, show: &dyn Fn(f64) -> String) -> String {
    match value {
        0.0 => "0".to_owned(),
        value => show(value),
    }
}
