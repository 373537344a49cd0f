//! Spacing-error histograms: a row for each case, a column for each scheduler.

use maud::{Markup, html};

use super::marker::colour;
use super::scale::LogScale;
use super::{Figure, WIDTH, line, px, svg, text};
use crate::rows::{Report, Row};
use crate::units::round_time;
use crate::view::{SUBJECT, plotted_cases, schedulers};

const LEFT: f64 = 190.0;
const TOP: f64 = 58.0;
const PANEL: f64 = 46.0;
const ROW: f64 = 64.0;
const GAP: f64 = 16.0;
const FLOOR_NS: f64 = 1.0;
/// A logarithmic axis has no zero, and no error at all is the ideal. It has a place of its own,
/// left of the axis.
const ZERO_PX: f64 = 7.0;
/// A label needs about this much of the axis.
const LABEL_PX: f64 = 52.0;

pub fn figure(report: &Report) -> Option<Figure> {
    let cases = plotted_cases(report, "spacing_error_histogram_ns");
    let names = schedulers(&cases);
    let edges = cases
        .iter()
        .flat_map(|case| &case.rows)
        .flat_map(|row| buckets(row))
        .flat_map(|bucket| [bucket.from_ns, bucket.to_ns]);
    let pitch = (WIDTH - LEFT) / names.len().max(1) as f64;
    let scale = LogScale::covering(edges, FLOOR_NS, (ZERO_PX, pitch - GAP))?;
    let bottom = TOP + cases.len() as f64 * ROW;
    let drawing = html! {
        @for (column, name) in names.iter().enumerate() {
            @let left = LEFT + column as f64 * pitch;
            text class=(if *name == SUBJECT { "heading subject" } else { "heading" })
                x=(px(left)) y="18" { (name) }
            (axis(&scale, left, left + pitch, bottom))
        }
        @for (at, case) in cases.iter().enumerate() {
            @let base = TOP + at as f64 * ROW + PANEL;
            (text("case", (10.0, base - PANEL / 2.0 + 5.0), case.name))
            @for (column, name) in names.iter().enumerate() {
                @let left = LEFT + column as f64 * pitch;
                @match case.rows.iter().find(|row| row.scheduler == *name) {
                    Some(row) => (panel(&scale, row, left, base)),
                    None => (text("mid note", (left + (pitch - GAP) / 2.0, base - PANEL / 2.0), "–")),
                }
                (line("base", (left, base), (left + pitch - GAP, base)))
            }
        }
    };
    Some(Figure {
        title: "Spacing-error histograms",
        caption: "How many gaps are off by how much, on one logarithmic axis for all panels; \
                  every panel's tallest bar has the same height, so compare where the bars \
                  stand and how wide they spread, not how high they are; left of the axis \
                  stand those off by nothing.",
        drawing: svg(
            bottom + 14.0,
            "Histograms of the spacing error, for each case and scheduler",
            drawing,
        ),
    })
}

struct Bucket {
    from_ns: f64,
    to_ns: f64,
    count: f64,
}

/// The row's `[lower edge, count]` pairs; what is not such a pair is left out.
fn buckets(row: &Row) -> Vec<Bucket> {
    let pairs: Vec<(f64, f64)> = row
        .metrics
        .get("spacing_error_histogram_ns")
        .and_then(|value| value.as_array())
        .into_iter()
        .flatten()
        .filter_map(|pair| Some((pair.get(0)?.as_f64()?, pair.get(1)?.as_f64()?)))
        .collect();
    // The last bucket names no upper edge: take a fifth of a decade.
    let last_to = |from: f64| from.max(FLOOR_NS) * 10_f64.powf(0.2);
    pairs
        .iter()
        .enumerate()
        .map(|(at, &(from_ns, count))| Bucket {
            from_ns,
            to_ns: pairs.get(at + 1).map_or(last_to(from_ns), |next| next.0),
            count,
        })
        .collect()
}

fn panel(scale: &LogScale, row: &Row, left: f64, base: f64) -> Markup {
    let buckets = buckets(row);
    let most = buckets
        .iter()
        .map(|bucket| bucket.count)
        .fold(1.0, f64::max);
    html! {
        @for bucket in buckets.iter().filter(|bucket| bucket.count > 0.0) {
            @let from = if bucket.from_ns < FLOOR_NS { 0.0 } else { scale.place(bucket.from_ns) };
            @let to = scale.place(bucket.to_ns);
            // A bar of a few among many must still be visible.
            @let height = (bucket.count / most * PANEL).max(1.0);
            rect class=(format!("{} bar", colour(&row.scheduler)))
                x=(px(left + from)) y=(px(base - height))
                width=(px((to - from - 0.6).max(1.5))) height=(px(height)) {}
        }
    }
}

/// Lines at every decade, and labels at as many as there is room for.
fn axis(scale: &LogScale, left: f64, right: f64, bottom: f64) -> Markup {
    let places: Vec<(f64, f64)> = scale
        .decades()
        .map(|value| (value, left + scale.place(value)))
        .collect();
    let decade_px = places
        .windows(2)
        .next()
        .map_or(LABEL_PX, |pair| pair[1].1 - pair[0].1);
    let every = (LABEL_PX / decade_px).ceil() as usize;
    let labelled = places
        .iter()
        .step_by(every)
        .filter(|(_, x)| x + LABEL_PX / 2.0 < right);
    html! {
        @for (_, x) in &places {
            (line("grid", (*x, TOP - 8.0), (*x, bottom - ROW + PANEL)))
        }
        @for (value, x) in labelled {
            (text("mid tick", (*x, TOP - 16.0), &round_time(*value)))
            (text("mid tick", (*x, bottom), &round_time(*value)))
        }
    }
}
