//! A day of a home gateway: the example's policy and traffic, for 24 hours.

use takt_report::Row;

use super::setting::{self, NS_PER_S, noticed, qdisc, row, setup};

const POLICY: &str = include_str!("../../../../examples/home-gateway.toml");
const TRAFFIC: &str = include_str!("../../../../examples/traffic/home-gateway.toml");
const DAY_S: u64 = 24 * 60 * 60;

pub fn run() -> Vec<Row> {
    let setup = setup(POLICY, TRAFFIC);
    let schedulers = ["takt", "takt-tree", "cake", "fifo"];
    let rows = schedulers.into_iter().flat_map(|name| {
        let outcome = setting::run(&setup, &mut *qdisc(name, &setup), DAY_S * NS_PER_S);
        let sources = outcome.sources.iter();
        let rows =
            sources.map(|source| row(name, &format!("day/{}", source.name), noticed(source)));
        rows.collect::<Vec<_>>()
    });
    rows.collect()
}
