//! A report as a page with plots: rows in the form of the laboratory's, which `takt-report` draws.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use takt_report::Row;
use takt_sim::{Figures, StationFigures};

use super::report::Report;

/// One file, without external resources.
pub fn html(report: &Report) -> String {
    let runs = report.variants.iter().flat_map(|variant| {
        let runs = variant.runs.iter();
        runs.map(move |run| (variant, run))
    });
    let rows = runs.flat_map(|(variant, run)| {
        let row = move |name: &str, metrics| Row {
            scheduler: run.scheduler.clone(),
            case: format!("{}/{name}", variant.stem()),
            metrics,
        };
        let classes = run.classes.iter();
        let classes = classes.map(move |class| row(&class.name, metrics(class)));
        let stations = run.stations.iter();
        classes.chain(stations.map(move |station| row(&station.name, of_station(station))))
    });
    let policies: Vec<&str> = report
        .variants
        .iter()
        .map(|it| it.policy.as_str())
        .collect();
    let about = format!(
        "{} with the traffic of {}, seed {}",
        policies.join(" and "),
        report.traffic,
        report.seed
    );
    takt_report::simulation(&about, rows.collect())
}

fn of_station(station: &StationFigures) -> BTreeMap<String, Value> {
    let own = [
        ("throughput_bps", json!(station.delivered_bps)),
        ("packets_lost", json!(station.lost_packets)),
    ];
    own.map(|(name, value)| (name.to_owned(), value)).into()
}

fn metrics(class: &Figures) -> BTreeMap<String, Value> {
    let delay = class.delay.map_or(Value::Null, |delay| json!(delay));
    let spacing = class
        .spacing_error
        .map_or(Value::Null, |spacing| json!(spacing));
    let parts = [("delay", delay), ("spacing_error", spacing)];
    let of_parts = parts.into_iter().flat_map(|(part, value)| {
        let fields = value.as_object().cloned().unwrap_or_default();
        let named = fields
            .into_iter()
            .map(move |(name, value)| (format!("{part}_{name}"), value));
        named.collect::<Vec<_>>()
    });
    let own = [
        ("offered_bps", json!(class.offered_bps)),
        ("throughput_bps", json!(class.delivered_bps)),
        ("rate_error_ppm", json!(class.rate_error_ppm)),
        ("packets_lost", json!(class.lost.packets())),
        ("rate_curve_bps", json!(class.rate_curve_bps)),
    ];
    let own = own
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    own.chain(of_parts)
        .filter(|(_, value)| !value.is_null())
        .collect()
}
