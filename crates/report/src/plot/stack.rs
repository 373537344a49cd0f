//! Cases one below the other, a line for each scheduler.

use maud::{Markup, html};

use super::{px, text, text_px};
use crate::view::Case;

pub struct Stack {
    row_px: f64,
    gap_px: f64,
    /// Upper edges of the cases, and the lower edge of the last.
    edges: Vec<f64>,
    names_right: f64,
}

/// Names of cases begin here.
const CASE_LEFT: f64 = 10.0;
const BETWEEN: f64 = 14.0;

impl Stack {
    /// From `top` downwards: `row_px` for each scheduler, `gap_px` around each case.
    pub fn new(cases: &[Case], top: f64, row_px: f64, gap_px: f64) -> Self {
        let mut edges = vec![top];
        let mut bottom = top;
        for case in cases {
            bottom += case.rows.len() as f64 * row_px + gap_px;
            edges.push(bottom);
        }
        let widest = |names: &mut dyn Iterator<Item = &str>| {
            names.map(|name| text_px(name, 13.0)).fold(0.0, f64::max)
        };
        let rows = || cases.iter().flat_map(|case| &case.rows);
        let names_right = CASE_LEFT
            + widest(&mut cases.iter().map(|case| case.name))
            + BETWEEN
            + widest(&mut rows().map(|row| row.scheduler.as_str()));
        Stack {
            row_px,
            gap_px,
            edges,
            names_right,
        }
    }

    /// Where names of schedulers end, beside those of cases.
    pub fn names_right(&self) -> f64 {
        self.names_right
    }

    pub fn bottom(&self) -> f64 {
        self.edges.last().copied().unwrap_or_default()
    }

    /// The middle of a scheduler's line.
    pub fn middle(&self, case: usize, row: usize) -> f64 {
        self.edges[case] + self.gap_px / 2.0 + (row as f64 + 0.5) * self.row_px
    }

    /// The case's name, on the line of its first scheduler.
    pub fn name(&self, at: usize, case: &Case) -> Markup {
        text("case", (CASE_LEFT, self.middle(at, 0) + 4.5), case.name)
    }

    /// A tint behind every other case.
    pub fn bands(&self, width: f64) -> Markup {
        html! {
            @for edges in self.edges.windows(2).step_by(2) {
                rect class="band" x="0" y=(px(edges[0])) width=(px(width))
                    height=(px(edges[1] - edges[0])) {}
            }
        }
    }
}
