//! Figures of runs that differ by their seeds: for each the mean, its 95 % interval and the
//! extremes.

use serde_json::{Map, Value, json};
use takt_report::Interval;
use takt_sim::Outcome;

use super::report::Report;

/// As `--output json` prints reports that differ by their seeds: like one, with the spread in the
/// place of each number. Curves are left out.
pub fn json(reports: &[Report]) -> Value {
    let [first, ..] = reports else {
        return Value::Null;
    };
    let variants = first.variants.iter().enumerate().map(|(at, variant)| {
        let runs = (0..variant.runs.len()).map(|run| {
            let of_seeds = runs(reports, at, run).map(|outcome| json!(outcome));
            let of_seeds: Vec<Value> = of_seeds.collect();
            merge(&of_seeds.iter().collect::<Vec<_>>())
        });
        json!({
            "policy": variant.policy,
            "link": variant.link,
            "rate_bps": variant.rate_bps,
            "runs": runs.collect::<Vec<_>>(),
        })
    });
    json!({
        "traffic": first.traffic,
        "seeds": reports.iter().map(|report| report.seed).collect::<Vec<_>>(),
        "duration_ns": first.duration_ns,
        "variants": variants.collect::<Vec<_>>(),
    })
}

/// Each seed's run of a policy's scheduler.
pub fn runs(reports: &[Report], variant: usize, run: usize) -> impl Iterator<Item = &Outcome> {
    { reports.iter() }.filter_map(move |report| report.variants.get(variant)?.runs.get(run))
}

/// Of values in the same place.
fn merge(values: &[&Value]) -> Value {
    let known: Vec<&Value> = { values.iter() }
        .copied()
        .filter(|value| !value.is_null())
        .collect();
    match known.first() {
        None => Value::Null,
        Some(Value::Number(_)) => {
            let numbers: Vec<f64> = known.iter().filter_map(|value| value.as_f64()).collect();
            spread(&numbers)
        }
        Some(Value::Object(first)) => {
            let part = |key: &String| {
                let of_key: Vec<&Value> = known.iter().filter_map(|one| one.get(key)).collect();
                Some((key.clone(), merge(&of_key))).filter(|(_, merged)| !merged.is_null())
            };
            Value::Object(first.keys().filter_map(part).collect::<Map<_, _>>())
        }
        Some(Value::Array(_)) => named(&known),
        Some(other) => (*other).clone(),
    }
}

fn spread(numbers: &[f64]) -> Value {
    let Interval { mean, half } = Interval::from_values(numbers);
    json!({
        "mean": mean,
        "half": half,
        "min": numbers.iter().copied().fold(f64::INFINITY, f64::min),
        "max": numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        "seeds": numbers.len(),
    })
}

/// Rows are told apart by their names: a class without packets has none. What has no names is a
/// curve.
fn named(arrays: &[&Value]) -> Value {
    let rows: Vec<&Value> = { arrays.iter() }
        .filter_map(|array| array.as_array())
        .flatten()
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for name in rows.iter().filter_map(|row| row.get("name")?.as_str()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Value::Null;
    }
    let merged = names.into_iter().map(|name| {
        let of_name = |row: &&Value| row.get("name").and_then(Value::as_str) == Some(name);
        merge(&rows.iter().copied().filter(of_name).collect::<Vec<_>>())
    });
    Value::Array(merged.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_spreads_and_rows_keep_their_names() {
        let run = |bps: f64, late: Value| {
            json!({"scheduler": "takt", "classes": [
                {"name": "web", "delivered_bps": bps, "delay": late, "rate_curve_bps": [[1, 2]]},
            ]})
        };
        let runs = [run(1.0, json!({"max_ns": 5})), run(3.0, Value::Null)];
        let merged = merge(&runs.iter().collect::<Vec<_>>());
        assert_eq!(merged["scheduler"], "takt");
        let web = &merged["classes"][0];
        assert_eq!(web["name"], "web");
        assert_eq!(web["delivered_bps"]["mean"], 2.0);
        assert_eq!(web["delivered_bps"]["min"], 1.0);
        assert_eq!(web["delivered_bps"]["seeds"], 2);
        assert_eq!(web["delay"]["max_ns"]["seeds"], 1);
        assert_eq!(web["delay"]["max_ns"]["half"], Value::Null);
        assert_eq!(web.get("rate_curve_bps"), None);
    }
}
