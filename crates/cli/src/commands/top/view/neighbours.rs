use takt_daemon::{Neighbour, Neighbourhood};

use super::{Rows, columns, text};
use crate::commands::top::{sample::Sample, table::Column, value::Value};

pub const COLUMNS: &[Column] = columns! {
    "neighbour" "neighbour" text;
    "address" "address" text;
    "bit/s" "rate_now_bps" number;
    "flows" "flows" number;
    "RTT/min" "rtt_ratio" number;
    "heard" "age_ns" number;
    "note" "note" text;
    "group" "group" text;
};

/// taktd measures their rates.
pub fn rows(sample: &Sample) -> Rows {
    if sample.status.crowd.is_none() {
        return Err("no policy with [crowd] is in force".to_owned());
    }
    let Some(crowd) = &sample.crowd else {
        return Err("neighbours are asked for while this view is shown, and of taktd".to_owned());
    };
    let mut rows = Vec::new();
    for group in crowd {
        rows.extend(own(group));
        rows.extend(group.neighbours.iter().map(|other| row(group, other)));
    }
    if rows.is_empty() {
        Err("taktd has heard of no neighbours".to_owned())
    } else {
        Ok(rows)
    }
}

/// This host's share.
fn own(group: &Neighbourhood) -> Option<Vec<Value>> {
    let share = group.share.as_ref()?;
    Some(vec![
        text("(this host)"),
        Value::Absent,
        bit_ps(share.rate_bytes_ps),
        Value::Count(share.flows.into()),
        Value::Absent,
        Value::Absent,
        text(note(share.lends, share.competes)),
        text(&group.group),
    ])
}

fn row(group: &Neighbourhood, other: &Neighbour) -> Vec<Value> {
    let address = other.address.map(|address| address.to_string());
    let ratio = other.rtt_ratio_milli.map(|milli| f64::from(milli) / 1e3);
    vec![
        text(&other.name),
        Value::or_absent(address, Value::Text),
        bit_ps(other.rate_bytes_ps),
        Value::Count(other.flows.into()),
        Value::or_absent(ratio, Value::Rate),
        Value::TimeNs(other.age_ms.saturating_mul(1_000_000)),
        text(note(other.lends, other.competes)),
        text(&group.group),
    ]
}

fn bit_ps(bytes_ps: u32) -> Value {
    Value::Rate(f64::from(bytes_ps) * 8.0)
}

fn note(lends: bool, competes: bool) -> &'static str {
    match (lends, competes) {
        (true, _) => "lends",
        (false, true) => "competes",
        (false, false) => "",
    }
}
