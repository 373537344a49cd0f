//! One shape and one colour for each scheduler, so that either is enough.

use maud::{Markup, html};

use super::px;
use crate::view::scheduler_rank;

/// There are fewer shapes than schedulers; those of one shape have other colours.
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

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, path::Path};

    use super::*;
    use crate::{plot::FIGURE_CSS, rows::Report, view::schedulers};

    fn css_colour(scheduler: &str) -> &'static str {
        let class = format!(".{} {{ --c: var(", colour(scheduler));
        let (_, rest) = FIGURE_CSS
            .split_once(&class)
            .unwrap_or_else(|| panic!("{scheduler} has no colour"));
        rest.split_once(')').expect("a variable").0
    }

    /// In published results no two schedulers of a report look the same.
    #[test]
    fn schedulers_are_told_apart() {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
        let mut reports = 0;
        for entry in fs::read_dir(results).expect("results") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let json = fs::read(&path).expect("a result");
            let report: Report = serde_json::from_slice(&json).expect("a report");
            let cases = crate::view::cases(&report);
            let mut seen = BTreeMap::new();
            for name in schedulers(&cases) {
                let look = (css_colour(name), scheduler_rank(name) % SHAPES);
                let other = seen.insert(look, name);
                assert_eq!(other, None, "{name} looks like it in {}", path.display());
            }
            reports += 1;
        }
        assert!(reports > 5);
    }
}
