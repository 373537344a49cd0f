//! The tables of docs/sim.md about what is only simulated.

use super::{
    table::{Column, Figure, Line, Table},
    tables::{column, figure, percent, tenths, whole},
};

pub const EXPERIMENT: &str = "simulated";

pub fn all() -> Vec<Table> {
    vec![figure_2(), incast(), stations(), day()]
}

/// Parts per million, or percent of large ones.
fn error(ppm: f64) -> String {
    match ppm {
        ppm if ppm < 1.0 => format!("{ppm:.3} ppm"),
        ppm if ppm < 10_000.0 => format!("{ppm:.0} ppm"),
        ppm => percent(ppm / 1e4),
    }
}

fn mbit(bps: f64) -> String {
    tenths(bps / 1e6)
}

fn kbit(bps: f64) -> String {
    whole(bps / 1e3)
}

fn ms(ns: f64) -> String {
    format!("{:.2} ms", ns / 1e6)
}

fn few_ms(ns: f64) -> String {
    match ns / 1e6 {
        ms if ms < 10.0 => tenths(ms) + " ms",
        ms => whole(ms) + " ms",
    }
}

fn lost(percent: f64) -> String {
    format!("{percent:.2} %")
}

/// Of all rates the worst.
fn figure_2() -> Table {
    let steps = (1..=100u64).map(|step| match step % 10 {
        0 => format!("{}gbit", step / 10),
        _ if step < 10 => format!("{}mbit", step * 100),
        tenth => format!("{}.{tenth}gbit", step / 10),
    });
    let more = [40, 100, 400].map(|gbit| format!("{gbit}gbit"));
    let cases: Vec<String> = steps
        .chain(more)
        .map(|rate| format!("rate/{rate}"))
        .collect();
    let line = |label: &str, metric| Line {
        label: label.to_owned(),
        cases: cases.clone(),
        figures: vec![figure(metric, error)],
    };
    Table {
        name: "figure-2",
        experiment: EXPERIMENT,
        columns: &const {
            [
                column("takt, by timer", "takt"),
                column("takt, by gap frames", "takt-gap"),
                column("tree (HTB)", "takt-tree"),
                column("HTB, bursts of 1 ms", "htb"),
                column("PSPacer", "pspacer"),
            ]
        },
        lines: vec![
            line("one class, timers late by up to 1 us", "error_1us_ppm"),
            line("… 50 us", "error_50us_ppm"),
            line("ten classes, 1 us", "many_error_1us_ppm"),
            line("… 50 us", "many_error_50us_ppm"),
        ],
    }
}

const OF_INCAST: [Column; 6] = [
    column("CUBIC", "none"),
    column("DCTCP", "dctcp"),
    column("rates", "takt-flow"),
    column("rates, asked in turn", "takt-flow-asked"),
    column("clocks, asked in turn", "takt-asked"),
    column("gaps, asked in turn", "takt-gap-asked"),
];

/// What of the port carries answers, and how long they take at p99.
fn incast() -> Table {
    let short = [10, 64, 256].map(|kb| (1, 32, kb));
    let ports = short.into_iter().chain([(1, 128, 64)]);
    let at_1gbit = ports.flat_map(|port| [4, 16, 64, 128].map(|servers| (port, servers)));
    let at_10gbit = [64, 256].map(|kb| ((10, 32, kb), 64));
    let lines = at_1gbit
        .chain(at_10gbit)
        .map(|((gbit, packets, kb), servers)| Line {
            label: format!("{gbit} Gbit/s, {packets} packets, {kb} KB, {servers} servers"),
            cases: vec![format!("rounds/{gbit}gbit/{packets}/{kb}kb/{servers}")],
            figures: vec![
                figure("port_percent", percent),
                figure("answer_p99_ns", few_ms),
            ],
        });
    Table {
        name: "incast",
        experiment: EXPERIMENT,
        columns: &OF_INCAST,
        lines: lines.collect(),
    }
}

const OF_STATIONS: [Column; 5] = [
    column("takt with `[radio]`", "takt"),
    column("without", "takt-fifo"),
    column("mac80211's queues", "airtime"),
    column("fq_codel", "fq_codel"),
    column("fifo", "fifo"),
];

fn stations() -> Table {
    let counts = [2, 4, 8, 16, 32, 64];
    let media = [
        ("802.11g/3db", "802.11g"),
        ("wavelan/3db", "WaveLAN"),
        ("today-ac/3db", "802.11ac"),
        ("today-ac/25db", "802.11ac, all good"),
    ];
    let lines = media.into_iter().flat_map(|(medium, name)| {
        counts.map(|count| Line {
            label: format!("{name}, {count} stations"),
            cases: vec![format!("radio/{medium}/{count}")],
            figures: vec![figure("total_bps", mbit), figure("troubled_bps", kbit)],
        })
    });
    Table {
        name: "stations",
        experiment: EXPERIMENT,
        columns: &OF_STATIONS,
        lines: lines.collect(),
    }
}

fn day() -> Table {
    let sources = [
        "calls", "game", "names", "cameras", "pages", "uploads", "sync",
    ];
    let figures: [Figure; 2] = [figure("delay_p99_ns", ms), figure("lost_percent", lost)];
    let lines = sources.map(|source| Line {
        label: source.to_owned(),
        cases: vec![format!("day/{source}")],
        figures: figures.to_vec(),
    });
    Table {
        name: "day",
        experiment: EXPERIMENT,
        columns: &const {
            [
                column("takt", "takt"),
                column("tree (HTB)", "takt-tree"),
                column("CAKE", "cake"),
                column("fifo", "fifo"),
            ]
        },
        lines: lines.into(),
    }
}
