//! The tables of docs/comparison.md.

use takt_report::number;

use super::table::{Column, Figure, Line, Table};

pub fn all() -> Vec<Table> {
    vec![
        rates(),
        shares(),
        gaps(),
        background(),
        beats(),
        storms(),
        radio(),
        crowd(),
        cost(),
        caches(),
        instructions(),
    ]
}

pub const fn column(heading: &'static str, scheduler: &'static str) -> Column {
    Column {
        heading,
        scheduler,
        part: "",
    }
}

fn line(label: impl Into<String>, case: impl Into<String>, figures: &[Figure]) -> Line {
    Line {
        label: label.into(),
        cases: vec![case.into()],
        figures: figures.to_vec(),
    }
}

pub const fn figure(metric: &'static str, written: fn(f64) -> String) -> Figure {
    Figure { metric, written }
}

// Formats of figures.

pub fn whole(value: f64) -> String {
    number(value, 0)
}

pub fn tenths(value: f64) -> String {
    number(value, 1)
}

pub fn hundredths(value: f64) -> String {
    number(value, 2)
}

pub fn percent(value: f64) -> String {
    number(value, 1) + " %"
}

pub fn percent_hundredths(value: f64) -> String {
    number(value, 2) + " %"
}

fn percent_fine(value: f64) -> String {
    number(value, 4) + " %"
}

/// For errors that are either small or very large.
pub fn percent_of_error(value: f64) -> String {
    number(value, if value < 1.0 { 3 } else { 0 }) + " %"
}

pub fn us(ns: f64) -> String {
    number(ns / 1e3, 1)
}

fn us_fine(ns: f64) -> String {
    number(ns / 1e3, if ns < 1e3 { 2 } else { 1 })
}

pub fn ms(ns: f64) -> String {
    number(ns / 1e6, 0)
}

pub fn seconds(ns: f64) -> String {
    number(ns / 1e9, 1)
}

fn ms_or_nothing(ns: f64) -> String {
    match ns {
        0.0 => "0".to_owned(),
        ns => number(ns / 1e6, 1) + " ms",
    }
}

pub fn kbit_per_s(bps: f64) -> String {
    number(bps / 1e3, 0)
}

fn mbit_per_s(bps: f64) -> String {
    number(bps / 1e6, 1)
}

fn thousandths(value: f64) -> String {
    number(value, 3)
}

fn rates() -> Table {
    const CASES: [(&str, &str); 8] = [
        ("1 Mbit/s", "single-1mbit"),
        ("10 Mbit/s", "single-10mbit"),
        ("100 Mbit/s", "single-100mbit"),
        ("300 Mbit/s", "single-300mbit"),
        ("500 Mbit/s", "single-500mbit"),
        ("1 Gbit/s, 8,500-byte frames", "single-1gbit-jumbo"),
        ("40, 40, 40, 20, 20 Mbit/s at once", "five"),
        ("200 × 0.5 Mbit/s at once", "many-200x0.5mbit"),
    ];
    let figures = [
        figure("rate_error_ppm", tenths),
        figure("spacing_error_p99_ns", us),
    ];
    Table {
        name: "rates",
        experiment: "pacing",
        columns: &const {
            [
                column("takt", "takt"),
                column("fq", "fq"),
                column("HTB", "htb"),
                column("TBF", "tbf"),
                column("CAKE", "cake"),
            ]
        },
        lines: CASES
            .map(|(label, case)| line(label, case, &figures))
            .into(),
    }
}

