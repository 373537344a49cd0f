//! Flows as rows of a table.

use std::net::SocketAddr;

use takt_flows::{Sample, Seen};

use crate::{
    columns,
    print::{plain, short},
};

/// Heading, width, and whether it is set to the right.
const COLUMNS: [(&str, usize, bool); 19] = [
    ("application", 15, false),
    ("local", 21, false),
    ("remote", 21, false),
    ("state", 12, false),
    ("control", 8, false),
    ("cwnd", 6, true),
    ("bounds", 9, true),
    ("ssthresh", 8, true),
    ("flight", 6, true),
    ("rtt ms", 8, true),
    ("min ms", 8, true),
    ("bit/s", 6, true),
    ("unacked", 7, true),
    ("unsent", 7, true),
    ("unread", 7, true),
    ("retrans", 7, true),
    ("timeout", 7, true),
    ("ecn", 5, true),
    ("held by", 8, false),
];

pub type Row = [String; COLUMNS.len()];

pub fn row(seen: &Seen) -> Row {
    let Seen { flow, sample } = seen;
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let segments = |value: Option<u32>| or_dash(value.map(|segments| segments.to_string()));
    let milliseconds =
        |value: Option<u32>| or_dash(value.map(|us| format!("{:.3}", f64::from(us) / 1e3)));
    [
        or_dash(flow.application.as_deref().map(plain)),
        end(flow.ends.local),
        end(flow.ends.remote),
        sample.state.to_string(),
        or_dash(flow.congestion.clone()),
        sample.cwnd_segments.to_string(),
        bounds(sample),
        segments(sample.ssthresh_segments),
        sample.in_flight_segments.to_string(),
        milliseconds(sample.rtt_us),
        milliseconds(sample.rtt_min_us),
        short(8 * sample.delivery_bytes_ps),
        short(sample.send_queue_bytes.into()),
        short(sample.unsent_bytes.into()),
        short(sample.receive_queue_bytes.into()),
        sample.retransmitted_segments.to_string(),
        sample.timeouts.to_string(),
        (u64::from(sample.ecn_echo_segments) + u64::from(sample.ecn_mark_packets)).to_string(),
        sample.limit.to_string(),
    ]
}

pub fn bounds(sample: &Sample) -> String {
    match (sample.lower_segments, sample.upper_segments) {
        (Some(lower), Some(upper)) => format!("{lower}-{upper}"),
        _ => "-".to_owned(),
    }
}

fn end(end: SocketAddr) -> String {
    end.to_string()
}

/// With a heading; rows that are wider than the room take several lines.
pub fn fitted(rows: &[Row], room: Option<usize>) -> String {
    let headings = COLUMNS.map(|(heading, ..)| heading.to_owned());
    let all: Vec<_> = std::iter::once(&headings)
        .chain(rows)
        .map(|row| row.to_vec())
        .collect();
    let lines = columns::aligned(&all, |at| !COLUMNS[at].2, room);
    lines.join("\n")
}

/// With a heading, for a screen: columns are as wide as their content, and have a least width, so
/// that they stay where they are.
pub fn text(rows: &[Row]) -> String {
    let mut widths = COLUMNS.map(|(heading, width, _)| width.max(heading.len()));
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |cells: [&str; COLUMNS.len()]| {
        let mut line = String::new();
        for (at, cell) in cells.into_iter().enumerate() {
            let (width, is_right) = (widths[at], COLUMNS[at].2);
            line += &if is_right {
                format!("{cell:>width$}  ")
            } else {
                format!("{cell:<width$}  ")
            };
        }
        line.trim_end().to_owned() + "\n"
    };
    let headings = line(COLUMNS.map(|(heading, ..)| heading));
    let rows = rows
        .iter()
        .map(|row| line(row.each_ref().map(String::as_str)));
    std::iter::once(headings).chain(rows).collect()
}
