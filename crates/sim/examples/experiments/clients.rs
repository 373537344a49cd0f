//! A server of many: 2,000 connections of as many clients, 10,000 flows with clocks of their own,
//! and 100,000 that take turns.

use serde_json::json;
use takt_report::Row;

use super::parallel::in_parallel;
use super::setting::{self, NS_PER_S, jain_index, noticed, qdisc, row, setup};

const CLIENTS: u32 = 2_000;
const SCHEDULERS: [&str; 5] = ["takt", "fq", "fq_codel", "cake", "fifo"];
/// As many as Takt has clocks for, with some to spare, and what each sends.
const CLOCKS: (u32, &str) = (10_000, "8mbit");
const TURNS: (u32, &str) = (100_000, "800kbit");

pub fn run() -> Vec<Row> {
    let class = "per_flow = true\nrate = \"9mbit\"";
    let clients = in_parallel(&SCHEDULERS, |name| clients(name));
    let clocks = in_parallel(&SCHEDULERS, |name| flows(name, CLOCKS, class));
    let turns = in_parallel(&SCHEDULERS, |name| flows(name, TURNS, "aqm = \"fq_codel\""));
    clients.into_iter().chain(clocks).chain(turns).collect()
}

/// Downloads from 2,000 sockets, each with a class's clock of 4 Mbit/s under Takt, on 10 Gbit/s.
fn clients(name: &str) -> Row {
    let policy = "[link.eth0]\nrate = \"10gbit\"\noverhead = 24\n\
        [[link.eth0.class]]\nname = \"downloads\"\nper_flow = true\nrate = \"4mbit\"\n\
        match = { proto = \"tcp\" }\n";
    let mut traffic = "[host]\ntimer_late = [\"0ns\", \"50us\"]\n\
        [measure]\nafter = \"2s\"\n"
        .to_owned();
    for client in 0..CLIENTS {
        // From 10 to 100 ms away.
        let rtt_ms = 10 + client * 90 / CLIENTS;
        traffic += &format!(
            "[[source]]\nname = \"c{client}\"\nkind = \"tcp\"\nrtt = \"{rtt_ms}ms\"\n\
             headers = {{ dst = \"10.0.{}.{}\" }}\n",
            client / 250,
            1 + client % 250
        );
    }
    let setup = setup(policy, &traffic);
    let outcome = setting::run(&setup, &mut *qdisc(name, &setup), 6 * NS_PER_S);
    let rates = outcome.sources.iter().map(|source| source.delivered_bps);
    let mut row = row(
        name,
        "clients-2000",
        [
            ("jain_index", json!(jain_index(rates.clone()))),
            (
                "least_bps",
                json!(rates.clone().fold(f64::INFINITY, f64::min)),
            ),
            ("most_bps", json!(rates.fold(0.0, f64::max))),
        ],
    );
    let all = &outcome.classes[0];
    let of_all = noticed(all).map(|(name, value)| (name.to_owned(), value));
    row.metrics.extend(of_all);
    row
}

/// Flows that have 80 of 100 Gbit/s together.
fn flows(name: &str, (flows, rate): (u32, &str), class: &str) -> Row {
    let policy = format!(
        "[link.eth0]\nrate = \"100gbit\"\noverhead = 24\n\
         [[link.eth0.class]]\nname = \"flows\"\n{class}\nmatch = {{ proto = \"udp\" }}\n"
    );
    let traffic = format!(
        "[host]\ntimer_late = [\"0ns\", \"50us\"]\n[measure]\nafter = \"100ms\"\n\
         [[source]]\nname = \"all\"\nkind = \"cbr\"\nflows = {flows}\nrate = \"{rate}\"\n\
         headers = {{ dst = \"10.0.0.0/8\" }}\n"
    );
    let setup = setup(&policy, &traffic);
    let outcome = setting::run(&setup, &mut *qdisc(name, &setup), NS_PER_S / 2);
    row(
        name,
        &format!("flows-{flows}"),
        noticed(&outcome.sources[0]),
    )
}
