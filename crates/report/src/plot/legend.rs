//! Legends: entries from the right edge to the left, in as many lines as they need.

use maud::{Markup, html};

use super::marker::marker;
use super::{WIDTH, px, text_px};
use crate::view::is_subject;

/// From an entry's beginning to its name, and from its name to the next entry.
const SWATCH_PX: f64 = 11.0;
const GAP_PX: f64 = 20.0;
const LINE_PX: f64 = 17.0;
/// Names have this size (`figure.css`).
const NAME_PX: f64 = 12.5;
/// Where the last entry of a line ends.
const RIGHT: f64 = WIDTH - 8.0;

/// The height of a legend that begins at `left` at the earliest.
pub fn height(names: &[&str], left: f64) -> f64 {
    lines(names, left).len() as f64 * LINE_PX
}

/// Schedulers with their markers; the first line has its middle at `y`.
pub fn schedulers(names: &[&str], left: f64, y: f64) -> Markup {
    entries(names, left, y, |name, at| marker(name, "solid", at))
}

/// Names with strokes of their `class`.
pub fn strokes(names: &[&str], left: f64, y: f64, class: impl Fn(&str) -> String) -> Markup {
    entries(names, left, y, |name, (x, y)| {
        super::line(
            &format!("{} curve firm", class(name)),
            (x - 7.0, y),
            (x + 7.0, y),
        )
    })
}

fn entries(names: &[&str], left: f64, y: f64, mark: impl Fn(&str, (f64, f64)) -> Markup) -> Markup {
    html! {
        @for (at, line) in lines(names, left).into_iter().enumerate() {
            @let y = y + at as f64 * LINE_PX;
            @let ends = line.iter().scan(RIGHT - line.iter().map(|name| width(name)).sum::<f64>(),
                |x, name| { let begin = *x; *x += width(name); Some(begin) });
            @for (name, x) in line.iter().zip(ends) {
                (mark(name, (x + GAP_PX, y)))
                text class=(if is_subject(name) { "name subject" } else { "name" })
                    x=(px(x + GAP_PX + SWATCH_PX)) y=(px(y + 4.5)) { (name) }
            }
        }
    }
}

fn width(name: &str) -> f64 {
    GAP_PX + SWATCH_PX + text_px(name, NAME_PX)
}

/// Each line with as many names as it has room for, and one at least.
fn lines<'a>(names: &[&'a str], left: f64) -> Vec<Vec<&'a str>> {
    let mut lines: Vec<Vec<&str>> = Vec::new();
    let mut used = f64::INFINITY;
    for name in names {
        let width = width(name);
        match lines.last_mut() {
            Some(line) if used + width <= RIGHT - left => line.push(name),
            _ => {
                lines.push(vec![name]);
                used = 0.0;
            }
        }
        used += width;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_begin_another_line() {
        let few = ["takt", "takt-tree", "takt-departure"];
        assert_eq!(lines(&few, 100.0), [few]);
        let many = [few.as_slice(), &["a-very-long-name-of-a-scheduler"; 4]].concat();
        let lines = lines(&many, 100.0);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines.concat(), many);
        assert_eq!(height(&[], 0.0), 0.0);
    }
}
