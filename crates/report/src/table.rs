//! A report as a table for the terminal.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use crate::columns::{Column, columns, drop_lightest};
use crate::rows::Report;
use crate::view::{Case, is_subject, tables};

/// A width that every terminal has.
const WIDTH_MAX: usize = 100;

/// The report in at most a hundred columns, grouped by case, Takt's rows marked. Cases with
/// different metrics have tables of their own. Where there is no room for every metric, the
/// least important are left out; the JSON and the page have them all.
pub fn table(report: &Report) -> String {
    let mut tables = tables(report);
    if tables.is_empty() {
        tables.push(Vec::new());
    }
    let texts: Vec<String> = tables.iter().map(|cases| fitting(cases)).collect();
    texts.join("\n\n\n")
}

fn fitting(cases: &[Case]) -> String {
    let mut columns = columns(cases);
    loop {
        let text = draw(cases, &columns);
        if width(&text) <= WIDTH_MAX || !drop_lightest(&mut columns) {
            return text;
        }
    }
}

fn width(text: &str) -> usize {
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
}

fn draw(cases: &[Case], columns: &[Column]) -> String {
    let mut table = Table::new();
    let headings = columns.iter().map(|column| column.heading.as_str());
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["case", "  scheduler"].into_iter().chain(headings));
    // Cases with one row each need no blank line between them.
    let spaced = cases.iter().any(|case| case.rows.len() > 1);
    for case in cases {
        if spaced {
            table.add_row([""]);
        }
        for (at, row) in case.rows.iter().enumerate() {
            let name = if at == 0 { case.name } else { "" };
            let mark = if is_subject(&row.scheduler) {
                "▸"
            } else {
                " "
            };
            let values = columns.iter().map(|column| Cell::new(column.cell(row)));
            table.add_row(
                [
                    Cell::new(name),
                    Cell::new(format!("{mark} {}", row.scheduler)),
                ]
                .into_iter()
                .chain(values),
            );
        }
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}