fn shares() -> Table {
    let share = [figure("share_error_max_percent", percent_of_error)];
    let flow = |written| [figure("flow_error_max_percent", written)];
    Table {
        name: "shares",
        experiment: "pacing",
        columns: &const {
            [
                column("takt", "takt"),
                column("HTB", "htb"),
                column("CAKE", "cake"),
                column("fq", "fq"),
            ]
        },
        lines: vec![
            line(
                "40, 40, 40, 20, 20 Mbit/s on 100: worst share of any second",
                "sharing",
                &share,
            ),
            line(
                "… longest overshoot when others stop",
                "sharing",
                &[figure("overshoot_ns", ms_or_nothing)],
            ),
            line(
                "… and with one class of a better priority",
                "sharing-priority",
                &share,
            ),
            line(
                "a lone class reaches its `ceil`",
                "borrowing",
                &[figure("ceil_error_max_percent", percent_fine)],
            ),
            line(
                "all active, each its `rate`",
                "borrowing",
                &[figure("guarantee_error_max_percent", percent_fine)],
            ),
            line(
                "spare capacity by weight",
                "borrowing",
                &[figure("lent_error_max_percent", percent_fine)],
            ),
            line(
                "two tenants of two classes, worst of six phases",
                "borrowing-tenants",
                &[figure("rate_error_percent", percent_fine)],
            ),
            line(
                "2,000 flows of 100 kbit/s, the worst",
                "flows-2000x100kbit",
                &flow(percent_fine),
            ),
            line(
                "10,000 flows of 20 kbit/s, the worst",
                "flows-10000x20kbit",
                &flow(percent_fine),
            ),
            line(
                "iperf3, 64 streams of 1 Mbit/s, the worst",
                "client-iperf3-64x1mbit",
                &flow(percent_hundredths),
            ),
            line(
                "200 HTTP downloads of 400 kbit/s, the worst",
                "client-http-200x400kbit",
                &flow(percent_hundredths),
            ),
        ],
    }
}

fn gaps() -> Table {
    const CASES: [(&str, &str); 4] = [
        ("one class, 10 % of the link", "gap-10"),
        ("50 %", "gap-50"),
        ("90 %", "gap-90"),
        ("two classes", "gap-two"),
    ];
    let figures = [
        figure("spacing_error_max_bytes", whole),
        figure("spacing_error_p99_bytes", whole),
    ];
    Table {
        name: "gaps",
        experiment: "pacing",
        columns: &const {
            [
                column("takt, gap frames", "takt"),
                Column {
                    heading: "takt, timer",
                    scheduler: "takt",
                    part: "/timer",
                },
                column("HTB", "htb"),
            ]
        },
        lines: CASES
            .map(|(label, case)| line(label, case, &figures))
            .into(),
    }
}

fn background() -> Table {
    const RATES: [(&str, &str); 2] = [("384 kbit/s", "384kbit"), ("5.7 Mbit/s", "5.7mbit")];
    const SIZES_KB: [u32; 5] = [10, 50, 100, 200, 300];
    let mut lines = Vec::new();
    for (rate, case) in RATES {
        lines.extend(SIZES_KB.map(|kb| {
            let figures = [figure("over_alone_percent", percent)];
            line(
                format!("{rate}, {kb} KB"),
                format!("{case}-{kb}kb"),
                &figures,
            )
        }));
    }
    for (rate, case) in RATES {
        lines.push(Line {
            label: format!("… extra, in full frames, at most ({rate})"),
            cases: SIZES_KB.map(|kb| format!("{case}-{kb}kb")).into(),
            figures: vec![figure("over_alone_frames", tenths)],
        });
    }
    for (rate, case) in RATES {
        let (beside, alone) = (format!("{case}-100kb"), format!("{case}-background-alone"));
        lines.extend([
            line(
                format!("instructions per KB, 100 KB at {rate}"),
                &beside,
                &[figure("instructions_per_kb", whole)],
            ),
            line(
                "task switches per KB, likewise",
                &beside,
                &[figure("switches_per_kb", hundredths)],
            ),
            line(
                format!("background alone at {rate}: of the link"),
                &alone,
                &[figure("link_share_percent", percent_hundredths)],
            ),
            line(
                "… segments sent again",
                &alone,
                &[figure("segments_retransmitted", whole)],
            ),
        ]);
    }
    Table {
        name: "background",
        experiment: "background",
        columns: &const {
            [
                column("takt", "takt"),
                column("by tasks", "prio-tasks"),
                column("prio, 1,600", "prio-1600"),
                column("prio, 6,400", "prio-6400"),
                column("CAKE", "cake"),
                column("fq", "fq"),
                column("TCP-LP", "tcp-lp"),
                column("FIFO", "fifo"),
            ]
        },
        lines,
    }
}

