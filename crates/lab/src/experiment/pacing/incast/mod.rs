//! Many servers answer one client at once, over one port of a switch with a short buffer, with the
//! kernel's TCP: without pacing, with rates, and with DCTCP.
//!
//! A client asks all servers, and asks again when it has all answers (A. Phanishayee et al.,
//! Measurement and Analysis of TCP Throughput Collapse in Cluster-based Storage Systems, FAST '08).
//! What the answers find full is lost, and a client waits for the last one.
//!
//! [`network`] has the hosts and the switch, [`contender`] how they send, [`rounds`] is the loop
//! around them, and [`case`](self::case) what is asked for. The simulator has the same at a port of
//! 1 Gbit/s. Here it has 100 Mbit/s, which the emulated processor carries, and round trips take ten
//! times as long; only the kernel's shortest timeout is 200 ms in both.

mod case;
mod contender;
mod network;
mod rounds;

use std::time::Duration;

use serde_json::json;
use takt_report::{Row, nearest_rank};

use self::case::{Case, PORT_BPS};
use self::contender::Contender;
use self::network::{CLIENT, CLIENT_DEVICE, Network, PortCounts, SERVERS};
use self::rounds::{Rounds, Waited};
use crate::experiment::beats::now_ns;
use crate::experiment::bench::Bench;
use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::load::{Busy, Idle};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::root::Root;
use crate::experiment::tcp_counters;

/// The device of which a scheduler is detached; others go with the network.
const FIRST_SERVER: &str = "s1";
/// Windows are then as rounds leave them.
const WARM_UP_ROUNDS: usize = 1;
/// However long they take.
const ROUNDS_MIN: usize = 3;
/// What is on its way when connections end has arrived then.
const DRAIN: Duration = Duration::from_secs(1);

/// What TCP did until now.
#[derive(Debug, Clone, Copy)]
struct Segments {
    sent_again: u64,
    timeouts: u64,
}

impl Segments {
    fn now() -> Result<Self> {
        let read = |table, group, name| tcp_counters::read(SERVERS, table, group, name);
        Ok(Self {
            sent_again: read("snmp", "Tcp:", "RetransSegs")?,
            timeouts: read("netstat", "TcpExt:", "TCPTimeouts")?,
        })
    }
}

/// What was measured of a case.
struct Measured {
    waited: Waited,
    port: PortCounts,
    sent_again: u64,
    timeouts: u64,
    busy: Busy,
}

/// The network, and what is attached to it.
struct Bed<'lab> {
    servers: Root<'lab>,
    client: Root<'lab>,
    // Gone last: fields are dropped in their order.
    network: Network,
}

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let cases: Vec<_> = { Case::ALL.into_iter() }
        .filter_map(|case| Some((case, case.length(bench.short)?)))
        .collect();
    let hosts = cases.iter().map(|(case, _)| case.hosts()).max();
    let mut bed = Bed {
        network: Network::build(hosts.unwrap_or_default())?,
        servers: Root::on(bench.takt(), SERVERS, FIRST_SERVER),
        client: Root::on(bench.takt(), CLIENT, CLIENT_DEVICE),
    };
    let mut rows = Vec::new();
    let wanted = Contender::all(bench.short).filter(|one| bench.wants(one.scheduler()));
    for contender in wanted {
        match of_contender(&mut bed, contender, &cases, bench.seed) {
            Err(missing @ ExperimentError::Unsupported { .. }) => {
                eprintln!("{} is left out: {missing}", contender.name);
            }
            of_one => rows.extend(of_one?),
        }
    }
    bed.servers.detach()?;
    bed.client.detach()?;
    Ok(rows)
}

fn of_contender(
    bed: &mut Bed<'_>,
    contender: Contender,
    cases: &[(Case, Duration)],
    seed: u64,
) -> Result<Vec<Row>> {
    let name = contender.name;
    bed.client.attach(name, &contender.of_client())?;
    let mut rows = Vec::new();
    for &(case, length) in cases {
        if !contender.can(case) {
            continue;
        }
        eprintln!("pacing: {name}, {}", case.name());
        bed.network.set_buffer(contender.buffer(case))?;
        bed.servers.attach(name, &contender.of_servers(case))?;
        let measured = measure(&bed.network, contender, case, length, seed)?;
        rows.push(Row {
            scheduler: name.to_owned(),
            case: case.name(),
            metrics: figures(case, &measured),
        });
        std::thread::sleep(DRAIN);
    }
    Ok(rows)
}

fn measure(
    network: &Network,
    contender: Contender,
    case: Case,
    length: Duration,
    seed: u64,
) -> Result<Measured> {
    let control = if contender.dctcp { "dctcp" } else { "cubic" };
    let mut rounds = Rounds::connect(case, control, seed)?;
    let mut warm_up = Waited::default();
    for _ in 0..WARM_UP_ROUNDS {
        rounds.play(&mut warm_up)?;
    }
    let (port, segments, idle) = (network.port_counts()?, Segments::now()?, Idle::now()?);
    let mut waited = Waited::default();
    let until_ns = now_ns() + length.as_nanos() as u64;
    while now_ns() < until_ns || waited.rounds_ns.len() < ROUNDS_MIN {
        rounds.play(&mut waited)?;
    }
    let busy = Idle::now()?.since(&idle);
    let now = Segments::now()?;
    Ok(Measured {
        waited,
        port: network.port_counts()?.since(port),
        sent_again: now.sent_again - segments.sent_again,
        timeouts: now.timeouts - segments.timeouts,
        busy,
    })
}

/// Rates are those of answers, without what was sent again.
fn figures(case: Case, measured: &Measured) -> Metrics {
    let Waited {
        mut rounds_ns,
        mut answers_ns,
    } = (measured.waited).clone();
    let rounds = rounds_ns.len() as u64;
    let took_ns: u64 = rounds_ns.iter().sum();
    let answers = rounds * case.servers as u64;
    let bps = |bytes: u64| (answers * bytes * 8) as f64 * 1e9 / took_ns as f64;
    let port_percent = bps(case.answer_on_the_wire_bytes()) * 100.0 / PORT_BPS as f64;
    rounds_ns.sort_unstable();
    answers_ns.sort_unstable();
    metrics([
        ("port_percent", json!(port_percent)),
        ("goodput_bps", json!(bps(case.answer_bytes() as u64))),
        ("round_mean_ns", json!(took_ns.checked_div(rounds))),
        ("round_p99_ns", json!(nearest_rank(&rounds_ns, 990))),
        ("round_max_ns", json!(rounds_ns.last())),
        ("answer_p50_ns", json!(nearest_rank(&answers_ns, 500))),
        ("answer_p99_ns", json!(nearest_rank(&answers_ns, 990))),
        ("rounds_count", json!(rounds)),
        ("packets_lost", json!(measured.port.dropped)),
        ("packets_marked", json!(measured.port.marked)),
        ("packets_retransmitted", json!(measured.sent_again)),
        ("timeouts_count", json!(measured.timeouts)),
        ("duration_ns", json!(took_ns)),
        (
            "idle_share_percent",
            json!(measured.busy.idle_share_percent()),
        ),
    ])
}
