//! Values over time; each holds until the next.

use std::fmt::Write;

use maud::{Markup, html};

use super::area::Area;

/// Points closer than this share a place on the drawing.
const COLUMN_PX: f64 = 0.5;

/// An empty path without points.
pub fn curve(class: &str, area: &Area, points: &[(f64, f64)]) -> Markup {
    let path = steps(area, points, 'M');
    html! { @if !path.is_empty() { path class=(class) d=(path) {} } }
}

/// The area between two curves with the same times.
pub fn band(area: &Area, lower: &[(f64, f64)], upper: &[(f64, f64)]) -> Markup {
    let (Some(first), Some(last)) = (lower.first(), lower.last()) else {
        return Markup::default();
    };
    let mut back: Vec<_> = upper.to_vec();
    // Back along the upper bound, where a value holds from the time before.
    back.reverse();
    for at in 0..back.len().saturating_sub(1) {
        back[at].1 = back[at + 1].1;
    }
    let mut path = steps(area, lower, 'M');
    let _ = write!(
        path,
        "L{:.1} {:.1}",
        last.0,
        area.place(upper.last().map_or(0.0, |u| u.1))
    );
    path += &steps(area, &back, 'L');
    let _ = write!(path, "L{:.1} {:.1}Z", first.0, area.place(first.1));
    html! {
        path class="between s0" d=(path) {}
        (curve("curve s0", area, lower))
        (curve("curve s0", area, upper))
    }
}

/// A path from `start` on. Of points at the same place the least and the largest are drawn, so
/// that no peak is lost.
fn steps(area: &Area, points: &[(f64, f64)], start: char) -> String {
    let mut path = String::new();
    let mut rest = points;
    while let Some((x, first)) = rest.first().copied() {
        let column = rest
            .iter()
            .take_while(|(other, _)| (other - x).abs() < COLUMN_PX)
            .count();
        let (here, later) = rest.split_at(column);
        rest = later;
        let mut values = here.iter().map(|(_, value)| *value);
        let low = values.clone().fold(first, f64::min);
        let high = values.clone().fold(first, f64::max);
        let last = values.next_back().unwrap_or(first);
        if path.is_empty() {
            let _ = write!(path, "{start}{x:.1} {:.1}", area.place(first));
        } else {
            let _ = write!(path, "H{x:.1}V{:.1}", area.place(first));
        }
        for value in [low, high, last] {
            if column > 1 {
                let _ = write!(path, "V{:.1}", area.place(value));
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_within_one_place_are_drawn() {
        let area = Area::new(0.0, 100.0, 10.0);
        let points = [
            (0.0, 5.0),
            (10.0, 5.0),
            (10.1, 10.0),
            (10.2, 0.0),
            (10.3, 5.0),
        ];
        let path = steps(&area, &points, 'M');
        assert_eq!(path, "M0.0 50.0H10.0V50.0V100.0V0.0V50.0");
        assert_eq!(steps(&area, &[], 'M'), "");
    }
}
