//! A report as tables of at most 80 columns.

use std::fmt::Write;

use takt_policy::{format_duration, format_rate};
use takt_sim::{Figures, Outcome};

use super::report::{Report, Variant};

/// The report for a terminal.
pub fn text(report: &Report) -> String {
    let mut out = format!(
        "{} for {}, seed {}\n",
        report.traffic,
        format_duration(report.duration_ns),
        report.seed
    );
    for variant in &report.variants {
        for run in &variant.runs {
            out.push('\n');
            write_run(&mut out, variant, run);
        }
    }
    out
}

fn write_run(out: &mut String, variant: &Variant, run: &Outcome) {
    let Variant { policy, link, .. } = variant;
    let rate = format_rate(variant.rate_bps);
    // Writing to a String does not fail.
    let _ = writeln!(
        out,
        "{policy}, link {link} at {rate}, {}: {:.1} % of the wire",
        run.scheduler, run.utilisation_percent
    );
    write_rows(out, "class", &run.classes);
    write_rows(out, "source", &run.sources);
}

fn write_rows(out: &mut String, what: &str, rows: &[Figures]) {
    let _ = writeln!(
        out,
        "  {what:<12} {:>9} {:>9} {:>8} {:>7} {:>7} {:>7} {:>7}",
        "offered", "got", "off by", "p50", "p99", "max", "lost"
    );
    for row in rows {
        let delay = |ns: Option<u64>| ns.map_or("-".to_owned(), time);
        let _ = writeln!(
            out,
            "  {:<12} {:>9} {:>9} {:>8} {:>7} {:>7} {:>7} {:>7}",
            row.name,
            bits(row.offered_bps),
            bits(row.delivered_bps),
            row.rate_error_ppm.map_or("-".to_owned(), ppm),
            delay(row.delay.map(|delay| delay.p50_ns)),
            delay(row.delay.map(|delay| delay.p99_ns)),
            delay(row.delay.map(|delay| delay.max_ns)),
            row.lost.packets(),
        );
    }
}

/// Three or four digits and a unit.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let unit = units.iter().find(|(factor, _)| value >= *factor);
    let (factor, unit) = unit.or(units.last()).copied().unwrap_or((1.0, ""));
    let value = value / factor;
    let decimals = match value {
        value if value == value.round() && value < 1e4 => 0,
        value if value < 10.0 => 3,
        value if value < 100.0 => 2,
        _ => 1,
    };
    format!("{value:.decimals$}{unit}")
}

fn bits(bps: f64) -> String {
    scaled(bps, &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")])
}

fn time(ns: u64) -> String {
    let text = scaled(
        ns as f64,
        &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")],
    );
    text
}

fn ppm(ppm: f64) -> String {
    match ppm.abs() {
        part if part < 1000.0 => format!("{ppm:+.3}ppm"),
        _ => format!("{:+.2}%", ppm / 1e4),
    }
}
