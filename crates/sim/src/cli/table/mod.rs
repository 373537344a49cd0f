//! A report as tables of at most 80 columns.

mod columns;
mod spreads;
mod units;

use takt_policy::{format_duration, format_rate};
use takt_sim::{Figures, Outcome, StationFigures};

use self::columns::{Columns, Table};
pub use self::spreads::spreads;
use super::report::{Report, Variant};

const RATES: Columns = &[
    "offered", "got", "off by", "p50", "p99", "max", "lost", "marked",
];
const HELD: Columns = &["own", "clock", "others", "timer", "device", "spacing"];
const STATIONS: Columns = &["weight", "got", "air", "lost"];
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
        "{}: {} at {}, {}: {:.1} % of the {}\n",
        variant.policy,
        variant.link,
        format_rate(variant.rate_bps),
        run.scheduler,
        run.utilisation_percent,
        if run.stations.is_empty() {
            "wire"
        } else {
            "air"
        }
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
    if !run.stations.is_empty() {
        let mut table = Table::new("station", STATIONS);
        for row in &run.stations {
            table.add(&row.name, &station(row));
        }
        out.push('\n');
        out.push_str(&table.text());
    }
    out
}

fn station(row: &StationFigures) -> Vec<String> {
    let weight = row.weight.map(|weight| format!("{weight:.3}"));
    vec![
        weight.unwrap_or_else(units::dash),
        units::rate(row.delivered_bps),
        format!("{:.1}%", row.air_percent),
        row.lost_packets.to_string(),
    ]
}

/// Each class and source, with a row for each run.
fn several(report: &Report, runs: &[(&Variant, &Outcome)]) -> String {
    let figures = |rows: &[Figures]| {
        let named = rows.iter().map(|row| (row.name.clone(), compared(row)));
        named.collect::<Rows>()
    };
    let classes = compare(("class", COMPARED), report, runs, |run| {
        figures(&run.classes)
    });
    let sources = compare(("source", COMPARED), report, runs, |run| {
        figures(&run.sources)
    });
    let stations = compare(("station", STATIONS), report, runs, |run| {
        let rows = run.stations.iter();
        rows.map(|row| (row.name.clone(), station(row))).collect()
    });
    if runs.iter().any(|(_, run)| !run.stations.is_empty()) {
        format!("\n{classes}\n{sources}\n{stations}")
    } else {
        format!("\n{classes}\n{sources}")
    }
}

/// Names with their cells.
type Rows = Vec<(String, Vec<String>)>;

fn compare(
    (what, columns): (&str, Columns),
    report: &Report,
    runs: &[(&Variant, &Outcome)],
    part: impl Fn(&Outcome) -> Rows,
) -> String {
    let parts: Vec<Rows> = runs.iter().map(|(_, run)| part(run)).collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in parts.iter().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut table = Table::new(what, columns);
    for name in names {
        table.add(name, &[]);
        for ((variant, run), rows) in runs.iter().zip(&parts) {
            let row = rows.iter().find(|(of, _)| of == name);
            let cells = row.map(|(_, cells)| cells.clone()).unwrap_or_default();
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
