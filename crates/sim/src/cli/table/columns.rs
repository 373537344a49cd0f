//! A table whose columns are as wide as they must be.

/// Headings, without that of the rows' names.
pub(super) type Columns = &'static [&'static str];

const WIDTH_MAX: usize = 80;
/// Names take no less, if they are so long.
const NAME_LEAST: usize = 8;

/// Names to the left, figures to the right.
pub(super) struct Table {
    rows: Vec<(String, Vec<String>)>,
    columns: usize,
}

impl Table {
    pub fn new(what: &str, columns: Columns) -> Self {
        let headings = columns.iter().map(|heading| (*heading).to_owned());
        Self {
            rows: vec![(what.to_owned(), headings.collect())],
            columns: columns.len(),
        }
    }

    pub fn add(&mut self, name: &str, cells: &[String]) {
        self.rows.push((name.to_owned(), cells.to_vec()));
    }

    /// Long names are cut.
    pub fn text(&self) -> String {
        let widths: Vec<usize> = (0..self.columns).map(|at| self.width(at)).collect();
        let taken: usize = widths.iter().map(|width| width + 2).sum();
        let longest = self.rows.iter().map(|(name, _)| name.chars().count()).max();
        let room = WIDTH_MAX.saturating_sub(taken).max(NAME_LEAST);
        let names = longest.unwrap_or_default().min(room);
        let mut out = String::new();
        for (name, cells) in &self.rows {
            let cells = cells.iter().zip(&widths);
            let cells: String = cells
                .map(|(cell, width)| format!("  {cell:>width$}"))
                .collect();
            let line = format!("{:<names$}{cells}", cut(name, names));
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|(_, cells)| cells.get(column));
        cells
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    }
}

fn cut(name: &str, width: usize) -> String {
    if name.chars().count() > width {
        name.chars().take(width - 1).chain(['…']).collect()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_where_there_is_no_room() {
        let mut table = Table::new(
            "class",
            &["a heading that takes most of all the columns there are in it"],
        );
        table.add("a-name-of-more-than-there-is-room", &["1".to_owned()]);
        let text = table.text();
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH_MAX),
            "{text}"
        );
        assert!(text.contains("a-name-of-more-th…"), "{text}");
    }
}
