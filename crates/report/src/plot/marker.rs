//! One shape and one colour for each scheduler, so that either is enough.

use maud::{Markup, html};

use super::px;
use crate::view::{is_subject, scheduler_rank};

/// There are fewer shapes than colours; schedulers of one shape share no figure.
const SHAPES: usize = 9;

/// The class that carries the scheduler's colour.
pub fn colour(scheduler: &str) -> String {
    format!("s{}", scheduler_rank(scheduler))
}

/// The scheduler's marker, its centre at `(x, y)`. `class` is how it is filled.
pub fn marker(scheduler: &str, class: &str, (x, y): (f64, f64)) -> Markup {
    let class = format!("{} {class}", colour(scheduler));
    // Corners of the shape, as multiples of a pixel around the centre.
    let corners: &[(f64, f64)] = match scheduler_rank(scheduler) % SHAPES {
        0 => return html! { circle class=(class) cx=(px(x)) cy=(px(y)) r="5.5" {} },
        1 => &[(-4.3, -4.3), (4.3, -4.3), (4.3, 4.3), (-4.3, 4.3)],
        2 => &[(0.0, -5.6), (5.2, 3.8), (-5.2, 3.8)],
        3 => &[(-3.8, -5.2), (5.6, 0.0), (-3.8, 5.2)],
        4 => &[(0.0, -6.0), (6.0, 0.0), (0.0, 6.0), (-6.0, 0.0)],
        5 => &[(0.0, -6.2), (3.8, 0.0), (0.0, 6.2), (-3.8, 0.0)],
        6 => &[(0.0, 5.6), (5.2, -3.8), (-5.2, -3.8)],
        7 => &[
            (-3.0, -5.2),
            (3.0, -5.2),
            (6.0, 0.0),
            (3.0, 5.2),
            (-3.0, 5.2),
            (-6.0, 0.0),
        ],
        _ => &[(-2.4, -5.6), (2.4, -5.6), (2.4, 5.6), (-2.4, 5.6)],
    };
    let points: Vec<String> = corners
        .iter()
        .map(|(dx, dy)| format!("{},{}", px(x + dx), px(y + dy)))
        .collect();
    html! { polygon class=(class) points=(points.join(" ")) {} }
}

/// From one entry of a legend to the next.
pub const LEGEND_PX: f64 = 90.0;

/// A legend in one line, from `(x, y)` to the right.
pub fn legend(schedulers: &[&str], (x, y): (f64, f64)) -> Markup {
    html! {
        @for (at, scheduler) in schedulers.iter().enumerate() {
            @let x = x + at as f64 * LEGEND_PX;
            (marker(scheduler, "solid", (x, y)))
            text class=(if is_subject(scheduler) { "name subject" } else { "name" })
                x=(px(x + 11.0)) y=(px(y + 4.5)) { (scheduler) }
        }
    }
}
