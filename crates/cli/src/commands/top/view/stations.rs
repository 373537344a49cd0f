use takt_host::{LinkStatus, stations::Station};

use super::{Rows, bps, columns, counts, delay, per_s, text};
use crate::{
    commands::{
        status::note,
        top::{rates::Meter, sample::Sample, table::Column, value::Value},
    },
    print::weight,
};

pub const COLUMNS: &[Column] = columns! {
    "station" "station" text;
    "link" "link" text;
    "bit/s" "rate_now_bps" number;
    "weight" "weight" number;
    "queued" "queued_packets" number;
    "delay" "delay_ns" number;
    "drop/s" "dropped_packets_ps" number;
    "note" "note" text;
    "pkt/s" "sent_packets_ps" number;
};

pub fn rows(sample: &Sample, meter: &mut Meter) -> Rows {
    let mut rows = Vec::new();
    for link in &sample.status.links {
        let stations = link.radio.iter().flat_map(|radio| &radio.stations);
        rows.extend(stations.map(|station| row(link, station, meter)));
    }
    if rows.is_empty() {
        Err("no link has stations".to_owned())
    } else {
        Ok(rows)
    }
}

fn row(link: &LinkStatus, station: &Station, meter: &mut Meter) -> Vec<Value> {
    let address = station.address.to_string();
    let id = format!("station {} {} {address}", link.device, link.generation);
    let rates = meter.rates(id, counts(&station.counters));
    vec![
        Value::Text(address),
        text(&link.device),
        bps(rates),
        Value::Text(weight(station.applied_ppm)),
        Value::Count(station.queued_packets.into()),
        delay(station.queued_bytes, rates),
        per_s(rates, 2),
        text(note(station)),
        per_s(rates, 1),
    ]
}
