use takt_flows::Seen;

use super::{Rows, bps, columns, per_s, text};
use crate::commands::{
    flows::table::bounds,
    top::{rates::Meter, sample::Sample, table::Column, value::Value},
};

pub const COLUMNS: &[Column] = columns! {
    "application" "application" text;
    "remote" "remote" text;
    "bit/s" "rate_now_bps" number;
    "rtt" "rtt_ns" number;
    "cwnd" "cwnd_segments" number;
    "bounds" "bounds_segments" text;
    "unsent" "unsent_bytes" number;
    "retr/s" "retransmitted_segments_ps" number;
    "held by" "held_by" text;
    "control" "congestion_control" text;
    "local" "local" text;
};

pub fn rows(sample: &Sample, meter: &mut Meter) -> Rows {
    match &sample.tcp {
        None => Err("TCP flows are sampled while this view is shown".to_owned()),
        Some(Err(error)) => Err(format!("TCP flows cannot be seen: {error}")),
        Some(Ok(seen)) if seen.is_empty() => Err("there are no TCP flows".to_owned()),
        Some(Ok(seen)) => Ok(seen.iter().map(|seen| row(seen, meter)).collect()),
    }
}

fn row(seen: &Seen, meter: &mut Meter) -> Vec<Value> {
    let Seen { flow, sample } = seen;
    let counts = [
        sample.acked_bytes + sample.received_bytes,
        sample.retransmitted_segments.into(),
        0,
        0,
    ];
    let rates = meter.rates(format!("tcp {}", flow.id), counts);
    let rtt = |rtt_us: u32| Value::TimeNs(u64::from(rtt_us) * 1000);
    vec![
        Value::or_absent(flow.application.as_deref(), text),
        Value::Text(flow.ends.remote.to_string()),
        bps(rates),
        Value::or_absent(sample.rtt_us, rtt),
        Value::Count(sample.cwnd_segments.into()),
        Value::Text(bounds(sample)),
        Value::Count(sample.unsent_bytes.into()),
        per_s(rates, 1),
        Value::Text(sample.limit.to_string()),
        Value::or_absent(flow.congestion.as_deref(), text),
        Value::Text(flow.ends.local.to_string()),
    ]
}
