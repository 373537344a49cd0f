//! Tables: which rows are shown, in which order, and as which lines.

use super::value::Value;

/// Columns of text are at most so wide, but in the text of `--batch`.
const TEXT_MAX: usize = 24;
/// A column of text that is narrower says nothing.
const TEXT_MIN: usize = 8;

#[derive(Debug)]
pub struct Column {
    pub heading: &'static str,
    /// Its name in JSON, which ends in its unit.
    pub key: &'static str,
    /// Texts are set to the left.
    pub is_text: bool,
}

#[derive(Debug)]
pub struct Table {
    pub columns: &'static [Column],
    pub rows: Vec<Vec<Value>>,
    /// Why there are no rows.
    pub note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    pub column: usize,
    pub descends: bool,
}

/// What to show of a table.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    pub sort: Sort,
    /// In letters of either case.
    pub filter: &'a str,
}

impl Table {
    /// Numbers of the rows to show, in order. Rows without a value come last.
    pub fn chosen(&self, choice: Choice) -> Vec<usize> {
        let wanted = choice.filter.to_lowercase();
        let mut chosen: Vec<usize> = (0..self.rows.len())
            .filter(|at| wanted.is_empty() || contains(&self.rows[*at], &wanted))
            .collect();
        let Sort { column, descends } = choice.sort;
        chosen.sort_by(|one, other| {
            let (one, other) = (&self.rows[*one][column], &self.rows[*other][column]);
            let by_value = if descends {
                other.order(one)
            } else {
                one.order(other)
            };
            one.is_absent().cmp(&other.is_absent()).then(by_value)
        });
        chosen
    }

    /// The headings and these rows, in so many columns of the terminal, or all of it.
    pub fn lines(&self, rows: &[usize], sort: Sort, width: Option<usize>) -> Vec<String> {
        let headings: Vec<String> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| heading(column, at, sort))
            .collect();
        let shown = rows.iter().map(|row| &self.rows[*row]);
        let texts: Vec<Vec<String>> = shown
            .map(|row| row.iter().map(Value::text).collect())
            .collect();
        let widths = self.widths(&headings, &texts, width);
        let line = |cells: &Vec<String>| {
            let columns = self.columns.iter().zip(&widths);
            let cells: Vec<String> = columns
                .zip(cells)
                .map(|((column, width), cell)| cell_text(cell, *width, column.is_text))
                .collect();
            cells.join(" ").trim_end().to_owned()
        };
        std::iter::once(&headings).chain(&texts).map(line).collect()
    }

    /// Those of the columns that fit; columns on the right are the first to go.
    fn widths(
        &self,
        headings: &[String],
        texts: &[Vec<String>],
        width: Option<usize>,
    ) -> Vec<usize> {
        let mut left = width.unwrap_or(usize::MAX);
        let mut widths = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            let cells = texts.iter().map(|row| row[at].chars().count());
            let widest = cells.max().unwrap_or(0);
            let heading = headings[at].chars().count();
            let mut needed = match (column.is_text, width) {
                (true, Some(_)) => widest.min(TEXT_MAX),
                (true, None) => widest,
                // They stay in place while numbers change.
                (false, _) => widest.max(6),
            }
            .max(heading);
            if needed > left && column.is_text && left >= TEXT_MIN || widths.is_empty() {
                needed = needed.min(left);
            }
            if needed > left {
                break;
            }
            widths.push(needed);
            left = left.saturating_sub(needed + 1);
        }
        widths
    }

    /// An object for each of these rows.
    pub fn to_json(&self, rows: &[usize]) -> serde_json::Value {
        let object = |row: &usize| -> serde_json::Map<String, serde_json::Value> {
            let values = self.columns.iter().zip(&self.rows[*row]);
            values
                .map(|(column, value)| (column.key.to_owned(), value.to_json()))
                .collect()
        };
        rows.iter().map(object).collect::<Vec<_>>().into()
    }
}

fn contains(row: &[Value], wanted: &str) -> bool {
    row.iter().any(|value| match value {
        Value::Text(text) => text.to_lowercase().contains(wanted),
        _ => false,
    })
}

/// The column that rows are sorted by has a sign that needs no colour.
fn heading(column: &Column, at: usize, sort: Sort) -> String {
    match (at == sort.column, sort.descends) {
        (false, _) => column.heading.to_owned(),
        (true, true) => format!("{}v", column.heading),
        (true, false) => format!("{}^", column.heading),
    }
}

/// A text that is cut says so.
fn cell_text(text: &str, width: usize, is_text: bool) -> String {
    match (text.chars().count() > width, is_text) {
        (true, _) => {
            let kept = text.chars().take(width.saturating_sub(1));
            kept.chain(['~']).take(width).collect()
        }
        (false, true) => format!("{text:<width$}"),
        (false, false) => format!("{text:>width$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column {
            heading: "class",
            key: "class",
            is_text: true,
        },
        Column {
            heading: "bit/s",
            key: "sent_bps",
            is_text: false,
        },
        Column {
            heading: "to",
            key: "to",
            is_text: true,
        },
    ];
    const BY_RATE: Sort = Sort {
        column: 1,
        descends: true,
    };

    fn table() -> Table {
        let row = |name: &str, rate: Option<f64>, to: &str| {
            vec![
                Value::Text(name.to_owned()),
                Value::or_absent(rate, Value::Rate),
                Value::Text(to.to_owned()),
            ]
        };
        Table {
            columns: COLUMNS,
            rows: vec![
                row("stream", Some(1e6), "192.0.2.1:5001"),
                row("new", None, "[2001:db8:1:2:3:4:5:6]:65535"),
                row("Bulk", Some(2e6), "192.0.2.2:80"),
            ],
            note: None,
        }
    }

    #[test]
    fn rows_are_sorted_and_filtered() {
        let chosen = |sort, filter| table().chosen(Choice { sort, filter });
        let ascends = Sort {
            descends: false,
            ..BY_RATE
        };
        assert_eq!(chosen(BY_RATE, ""), [2, 0, 1]);
        assert_eq!(chosen(ascends, ""), [0, 2, 1], "absent values come last");
        assert_eq!(chosen(BY_RATE, "BULK"), [2]);
        assert_eq!(chosen(BY_RATE, "192.0"), [2, 0]);
        assert_eq!(chosen(BY_RATE, "none"), [0; 0]);
    }

    #[test]
    fn columns_on_the_right_go_first() {
        let table = table();
        let lines = |width| table.lines(&[2, 1], BY_RATE, width);
        assert_eq!(
            lines(None),
            [
                "class bit/sv to",
                "Bulk   2.00M 192.0.2.2:80",
                "new        - [2001:db8:1:2:3:4:5:6]:65535",
            ]
        );
        assert_eq!(
            lines(Some(24)),
            [
                "class bit/sv to",
                "Bulk   2.00M 192.0.2.2:~",
                "new        - [2001:db8:~",
            ]
        );
        assert_eq!(
            lines(Some(13)),
            ["class bit/sv", "Bulk   2.00M", "new        -"]
        );
        assert_eq!(lines(Some(3)), ["cl~", "Bu~", "new"]);
        for width in 0..60 {
            let lines = lines(Some(width));
            assert!(lines.iter().all(|line| line.chars().count() <= width));
        }
    }

    #[test]
    fn json_has_names_with_units() {
        assert_eq!(
            table().to_json(&[1]).to_string(),
            r#"[{"class":"new","sent_bps":null,"to":"[2001:db8:1:2:3:4:5:6]:65535"}]"#
        );
    }
}
