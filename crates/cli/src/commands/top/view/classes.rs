use takt_host::{ClassStatus, LinkStatus};

use super::{Rows, bps, columns, counts, delay, limit, per_s, text};
use crate::commands::top::{rates::Meter, sample::Sample, table::Column, value::Value};

pub const COLUMNS: &[Column] = columns! {
    "class" "class" text;
    "link" "link" text;
    "bit/s" "rate_now_bps" number;
    "rate" "rate_bps" number;
    "ceil" "ceil_bps" number;
    "queued" "queued_packets" number;
    "delay" "delay_ns" number;
    "drop/s" "dropped_packets_ps" number;
    "worst late" "late_max_ns" number;
    "pkt/s" "sent_packets_ps" number;
    "mark/s" "marked_packets_ps" number;
    "flows" "flows" number;
    "prio" "priority" number;
};

pub fn rows(sample: &Sample, meter: &mut Meter) -> Rows {
    let links = &sample.status.links;
    if links.is_empty() {
        return Err("no links are managed".to_owned());
    }
    let mut rows = Vec::new();
    for link in links {
        for class in &link.classes {
            rows.push(sent(link, class, meter));
            rows.extend(received(link, class, meter));
        }
    }
    Ok(rows)
}

/// A tenant's classes have its name before theirs.
fn name(class: &ClassStatus) -> String {
    match &class.tenant {
        Some(tenant) => format!("{tenant}/{}", class.name),
        None => class.name.clone(),
    }
}

fn sent(link: &LinkStatus, class: &ClassStatus, meter: &mut Meter) -> Vec<Value> {
    let (name, counters) = (name(class), &class.counters);
    let id = format!("class {} {} {name}", link.device, link.generation);
    let rates = meter.rates(id, counts(counters));
    vec![
        text(&name),
        text(&link.device),
        bps(rates),
        limit(class.share.rate_bps),
        limit(class.share.ceil_bps),
        Value::Count(class.queued_packets.into()),
        delay(class.queued_bytes, rates),
        per_s(rates, 2),
        Value::TimeNs(counters.late_max_ns),
        per_s(rates, 1),
        per_s(rates, 3),
        Value::Count(class.flows.into()),
        Value::Count(class.share.priority.into()),
    ]
}

/// Incoming packets, below the sent ones in the order of names.
fn received(link: &LinkStatus, class: &ClassStatus, meter: &mut Meter) -> Option<Vec<Value>> {
    let received = class.receive.as_ref()?;
    let name = format!("{} (incoming)", name(class));
    let id = format!("class {} {} {name}", link.device, link.generation);
    let rates = meter.rates(id, counts(&received.counters));
    Some(vec![
        text(&name),
        text(&link.device),
        bps(rates),
        Value::Absent,
        Value::Absent,
        Value::Count(received.queued_packets.into()),
        delay(received.queued_bytes, rates),
        per_s(rates, 2),
        Value::TimeNs(received.counters.late_max_ns),
        per_s(rates, 1),
        per_s(rates, 3),
        Value::Absent,
        Value::Count(class.share.priority.into()),
    ])
}
