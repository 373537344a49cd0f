use takt_host::{DeviceState, LinkStatus};

use super::{Rows, bps, columns, limit, per_s, text};
use crate::commands::top::{
    rates::{Counts, Meter},
    sample::Sample,
    table::Column,
    value::Value,
};

pub const COLUMNS: &[Column] = columns! {
    "link" "link" text;
    "bit/s" "rate_now_bps" number;
    "used" "used" number;
    "rate" "rate_bps" number;
    "pkt/s" "sent_packets_ps" number;
    "queued" "queued_packets" number;
    "drop/s" "dropped_packets_ps" number;
    "flows" "flows" number;
    "state" "state" text;
    "backend" "backend" text;
    "policy" "policy" text;
};

pub fn rows(sample: &Sample, meter: &mut Meter) -> Rows {
    let links = &sample.status.links;
    if links.is_empty() {
        Err("no links are managed".to_owned())
    } else {
        Ok(links.iter().map(|link| row(link, meter)).collect())
    }
}

fn row(link: &LinkStatus, meter: &mut Meter) -> Vec<Value> {
    let name = format!("link {} {}", link.device, link.generation);
    let rates = meter.rates(name, counts(link));
    let used = rates
        .filter(|_| link.rate_bps > 0 && !link.by_device)
        .map(|rates| rates[0] * 8.0 / link.rate_bps as f64);
    vec![
        text(&link.device),
        bps(rates),
        Value::or_absent(used, Value::Share),
        limit(if link.by_device { 0 } else { link.rate_bps }),
        per_s(rates, 1),
        Value::Count(link.queued_packets.into()),
        per_s(rates, 2),
        Value::Count(link.flow_totals.live.into()),
        text(state(link)),
        text(link.backend.name()),
        text(link.policy.as_deref().unwrap_or("lost")),
    ]
}

/// Of all classes together.
fn counts(link: &LinkStatus) -> Counts {
    link.classes.iter().fold(Counts::default(), |sum, class| {
        let own = super::counts(&class.counters);
        std::array::from_fn(|at| sum[at] + own[at])
    })
}

fn state(link: &LinkStatus) -> &'static str {
    match link.device_state {
        _ if link.problem.is_some() => "problem",
        None => "gone",
        Some(DeviceState::Down) => "down",
        Some(DeviceState::NoCarrier) => "no carrier",
        Some(DeviceState::Ready) => "ready",
    }
}
