//! The tables of docs/sim.md: how far the simulator is from the laboratory's kernel.

use super::{
    table::{Column, Line, Table},
    tables::{column, figure, percent, percent_hundredths},
};

/// The sources of each case.
const CASES: [(&str, &[&str]); 7] = [
    ("paced", &["poisson", "bursts"]),
    ("shares", &["a", "b", "c", "d", "e"]),
    ("priorities", &["calls", "web", "bulk"]),
    ("flows", &["poisson", "sparse", "bursts"]),
    ("sockets", &["poisson"]),
    ("upload", &["connections"]),
    ("queue", &["connections", "probe"]),
];

pub fn all() -> Vec<Table> {
    vec![
        table(
            "backends",
            &const {
                [
                    column("takt", "takt"),
                    column("tree", "takt-tree"),
                    column("departure", "takt-departure"),
                    column("flow", "takt-flow"),
                ]
            },
            &["paced", "shares", "priorities", "flows", "upload", "queue"],
        ),
        table(
            "peers",
            &const {
                [
                    column("TBF", "tbf"),
                    column("fq below TBF", "tbf+fq"),
                    column("fq_codel below TBF", "tbf+fq_codel"),
                    column("CAKE", "cake"),
                    column("fq, rates of sockets", "fq"),
                ]
            },
            &["flows", "sockets", "queue"],
        ),
    ]
}

fn table(name: &'static str, columns: &'static [Column], cases: &[&str]) -> Table {
    let figures = [
        figure("rate_difference_percent", percent_hundredths),
        figure("delay_p50_difference_percent", percent),
        figure("delay_p99_difference_percent", percent),
    ];
    let line = |(case, sources): &(&str, &[&str])| Line {
        label: (*case).to_owned(),
        cases: sources
            .iter()
            .map(|source| format!("{case}/{source}"))
            .collect(),
        figures: figures.to_vec(),
    };
    let shown = CASES.iter().filter(|(case, _)| cases.contains(case));
    Table {
        name,
        experiment: "sim",
        columns,
        lines: shown.map(line).collect(),
    }
}
