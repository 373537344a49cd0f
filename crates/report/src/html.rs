//! A page of reports: one file without external resources or scripts, light and dark.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::columns::{Column, columns, drop_lightest};
use crate::plot::{FIGURE_CSS, Figure, figures, glance, headlines, of_simulation, standalone};
use crate::rows::{Report, Row};
use crate::view::{Case, is_subject, tables};

const PAGE_CSS: &str = include_str!("page.css");

/// All reports on one page; the same reports give the same bytes.
pub fn html(reports: &[Report]) -> String {
    let content = html! {
        h1 { b { "Takt" } " in the laboratory" }
        p class="lead" {
            "Each scheduler did the same work, one after the other, in the same boot \
             of the same kernel."
        }
        @match headlines(reports).or_else(|| reports.iter().find_map(glance)) {
            Some(first) => (figure(&first)),
            None => {}
        }
        (provenance(reports))
        @for report in reports { (section(report)) }
    };
    page("Takt in the laboratory", &content)
}

/// The page of a simulation; `about` says of what.
pub fn simulation(about: &str, rows: Vec<Row>) -> String {
    let report = Report {
        experiment: "sim".to_owned(),
        kernel: String::new(),
        clock: "simulated".to_owned(),
        command: about.to_owned(),
        commit: String::new(),
        rows,
    };
    let content = html! {
        h1 { b { "Takt" } " simulated" }
        p class="lead" { (about) }
        @for drawn in of_simulation(&report) { (figure(&drawn)) }
        (numbers(&report))
    };
    page("Takt simulated", &content)
}

/// The frame of every page.
pub fn page(title: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html xmlns="http://www.w3.org/1999/xhtml" lang="en" {
            head {
                // Written out, because XML wants the slashes that HTML allows.
                (PreEscaped("<meta charset=\"utf-8\"/>"))
                (PreEscaped("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"))
                title { (title) }
                style { (PreEscaped(PAGE_CSS)) (PreEscaped(FIGURE_CSS)) }
            }
            body { main { (content) } }
        }
    };
    page.into_string() + "\n"
}

/// The report's main result as an SVG of its own, for a document. `None` where the report has
/// nothing to draw.
pub fn picture(report: &Report) -> Option<String> {
    glance(report)
        .or_else(|| figures(report).into_iter().next())
        .as_ref()
        .map(standalone)
}

/// Everything needed to reproduce the figures.
fn provenance(reports: &[Report]) -> Markup {
    html! {
        dl {
            (entry("command", distinct(reports, |report| &report.command), |it| html! { code { (it) } }))
            (entry("kernel", distinct(reports, |report| &report.kernel), |it| html! { (it) }))
            (entry("commit", distinct(reports, |report| &report.commit), |it| html! { (it) }))
            (entry("clock", distinct(reports, |report| &report.clock), clock_note))
        }
    }
}

fn entry(name: &str, values: Vec<&str>, show: fn(&str) -> Markup) -> Markup {
    html! {
        dt { (name) }
        dd { @for value in values { div { (show(value)) } } }
    }
}

fn distinct(reports: &[Report], of: fn(&Report) -> &String) -> Vec<&str> {
    let mut seen: Vec<&str> = Vec::new();
    for value in reports.iter().map(of) {
        if !seen.contains(&value.as_str()) {
            seen.push(value);
        }
    }
    seen
}

fn clock_note(clock: &str) -> Markup {
    html! {
        (clock)
        @if clock == "virtual" {
            ": figures of a one-instruction-per-nanosecond CPU without caches; compare side by side"
        }
    }
}

fn section(report: &Report) -> Markup {
    html! {
        section id=(report.experiment) {
            h2 { (report.experiment) }
            p class="soft" { code { (report.command) } }
            @for drawn in figures(report) { (figure(&drawn)) }
            (numbers(report))
        }
    }
}

fn numbers(report: &Report) -> Markup {
    html! {
        figure {
            h3 { "All numbers" }
            @for cases in tables(report) { (fitting(&cases)) }
        }
    }
}

fn figure(figure: &Figure) -> Markup {
    html! {
        figure {
            h3 { (figure.title) }
            figcaption { (figure.caption) }
            (figure.drawing)
        }
    }
}

/// The most important columns, as many as the page has room for, and all of them on demand.
fn fitting(cases: &[Case]) -> Markup {
    let mut shown = columns(cases);
    let all_count = shown.len();
    while width_chars(cases, &shown) > WIDTH_MAX_CHARS && drop_lightest(&mut shown) {}
    html! {
        (table(cases, &shown))
        @if shown.len() < all_count {
            details {
                summary { "all " (all_count) " columns" }
                (table(cases, &columns(cases)))
            }
        }
    }
}

/// What the page has room for, in characters of its tables.
const WIDTH_MAX_CHARS: usize = 148;

fn width_chars(cases: &[Case], columns: &[Column]) -> usize {
    const BETWEEN: usize = 3;
    let rows = || cases.iter().flat_map(|case| &case.rows);
    let widest = |words: &mut dyn Iterator<Item = usize>| words.max().unwrap_or(0) + BETWEEN;
    let of_columns = columns.iter().map(|column| {
        // Headings break between words.
        let heading = column.heading.split_whitespace();
        let heading = heading.map(|word| word.chars().count());
        let cells = rows().map(|row| column.cell(row).chars().count());
        widest(&mut heading.chain(cells))
    });
    widest(&mut cases.iter().map(|case| case.name.chars().count()))
        + widest(&mut rows().map(|row| row.scheduler.chars().count()))
        + of_columns.sum::<usize>()
}

fn table(cases: &[Case], columns: &[Column]) -> Markup {
    html! {
            table {
                thead { tr {
                    th class="left" { "case" }
                    th class="left" { "scheduler" }
                    @for column in columns { th class="wrap" { (column.heading) } }
                } }
                @for case in cases {
                    tbody {
                        @for (at, row) in case.rows.iter().enumerate() {
                            tr class=[is_subject(&row.scheduler).then_some("subject")] {
                                @if at == 0 { th rowspan=(case.rows.len()) { (case.name) } }
                                td class="left" { (row.scheduler) }
                                @for column in columns { td { (column.cell(row)) } }
                            }
                        }
                    }
                }
            }
    }
}
