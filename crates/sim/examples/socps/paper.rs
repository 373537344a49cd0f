//! SoCPS's own card and figures.

use crate::{
    cell::{BAD, CBR, Cell, Contender, GOOD, Pattern, Signals},
    figures::{Mean, Runs, deviation_kbps, kbps, least_percent, lost_by_good_percent, total_kbps},
    parallel::in_parallel,
    table::{columns, heading, row},
};

/// SoCPS's, in all experiments.
const SECONDS: u64 = 300;
const STATIONS: usize = 8;

const CONTENDERS: [Contender; 7] = [
    Contender::Fifo,
    Contender::GoodBad(12),
    Contender::GoodBad(6),
    Contender::GoodBad(1),
    Contender::Pw,
    Contender::Airtime,
    Contender::Iwfq,
];
const NAMES: [&str; 7] = [
    "FIFO",
    "GB 12",
    "GB 6",
    "GB 1",
    "PW",
    "Airtime",
    "IWFQ-like",
];

fn cell(signals: Signals, pattern: Pattern, contender: Contender) -> Cell {
    Cell {
        medium: "wavelan",
        stations: STATIONS,
        signals,
        pattern,
        contender,
        reports_ms: None,
        seconds: SECONDS,
    }
}

/// The card from before the standard, which SoCPS may have had.
pub fn card_without_retries() {
    heading(
        "A card that repeats nothing",
        "`wavelan-classic`, kbit/s in all: 1.5 Mbit/s to each of 8 stations, the first at 3 dB. No \
         frame is repeated, so a bad\nstation costs its own share and no more.",
    );
    let cells = [Contender::Fifo, Contender::Pw].map(|contender| Cell {
        medium: "wavelan-classic",
        ..cell(BAD, CBR, contender)
    });
    let runs = in_parallel(&cells, Runs::of);
    let gains = runs[0].0.iter().zip(&runs[1].0);
    let gains = gains.map(|(fifo, pw)| (total_kbps(pw) / total_kbps(fifo) - 1.0) * 100.0);
    let gain = Mean::of(&gains.collect::<Vec<_>>());
    columns(&["Stations", "FIFO", "PW", "Gain, %"]);
    let totals = runs.iter().map(|runs| runs.mean(total_kbps).text(0));
    let cells: Vec<String> = totals.chain([gain.text(1)]).collect();
    row("8", &cells);
}

/// A line of a table: a figure of a cell under all contenders.
struct Line {
    name: &'static str,
    decimals: usize,
    figure: fn(&takt_sim::Outcome) -> f64,
}

const fn line(name: &'static str, decimals: usize, figure: fn(&takt_sim::Outcome) -> f64) -> Line {
    Line {
        name,
        decimals,
        figure,
    }
}

fn lines(cells: &[Cell], lines: &[Line]) {
    let runs = in_parallel(cells, Runs::of);
    for line in lines {
        let text = |runs: &Runs| runs.mean(line.figure).text(line.decimals);
        row(line.name, &runs.iter().map(text).collect::<Vec<_>>());
    }
}

fn under_all(signals: Signals, pattern: Pattern, figures: &[Line]) {
    let cells = CONTENDERS.map(|contender| cell(signals, pattern, contender));
    lines(&cells, figures);
}

fn tcp_kbps(outcome: &takt_sim::Outcome) -> f64 {
    kbps(outcome, |at| at >= STATIONS / 2)
}

fn voip_kbps(outcome: &takt_sim::Outcome) -> f64 {
    kbps(outcome, |at| at < STATIONS / 2)
}

/// Figures 11 to 18.
pub fn figures() {
    heading(
        "Figures 11 to 18",
        "`wavelan`, kbit/s, 300 s. All stations at 20 dB, or the first at 3. *Deviation* is of a \
         station's throughput over 3 s, in the\nmean over stations; *least* the worst station's \
         throughput against their mean. FIFO has 50 packets, the others 12 for each\nstation.",
    );
    let mut names = vec!["Figure"];
    names.extend(NAMES);
    columns(&names);
    under_all(
        GOOD,
        Pattern::Tcp,
        &[
            line("13: TCP, all good, in all", 0, total_kbps),
            line("11, 12: its deviation", 1, deviation_kbps),
            line("its least, %", 1, least_percent),
        ],
    );
    under_all(
        BAD,
        Pattern::Tcp,
        &[
            line("14: TCP, one bad, in all", 0, total_kbps),
            line("its bad station", 1, |it| kbps(it, |at| at == 0)),
        ],
    );
    under_all(
        GOOD,
        Pattern::Voip,
        &[
            line("15: VoIP, all good, each", 1, |it| {
                total_kbps(it) / STATIONS as f64
            }),
            line("its deviation", 2, deviation_kbps),
        ],
    );
    under_all(
        BAD,
        Pattern::Voip,
        &[
            line("16: VoIP, one bad, in all", 0, total_kbps),
            line("lost by the good, %", 2, lost_by_good_percent),
            line("its bad station", 1, |it| kbps(it, |at| at == 0)),
        ],
    );
    by_hosts();
    under_all(
        BAD,
        Pattern::Mixed,
        &[
            line("18: TCP beside VoIP with one bad", 0, tcp_kbps),
            line("that VoIP", 0, voip_kbps),
        ],
    );
}

