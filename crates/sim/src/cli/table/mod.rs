//! A report as tables of at most 80 columns.

mod columns;
mod units;

use takt_policy::{format_duration, format_rate};
use takt_sim::{Figures, Outcome};

use self::columns::{Columns, Table};
use super::report::{Report, Variant};

const RATES: Columns = &[
    "offered", "got", "off by", "p50", "p99", "max", "lost", "marked",
];
const HELD: Columns = &["own", "clock", "others", "timer", "device", "spacing"];
const COMPARED: Columns = &["got", "off by", "p50", "p99", "max", "lost"];

/// The report for a terminal: of one run all of it, of several what differs.
pub fn text(report: &Report) -> String {
    let mut out = format!(
        "{} for {}, seed {}\n",
        report.traffic,
        format_duration(report.duration_ns),
        report.seed
    );
    for variant in &report.variants {
        for run in &variant.runs {
            out.push_str(&headline(variant, run));
        }
    }
    let runs: Vec<(&Variant, &Outcome)> = report
        .variants
        .iter()
        .flat_map(|variant| variant.runs.iter().map(move |run| (variant, run)))
        .collect();
    match runs.as_slice() {
        [(_, run)] => out.push_str(&one(run)),
        runs => out.push_str(&several(report, runs)),
    }
    out
}

fn headline(variant: &Variant, run: &Outcome) -> String {
    format!(
        "{}: {} at {}, {}: {:.1} % of the wire\n",
        variant.policy,
        variant.link,
        format_rate(variant.rate_bps),
        run.scheduler,
        run.utilisation_percent
    )
}

fn one(run: &Outcome) -> String {
    let mut out = String::new();
    for (what, rows) in [("class", &run.classes), ("source", &run.sources)] {
        let mut table = Table::new(what, RATES);
        for row in rows {
            table.add(&row.name, &rates(row));
        }
        out.push('\n');
        out.push_str(&table.text());
    }
    let mut table = Table::new("held", HELD);
    for row in &run.classes {
        table.add(&row.name, &held(row));
    }
    out.push('\n');
    out.push_str(&table.text());
    out
}

/// Each class and source, with a row for each run.
fn several(report: &Report, runs: &[(&Variant, &Outcome)]) -> String {
    let classes = compare("class", report, runs, |run| &run.classes);
    let sources = compare("source", report, runs, |run| &run.sources);
    format!("\n{classes}\n{sources}")
}

fn compare(
    what: &str,
    report: &Report,
    runs: &[(&Variant, &Outcome)],
    part: impl Fn(&Outcome) -> &Vec<Figures>,
) -> String {
    let mut names: Vec<&str> = Vec::new();
    for row in runs.iter().flat_map(|(_, run)| part(run)) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let mut table = Table::new(what, COMPARED);
    for name in names {
        table.add(name, &[]);
        for (variant, run) in runs {
            let row = part(run).iter().find(|row| row.name == name);
            let cells = row.map(compared).unwrap_or_default();
            table.add(&format!("  {}", report.label(variant, run)), &cells);
        }
    }
    table.text()
}

fn delays(row: &Figures) -> [String; 3] {
    let delay = |ns: Option<u64>| ns.map_or_else(units::dash, units::time);
    [
        delay(row.delay.map(|delay| delay.p50_ns)),
        delay(row.delay.map(|delay| delay.p99_ns)),
        delay(row.delay.map(|delay| delay.max_ns)),
    ]
}

fn off_by(row: &Figures) -> String {
    row.rate_error_ppm.map_or_else(units::dash, units::error)
}

fn rates(row: &Figures) -> Vec<String> {
    let [p50, p99, max] = delays(row);
    vec![
        units::rate(row.offered_bps),
        units::rate(row.delivered_bps),
        off_by(row),
        p50,
        p99,
        max,
        row.lost.packets().to_string(),
        row.marked_packets.to_string(),
    ]
}

fn compared(row: &Figures) -> Vec<String> {
    let [p50, p99, max] = delays(row);
    vec![
        units::rate(row.delivered_bps),
        off_by(row),
        p50,
        p99,
        max,
        row.lost.packets().to_string(),
    ]
}

fn held(row: &Figures) -> Vec<String> {
    let Some(held) = row.held else {
        return Vec::new();
    };
    let spacing = row.spacing_error.map(|spacing| spacing.p99_ns);
    vec![
        units::time(held.behind_own_ns),
        units::time(held.by_clock_ns),
        units::time(held.by_others_ns),
        units::time(held.by_timer_ns),
        units::time(held.in_device_ns),
        spacing.map_or_else(units::dash, units::time),
    ]
}