/// Starts after their time, of the worst thread: the 99th percentile and the largest.
fn starts(
    name: &'static str,
    columns: &'static [Column],
    cases: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> Table {
    let figures = [
        figure("jitter_worst_thread_p99_ns", us_fine),
        figure("jitter_worst_thread_max_ns", us_fine),
    ];
    let lines = cases.into_iter();
    Table {
        name,
        experiment: "beats",
        columns,
        lines: lines
            .map(|(label, case)| line(label, case, &figures))
            .collect(),
    }
}

fn beats() -> Table {
    const COLUMNS: [Column; 5] = [
        column("takt", "takt"),
        column("takt, lead", "takt-lead"),
        column("SCHED_FIFO", "fifo"),
        column("SCHED_DEADLINE", "deadline"),
        column("default class", "default"),
    ];
    let cases = [
        ("T = 40 ms, no packets", "40ms-0kBps"),
        ("300 KB/s each way", "40ms-300kBps"),
        ("600 KB/s each way", "40ms-600kBps"),
        ("as much as the processor can", "40ms-saturated"),
        ("T = 1 ms, no packets", "1ms-0kBps"),
        ("600 KB/s each way", "1ms-600kBps"),
        ("as much as the processor can", "1ms-saturated"),
    ];
    starts("beats", &COLUMNS, cases)
}

/// Packets that come by interrupts, from outside.
fn storms() -> Table {
    const COLUMNS: [Column; 4] = [
        column("takt", "takt"),
        column("SCHED_FIFO", "fifo"),
        column("SCHED_DEADLINE", "deadline"),
        column("default class", "default"),
    ];
    let cases = [
        ("no packets", "storm-0"),
        ("300 KB/s each way", "storm-300"),
        ("600 KB/s each way", "storm-600"),
        ("as much as the processor can", "storm-saturated"),
        ("no packets, threaded NAPI", "storm-0-threaded"),
        ("300 KB/s each way, threaded NAPI", "storm-300-threaded"),
        ("600 KB/s each way, threaded NAPI", "storm-600-threaded"),
        (
            "as much as the processor can, threaded NAPI",
            "storm-saturated-threaded",
        ),
    ];
    starts("storms", &COLUMNS, cases)
}

fn radio() -> Table {
    let total = [figure("total_bps", kbit_per_s)];
    let lost = [figure("good_loss_percent", percent)];
    Table {
        name: "radio",
        experiment: "radio",
        columns: &const {
            [
                column("takt, PW", "takt-pw"),
                column("takt, GB 12 dB", "takt-gb12"),
                column("takt, GB 1 dB", "takt-gb1"),
                column("FIFO", "pfifo"),
                column("fq_codel", "fq_codel"),
                column("CAKE", "cake"),
                column("airtime-fair", "airtime"),
            ]
        },
        lines: vec![
            line("CBR, total, kbit/s", "bad1-cbr", &total),
            line(
                "VoIP: packets that those who hear well lose",
                "bad1-voip",
                &lost,
            ),
            line(
                "… 99th percentile of their delay, ms",
                "bad1-voip",
                &[figure("good_delay_p99_ns", ms)],
            ),
            line(
                "TCP for four, VoIP for four: TCP total, kbit/s",
                "bad1-mixed",
                &[figure("tcp_bps", kbit_per_s)],
            ),
            line(
                "… VoIP packets that those who hear well lose",
                "bad1-mixed",
                &lost,
            ),
            line("TCP for all, total, kbit/s", "bad1-tcp", &total),
            line("CBR, two stations at 3 dB", "bad2-cbr", &total),
            line("… four", "bad4-cbr", &total),
            line("… six", "bad6-cbr", &total),
            line("all good: TCP, total", "good-tcp", &total),
            line(
                "a card that repeats nothing, CBR",
                "bad1-cbr-wavelan-classic",
                &total,
            ),
        ],
    }
}

fn crowd() -> Table {
    let total = [figure("total_bps", mbit_per_s)];
    let both = [figure("total_bps", mbit_per_s), figure("rtt_p99_ns", ms)];
    Table {
        name: "crowd",
        experiment: "crowd",
        columns: &const {
            [
                column("takt", "takt"),
                column("takt, no neighbours", "takt-alone"),
                column("CUBIC", "cubic"),
                column("CUBIC, fq_codel at the access point", "fq_codel"),
                column("BBR", "bbr"),
                column("Vegas", "vegas"),
            ]
        },
        lines: vec![
            line("total, Mbit/s", "upload-10-16ms", &total),
            line(
                "99th percentile of round trips, ms",
                "upload-10-16ms",
                &[figure("rtt_p99_ns", ms)],
            ),
            line(
                "Jain's index",
                "upload-10-16ms",
                &[figure("jain_index", thousandths)],
            ),
            line("one terminal: total / round trips", "upload-1-16ms", &both),
            line("two", "upload-2-16ms", &both),
            line("five", "upload-5-16ms", &both),
            line("ten, 0 ms away", "upload-10-0ms", &both),
            line("ten, 64 ms away", "upload-10-64ms", &both),
            line("ten, 256 ms away, as they start", "upload-10-256ms", &both),
            line("one, 1 % random loss", "upload-1-16ms-loss-1%", &both),
            line("two, 1 % random loss", "upload-2-16ms-loss-1%", &both),
            line("ten, 1 % random loss", "upload-10-16ms-loss-1%", &both),
        ],
    }
}

const COUNTED: [Column; 5] = [
    column("takt", "takt"),
    column("fq", "fq"),
    column("HTB, told the class", "htb"),
    column("HTB, finding it by port", "htb+u32"),
    column("CAKE", "cake"),
];

fn instructions() -> Table {
    let cases = [
        ("1 class, at once", "1-class"),
        ("1,000 classes, at once", "1000-classes"),
        ("1 class, waiting", "1-class-waiting"),
        ("2,000 classes, waiting", "2000-classes-waiting"),
    ];
    let parts = [
        ("its own", "loaded_instructions"),
        ("the kernel's", "kernel_instructions"),
    ];
    let lines = cases.into_iter().flat_map(|(label, case)| {
        parts.map(|(part, metric)| line(format!("{label}: {part}"), case, &[figure(metric, whole)]))
    });
    Table {
        name: "instructions",
        experiment: "caches",
        columns: &COUNTED,
        lines: lines.collect(),
    }
}

fn caches() -> Table {
    const FIGURES: [(&str, &str); 6] = [
        ("server, L1I", "server_l1i_misses"),
        ("server, L1D", "server_l1d_misses"),
        ("server, L2", "server_l2_misses"),
        ("gateway, L1I", "gateway_l1i_misses"),
        ("gateway, L1D", "gateway_l1d_misses"),
        ("gateway, L2", "gateway_l2_misses"),
    ];
    let cases = [("1 class", "1-class"), ("1,000 classes", "1000-classes")];
    let lines = cases.into_iter().flat_map(|(label, case)| {
        FIGURES.map(|(counted, metric)| {
            let label = format!("{label}: {counted}");
            line(label, case, &[figure(metric, tenths)])
        })
    });
    Table {
        name: "caches",
        experiment: "caches",
        columns: &COUNTED,
        lines: lines.collect(),
    }
}

fn cost() -> Table {
    const CASES: [(&str, &str); 9] = [
        ("1 class, at once", "1-class"),
        ("100 classes, at once", "100-classes"),
        ("2,000 classes, at once", "2000-classes"),
        ("10 flows, at once", "10-flows"),
        ("2,000 flows, at once", "2000-flows"),
        ("10,000 flows, at once", "10000-flows"),
        ("1 class, waiting", "1-class-waiting"),
        ("2,000 classes, waiting", "2000-classes-waiting"),
        ("2,000 flows, waiting", "2000-flows-waiting"),
    ];
    let figures = [figure("cost_ns_per_packet", whole)];
    Table {
        name: "cost",
        experiment: "cost",
        columns: &const {
            [
                column("takt", "takt"),
                column("fq", "fq"),
                column("HTB, told the class", "htb"),
                column("HTB, finding it by port", "htb+u32"),
                column("TBF", "tbf"),
                column("CAKE", "cake"),
                column("pfifo", "pfifo"),
            ]
        },
        lines: CASES
            .map(|(label, case)| line(label, case, &figures))
            .into(),
    }
}