/// Figure 17.
fn by_hosts() {
    const HOSTS: [&str; STATIONS] = [
        "17: CBR, one bad of 1",
        "one bad of 2",
        "of 3",
        "of 4",
        "of 5",
        "of 6",
        "of 7",
        "of 8",
    ];
    for (at, name) in HOSTS.into_iter().enumerate() {
        let cells = CONTENDERS.map(|contender| Cell {
            stations: at + 1,
            ..cell(BAD, CBR, contender)
        });
        lines(&cells, &[line(name, 0, total_kbps)]);
    }
}

/// Figures 19 to 21.
pub fn walks() {
    heading(
        "Figures 19 to 21",
        "`wavelan`, TCP to 8 stations of which the first walks from 0 to 20 dB and back in two \
         minutes, kbit/s. Reports are frames\non the air here, every 200 or every 20 ms.",
    );
    columns(&[
        "Contender",
        "Reports, ms",
        "In all",
        "Deviation",
        "The walker",
    ]);
    let weighed = &CONTENDERS[1..5];
    let mut cells = vec![cell(Signals::Walks, Pattern::Tcp, Contender::Fifo)];
    let mut names = vec![("FIFO", "none")];
    for (ms, text) in [(200, "200"), (20, "20")] {
        for (contender, name) in weighed.iter().zip(&NAMES[1..5]) {
            names.push((name, text));
            cells.push(Cell {
                reports_ms: Some(ms),
                ..cell(Signals::Walks, Pattern::Tcp, *contender)
            });
        }
    }
    for (name, contender) in [
        ("PW, strengths known", Contender::Pw),
        ("Airtime", Contender::Airtime),
        ("IWFQ-like", Contender::Iwfq),
    ] {
        names.push((name, "none"));
        cells.push(cell(Signals::Walks, Pattern::Tcp, contender));
    }
    for ((name, reports), runs) in names.into_iter().zip(in_parallel(&cells, Runs::of)) {
        let walker = runs.mean(|it| kbps(it, |at| at == 0)).text(1);
        let (total, deviation) = (
            runs.mean(total_kbps).text(0),
            runs.mean(deviation_kbps).text(1),
        );
        row(name, &[reports.to_owned(), total, deviation, walker]);
    }
}

/// taktd is killed in the middle of a run.
pub fn dead_source() {
    heading(
        "A source that dies in the middle",
        "`wavelan`, in all, kbit/s, 300 s of which the source lives 150; *part* is of what the \
         same stations have without `[radio]`'s\nweights, with the same seed.",
    );
    columns(&[
        "Traffic",
        "Weights of 1",
        "PW, dies",
        "Part, %",
        "PW, lives",
    ]);
    for (signals, of) in [(GOOD, "all good"), (BAD, "one bad")] {
        for (pattern, what) in [
            (Pattern::Tcp, "TCP"),
            (Pattern::Voip, "VoIP"),
            (CBR, "CBR"),
            (Pattern::Mixed, "VoIP and TCP"),
        ] {
            let contenders = [Contender::Unweighed, Contender::PwDies, Contender::Pw];
            let cells = contenders.map(|contender| cell(signals, pattern, contender));
            let runs = in_parallel(&cells, Runs::of);
            let parts = runs[0].0.iter().zip(&runs[1].0);
            let parts = parts.map(|(without, with)| total_kbps(with) / total_kbps(without) * 100.0);
            let part = Mean::of(&parts.collect::<Vec<_>>()).text(1);
            let total = |at: usize| runs[at].mean(total_kbps).text(0);
            row(
                &format!("{what}, {of}"),
                &[total(0), total(1), part, total(2)],
            );
        }
    }
}
