//! Reports that differ by their seeds: of each figure the mean and half of its 95 % interval.

use takt_policy::{format_duration, format_rate};
use takt_report::Interval;
use takt_sim::{Delay, Figures, Outcome};

use super::columns::{Columns, Table};
use super::units;
use crate::cli::{report::Report, spread::runs};

const SPREADS: Columns = &["got", "p99", "max", "lost"];

/// For a terminal.
pub fn spreads(reports: &[Report]) -> String {
    let [first, .., last] = reports else {
        return String::new();
    };
    let mut out = format!(
        "{} for {}, seeds {} to {}:\nmeans, and half of their 95 % intervals\n",
        first.traffic,
        format_duration(first.duration_ns),
        first.seed,
        last.seed
    );
    for variant in &first.variants {
        let rate = format_rate(variant.rate_bps);
        out += &format!("{}: {} at {rate}\n", variant.policy, variant.link);
    }
    let parts: [(&str, Part); 2] = [
        ("class", |run| &run.classes),
        ("source", |run| &run.sources),
    ];
    for (what, part) in parts {
        out.push('\n');
        out += &table(reports, first, what, part);
    }
    out
}

type Part = fn(&Outcome) -> &[Figures];

fn table(reports: &[Report], first: &Report, what: &str, part: Part) -> String {
    let all: Vec<(String, Vec<&Outcome>)> = { first.variants.iter().enumerate() }
        .flat_map(|(at, variant)| {
            let of_variant = variant.runs.iter().enumerate();
            of_variant.map(move |(run, outcome)| {
                let label = first.label(variant, outcome);
                (label, runs(reports, at, run).collect())
            })
        })
        .collect();
    let mut names: Vec<&str> = Vec::new();
    let rows = all.iter().flat_map(|(_, runs)| runs.iter());
    for row in rows.flat_map(|run| part(run)) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let mut table = Table::new(what, SPREADS);
    for name in names {
        if let [(_, runs)] = all.as_slice() {
            table.add(name, &cells(runs, name, part));
            continue;
        }
        table.add(name, &[]);
        for (label, runs) in &all {
            table.add(&format!("  {label}"), &cells(runs, name, part));
        }
    }
    table.text()
}

fn cells(runs: &[&Outcome], name: &str, part: Part) -> Vec<String> {
    let rows = || { runs.iter() }.map(|run| part(run).iter().find(|row| row.name == name));
    let interval =
        |numbers: Vec<f64>| (!numbers.is_empty()).then(|| Interval::from_values(&numbers));
    // A class that no packet came for has no row, and nothing of what is counted.
    let counted =
        |number: fn(&Figures) -> f64| interval(rows().map(|row| row.map_or(0.0, number)).collect());
    let timed = |ns: fn(&Delay) -> u64| {
        let delays = rows().filter_map(|row| row?.delay);
        interval(delays.map(|delay| ns(&delay) as f64).collect())
    };
    let time = |ns: f64| units::time(ns.round() as u64);
    vec![
        cell(counted(|row| row.delivered_bps), units::rate),
        cell(timed(|delay| delay.p99_ns), time),
        cell(timed(|delay| delay.max_ns), time),
        cell(counted(|row| row.lost.packets() as f64), |packets| {
            format!("{packets:.1}")
        }),
    ]
}

fn cell(interval: Option<Interval>, shown: impl Fn(f64) -> String) -> String {
    match interval {
        None => units::dash(),
        // Of a class that had packets with one seed only.
        Some(Interval { mean, half }) if half.is_infinite() => shown(mean),
        Some(Interval { mean, half }) => format!("{} ±{}", shown(mean), shown(half)),
    }
}
