//! A table of docs/comparison.md, made from the rows of reports.

use super::runs::Runs;

/// Whether runs beyond the first are shown.
#[derive(Clone, Copy, PartialEq)]
pub enum Show {
    /// The first run's figure.
    Figure,
    /// And from least to most, where runs differ.
    Spread,
}

pub struct Table {
    /// The name in the page's marker.
    pub name: &'static str,
    pub experiment: &'static str,
    pub columns: &'static [Column],
    pub lines: Vec<Line>,
}

pub struct Column {
    pub heading: &'static str,
    pub scheduler: &'static str,
    /// The addition to a line's case.
    pub part: &'static str,
}

pub struct Line {
    pub label: String,
    /// The largest figure of these is shown.
    pub cases: Vec<String>,
    pub figures: Vec<Figure>,
}

/// A metric and its format.
#[derive(Clone, Copy)]
pub struct Figure {
    pub metric: &'static str,
    pub written: fn(f64) -> String,
}

impl Table {
    pub fn markdown(&self, runs: &Runs, show: Show) -> String {
        let headings = self.columns.iter().map(|column| column.heading.to_owned());
        let mut text = line("", headings);
        text += &format!("|{}\n", "---|".repeat(self.columns.len() + 1));
        for one in &self.lines {
            let cells = self
                .columns
                .iter()
                .map(|column| one.cell(column, runs, show));
            text += &line(&one.label, cells);
        }
        text
    }
}

impl Line {
    fn cell(&self, column: &Column, runs: &Runs, show: Show) -> String {
        let cases: Vec<String> = self
            .cases
            .iter()
            .map(|case| format!("{case}{}", column.part))
            .collect();
        let figures: Vec<_> = self
            .figures
            .iter()
            .filter_map(|figure| figure.of(runs, column.scheduler, &cases, show))
            .collect();
        if figures.is_empty() {
            "–".to_owned()
        } else {
            figures.join(" / ")
        }
    }
}

impl Figure {
    /// `None` if it was not measured.
    pub fn of(&self, runs: &Runs, scheduler: &str, cases: &[String], show: Show) -> Option<String> {
        let values = runs.values(scheduler, cases, self.metric);
        let first = (self.written)(*values.first()?);
        let least = (self.written)(values.iter().copied().fold(f64::INFINITY, f64::min));
        let most = (self.written)(values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        Some(match show {
            Show::Spread if least != most => format!("{first} [{least} – {most}]"),
            _ => first,
        })
    }
}

fn line(label: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    let label = match label {
        "" => String::new(),
        label => format!("{label} "),
    };
    format!("| {label}| {} |\n", cells.join(" | "))
}

/// The text with the content between the table's markers replaced.
pub fn replaced(text: &str, name: &str, table: &str) -> String {
    let begin = format!("<!-- table {name}: made from docs/results -->\n");
    let end = format!("<!-- end of {name} -->\n");
    let (before, rest) = text
        .split_once(&begin)
        .unwrap_or_else(|| panic!("the page has no line {begin}"));
    let (_, after) = rest
        .split_once(&end)
        .unwrap_or_else(|| panic!("the page has no line {end}"));
    format!("{before}{begin}{table}{end}{after}")
}
