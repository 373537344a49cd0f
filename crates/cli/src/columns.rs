//! Tables of `takt status` and `takt flows` as text: columns as wide as their content.

use std::io::{IsTerminal, stdout};

/// A row of headings or values.
pub type Row = Vec<String>;

/// Lines that continue a row are indented so.
const CONTINUES: &str = "    ";

/// The terminal's width; `None`: the output is no terminal, and takes lines of every length.
pub fn room() -> Option<usize> {
    let size = terminal_size::terminal_size().filter(|_| stdout().is_terminal());
    size.map(|(width, _)| width.0.into())
}

/// Each row as one text, or as several lines if rows are wider than the room. Columns of numbers
/// are set to the right.
pub fn aligned(rows: &[Row], is_text: impl Fn(usize) -> bool, room: Option<usize>) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let breaks = breaks(&widths, room);
    let text = |row: &Row| {
        let mut text = String::new();
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if breaks.contains(&at) {
                text += line.trim_end();
                text.push('\n');
                line = CONTINUES.to_owned();
            }
            line += &if is_text(at) {
                format!("{cell:<width$}  ")
            } else {
                format!("{cell:>width$}  ")
            };
        }
        text + line.trim_end()
    };
    rows.iter().map(text).collect()
}

/// The columns that begin another line.
fn breaks(widths: &[usize], room: Option<usize>) -> Vec<usize> {
    let Some(room) = room else {
        return Vec::new();
    };
    let mut breaks = Vec::new();
    let mut used = 0;
    for (at, width) in widths.iter().enumerate() {
        if at > 0 && used + width > room {
            breaks.push(at);
            used = CONTINUES.len();
        }
        used += width + 2;
    }
    breaks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).into();
        vec![
            row(["class", "rate", "sent", "note"]),
            row(["stream", "2mbit", "1000000", "-"]),
        ]
    }

    fn lines(room: Option<usize>) -> Vec<String> {
        aligned(&rows(), |at| at == 0 || at == 3, room)
    }

    #[test]
    fn columns_are_as_wide_as_their_content() {
        let wide = ["class    rate     sent  note", "stream  2mbit  1000000  -"];
        assert_eq!(lines(None), wide);
        assert_eq!(lines(Some(80)), wide);
        assert_eq!(lines(Some(28)), wide, "the last column ends there");
    }

    #[test]
    fn rows_that_are_too_wide_go_on_below() {
        assert_eq!(
            lines(Some(24)),
            [
                "class    rate     sent\n    note",
                "stream  2mbit  1000000\n    -"
            ]
        );
        for room in 0..30 {
            let texts = lines(Some(room));
            let widest = texts.iter().flat_map(|text| text.lines());
            let widest = widest.map(|line| line.chars().count()).max();
            // A line has one column at least.
            assert!(widest <= Some(room.max(11)), "{room}: {texts:?}");
        }
    }
}
