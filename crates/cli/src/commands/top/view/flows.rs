use takt_host::{FlowStatus, LinkStatus};

use super::{Rows, bps, columns, counts, delay, per_s, text};
use crate::commands::{
    status::{end_text, proto_text},
    top::{rates::Meter, sample::Sample, table::Column, value::Value},
};

pub const COLUMNS: &[Column] = columns! {
    "class" "class" text;
    "link" "link" text;
    "bit/s" "rate_now_bps" number;
    "queued" "queued_packets" number;
    "delay" "delay_ns" number;
    "drop/s" "dropped_packets_ps" number;
    "proto" "proto" text;
    "from" "from" text;
    "to" "to" text;
    "pkt/s" "sent_packets_ps" number;
};

pub fn rows(sample: &Sample, meter: &mut Meter) -> Rows {
    let links = sample.status.links.iter();
    let sampled: Vec<_> = links
        .filter_map(|link| Some((link, link.flows.as_ref()?)))
        .collect();
    if sampled.is_empty() {
        return Err("flows are sampled while this view is shown".to_owned());
    }
    let mut rows = Vec::new();
    for (link, flows) in sampled {
        rows.extend(flows.iter().map(|flow| row(link, flow, meter)));
    }
    if rows.is_empty() {
        Err("no flow has clocks of its own; they are for classes with per_flow".to_owned())
    } else {
        Ok(rows)
    }
}

fn row(link: &LinkStatus, flow: &FlowStatus, meter: &mut Meter) -> Vec<Value> {
    let proto = proto_text(flow.proto);
    let from = end_text(flow.src, flow.src_port);
    let to = end_text(flow.dst, flow.dst_port);
    let id = format!(
        "flow {} {} {} {proto} {from} {to}",
        link.device, link.generation, flow.class
    );
    let rates = meter.rates(id, counts(&flow.counters));
    vec![
        text(&flow.class),
        text(&link.device),
        bps(rates),
        Value::Count(flow.queued_packets.into()),
        delay(flow.queued_bytes, rates),
        per_s(rates, 2),
        Value::Text(proto),
        Value::Text(from),
        Value::Text(to),
        per_s(rates, 1),
    ]
}
