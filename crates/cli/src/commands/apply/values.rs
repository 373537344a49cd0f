//! Values of a policy's JSON, as people write them.

use serde_json::{Map, Value};
use takt_policy::{PRIORITY_BACKGROUND, format_duration, format_rate};

use crate::print::count;

/// A key without its unit, and its value with it. Keys in keys are separated by dots.
pub fn shown(path: &str, value: &Value) -> (String, String) {
    let key = path.rsplit('.').next().unwrap_or(path);
    let (bare, unit) = key.rsplit_once('_').unwrap_or((key, ""));
    let units = ["bps", "ns", "milli", "ppm", "centidb"];
    let name = if units.contains(&unit) {
        &path[..path.len() - unit.len() - 1]
    } else {
        path
    };
    let shown = match (unit, value) {
        (_, Value::Null) => "none".to_owned(),
        // Instead of a rate.
        ("bps", Value::String(text)) => text.clone(),
        ("bps", _) => value.as_u64().map(format_rate).unwrap_or_default(),
        // A fraction of nanoseconds is spelled already.
        ("ns", _) if value.is_u64() => value.as_u64().map(format_duration).unwrap_or_default(),
        ("milli", _) => decimal(value, 1_000.0),
        ("ppm", _) => decimal(value, 1_000_000.0),
        ("centidb", _) => format!("{} dB", decimal(value, 100.0)),
        _ if bare == "priority" && *value == PRIORITY_BACKGROUND => "background".to_owned(),
        _ => plain(value),
    };
    (name.replace(['.', '_'], " "), shown)
}

/// What a thing is, in a few words.
pub fn summary(thing: &Value) -> String {
    let has = |key: &str| !thing[key].is_null();
    let of = |key: &str| shown(key, &thing[key]).1;
    let length = |key: &str| thing[key].as_array().map_or(0, Vec::len);
    if has("classes") {
        let tenants = match length("tenants") {
            0 => String::new(),
            tenants => format!(", {}", count(tenants, "tenant", "tenants")),
        };
        let classes = count(length("classes"), "class", "classes");
        return format!(
            "{} at {}, {classes}{tenants}",
            of("backend"),
            of("rate_bps")
        );
    }
    if has("tasks") {
        return format!(
            "grid {}, {}",
            of("grid_ns"),
            count(length("tasks"), "task", "tasks")
        );
    }
    if has("period_ns") {
        return format!("{} every {}", of("budget_ns"), of("period_ns"));
    }
    if has("group") {
        return format!("{} on {}", of("group"), of("device"));
    }
    if has("report") {
        return format!("reports from {}", plain(&thing["report"]["device"]));
    }
    if has("source") {
        return format!("source {}", of("source"));
    }
    let rate = has("rate_bps").then(|| format!("rate {}, ", of("rate_bps")));
    format!("{}priority {}", rate.unwrap_or_default(), of("priority"))
}

/// Without trailing zeros.
fn decimal(value: &Value, parts: f64) -> String {
    value
        .as_f64()
        .map_or_else(String::new, |number| (number / parts).to_string())
}

/// Entries of lists and tables that say something, without quotes and brackets.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) if list.iter().all(Value::is_object) => {
            let entries: Vec<String> = list.iter().map(plain).collect();
            let is_range = list.iter().all(|entry| entry.get("start").is_some());
            if is_range {
                entries.join(",")
            } else {
                format!("[{}]", entries.join(" | "))
            }
        }
        Value::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join(" "),
        Value::Object(table) => pair(table).unwrap_or_else(|| {
            let says = |value: &Value| {
                ![Value::Null, false.into(), Vec::<u8>::new().into()].contains(value)
            };
            let entries = table.iter().filter(|(_, value)| says(value));
            let entries = entries.map(|(key, value)| format!("{key} {}", plain(value)));
            entries.collect::<Vec<_>>().join(" ")
        }),
        other => other.to_string(),
    }
}

/// Ranges of ports, prefixes and marks.
fn pair(table: &Map<String, Value>) -> Option<String> {
    let of = |key: &str| table.get(key);
    if let (Some(start), Some(end)) = (of("start"), of("end")) {
        return Some(if start == end {
            start.to_string()
        } else {
            format!("{start}-{end}")
        });
    }
    if let (Some(addr), Some(len)) = (of("addr"), of("len")) {
        return Some(format!("{}/{len}", plain(addr)));
    }
    let (value, mask) = (of("value")?.as_u64()?, of("mask")?.as_u64()?);
    Some(if mask == u64::from(u32::MAX) {
        format!("{value:#x}")
    } else {
        format!("{value:#x}/{mask:#x}")
    })
}
