//! TCP is forwarded over a link that the policy gives nothing but a rate. A bystander on the same
//! link sends a datagram now and then and waits for the answer. The peers are set up as for a
//! home gateway: HTB with fq_codel, and CAKE.

mod case;
mod contender;
mod network;
mod prober;
mod transfer;

use std::time::Duration;

use serde_json::json;
use takt_report::Row;

use self::case::Case;
use self::contender::Contender;
use self::network::{Network, SENDER};
use self::prober::Echo;
use self::transfer::Transfer;
use crate::experiment::bench::Bench;
use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::metrics::metrics;

/// Every flow has left slow start, and CoDel has found its rate of drops.
const WARM_UP: Duration = Duration::from_secs(5);

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for case in case::all(bench.short) {
        for contender in Contender::ALL {
            eprintln!("bystanders: {}, {}", contender.name(), case.name());
            match measure(bench, &case, contender) {
                Ok(row) => rows.push(row),
                Err(missing @ ExperimentError::Unsupported { .. }) => {
                    eprintln!("{} is left out: {missing}", contender.name());
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(rows)
}

fn measure(bench: &Bench, case: &Case, contender: Contender) -> Result<Row> {
    let network = Network::build(case)?;
    let mut root = network.shaped(bench.takt());
    root.attach(contender.name(), &contender.qdisc(network.device(), case))?;
    let echo = Echo::start(network::RECEIVER)?;
    let transfer = Transfer::start(case.flows, WARM_UP, case.duration)?;
    std::thread::sleep(WARM_UP);
    let pings = SENDER.run(|| prober::probe(echo.address(), case.duration))?;
    let figures = transfer.finish()?;
    root.detach()?;
    Ok(Row {
        scheduler: contender.name().to_owned(),
        case: case.name(),
        metrics: metrics([
            ("ping_p50_ns", json!(pings.percentile_ns(50))),
            ("ping_p99_ns", json!(pings.percentile_ns(99))),
            ("ping_max_ns", json!(pings.percentile_ns(100))),
            ("pings_count", json!(pings.answered())),
            ("pings_lost_count", json!(pings.lost)),
            ("rtt_mean_ns", json!(figures.rtt_mean_ns)),
            ("goodput_bps", json!(figures.goodput_bps)),
            ("packets_retransmitted", json!(figures.retransmits)),
            ("link_bps", json!(case.rate_bps)),
            ("path_rtt_ns", json!(case.delay_ms * 1_000_000)),
        ]),
    })
}
