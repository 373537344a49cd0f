//! Other cards, by kind of traffic.

use crate::{
    cell::{Cell, Contender, Pattern, Signals},
    figures::{Runs, kbps, total_kbps},
    parallel::in_parallel,
    table::{columns, heading, row},
};

/// With what each of eight stations is sent of UDP: twice what the air carries, or more.
const MEDIA: [(&str, u32); 5] = [
    ("wavelan", 1500),
    ("802.11g", 8_000),
    ("802.11n", 8_000),
    ("today", 16_000),
    ("today-ac", 50_000),
];
const STRENGTHS_DB: [f64; 5] = [3.0, 6.0, 10.0, 12.0, 20.0];
const CONTENDERS: [Contender; 3] = [Contender::Fifo, Contender::Airtime, Contender::Pw];
const SECONDS: u64 = 30;

/// A total, and the weak station's, in Mbit/s.
fn text(runs: &Runs) -> String {
    let total = runs.mean(|it| total_kbps(it) / 1e3).text(2);
    let first = runs.mean(|it| kbps(it, |at| at == 0) / 1e3);
    format!("{total} ({:.2})", first.mean)
}

pub fn media() {
    heading(
        "By kind of traffic, on other cards",
        "Eight stations, the first of which has this strength and the others 20 dB; 30 s. Mbit/s in \
         all, and of the first. FIFO has\n1000 packets, under `wavelan` 50.",
    );
    columns(&[
        "Card, strength",
        "UDP: FIFO",
        "airtime",
        "PW",
        "TCP: FIFO",
        "airtime",
        "PW",
    ]);
    for (medium, kbit) in MEDIA {
        for db in STRENGTHS_DB {
            let patterns = [Pattern::Udp { kbit }, Pattern::Tcp];
            let cells = patterns.iter().flat_map(|pattern| {
                CONTENDERS.map(|contender| Cell {
                    medium,
                    stations: 8,
                    signals: Signals::First(db),
                    pattern: *pattern,
                    contender,
                    reports_ms: None,
                    seconds: SECONDS,
                })
            });
            let runs = in_parallel(&cells.collect::<Vec<_>>(), Runs::of);
            let cells: Vec<String> = runs.iter().map(text).collect();
            row(&format!("`{medium}`, {db} dB"), &cells);
        }
    }
}
