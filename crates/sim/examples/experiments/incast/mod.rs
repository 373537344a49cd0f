//! Many servers answer one client at once, over one port of a switch with a short buffer: with
//! rates on the servers' sockets, with clocks of takt's qdisc by timer and by gap frames, without
//! any of that, and with DCTCP.
//!
//! A client asks all servers, and asks again when it has all answers (A. Phanishayee et al.,
//! Measurement and Analysis of TCP Throughput Collapse in Cluster-based Storage Systems, FAST '08).
//! What the answers find full is lost, and a client waits for the last one.

mod port;

use serde_json::json;
use takt_planner::flow::socket_rates;
use takt_report::Row;
use takt_sim::{
    Figures, Qdisc, Setup,
    qdisc::{Fifo, SocketRates, Takt},
};

use self::port::{OVERHEAD_BYTES, Port};
use super::parallel::in_parallel;
use super::setting::{self, NS_PER_S, noticed, row, setup};

const WIDE_PACKETS: u32 = 1 << 20;
const ETHERNET_BYTES: u32 = 14;
/// Of the port, what the servers' rates add up to.
const PACED_PERCENT: u64 = 97;
/// Of a round, without queues.
const RTT_NS: u64 = 100_000;
const NS_PER_MS: u64 = 1_000_000;
/// A full frame's payload with timestamps, and its bytes on the wire.
const SEGMENT_BYTES: u64 = 1448;
const FULL_BYTES: u64 = 1538;
/// A request on the wire.
const REQUEST_BYTES: u64 = 124;

/// How servers send, and how the client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Cubic,
    Dctcp,
    Rates,
    /// The client's requests are paced as the answers' first packets may come.
    RatesAsked,
    ClocksAsked,
    GapsAsked,
}

const WAYS: [(Way, &str); 6] = [
    (Way::Cubic, "none"),
    (Way::Dctcp, "dctcp"),
    (Way::Rates, "takt-flow"),
    (Way::RatesAsked, "takt-flow-asked"),
    (Way::ClocksAsked, "takt-asked"),
    (Way::GapsAsked, "takt-gap-asked"),
];

impl Way {
    fn has_sockets_rates(self) -> bool {
        matches!(self, Self::Rates | Self::RatesAsked)
    }

    fn has_gaps(self) -> bool {
        self == Self::GapsAsked
    }

    fn paces_requests(self) -> bool {
        matches!(self, Self::RatesAsked | Self::ClocksAsked | Self::GapsAsked)
    }
}

/// What the servers answer, and over what.
#[derive(Debug, Clone, Copy)]
struct Case {
    gbit: u64,
    servers: u64,
    kb: u64,
    buffer_packets: usize,
}

pub fn run() -> Vec<Row> {
    let mut cases = Vec::new();
    for buffer_packets in [32, 128] {
        for kb in [10, 64, 256] {
            cases.extend([4, 16, 64, 128].map(|servers| Case {
                gbit: 1,
                servers,
                kb,
                buffer_packets,
            }));
        }
        cases.extend([64, 256].map(|kb| Case {
            gbit: 10,
            servers: 64,
            kb,
            buffer_packets,
        }));
    }
    let all: Vec<_> = cases
        .into_iter()
        .flat_map(|case| WAYS.map(|(way, name)| (case, way, name)))
        .collect();
    let mut rows = in_parallel(&all, |(case, way, name)| rounds(*case, *way, name));
    let buffers = [16, 32, 64, 128, 256, 512];
    let long_ways: Vec<(usize, Way, &str)> = buffers
        .into_iter()
        .flat_map(|packets| [WAYS[0], WAYS[2]].map(|(way, name)| (packets, way, name)))
        .collect();
    rows.extend(in_parallel(&long_ways, |(packets, way, name)| {
        long(*packets, *way, name)
    }));
    rows
}

/// The client asks, waits for all answers, and asks again.
fn rounds(case: Case, way: Way, name: &str) -> Row {
    let Case {
        gbit,
        servers,
        kb,
        buffer_packets,
    } = case;
    let (warm_ms, measured_ms) = match (way.has_gaps(), gbit) {
        // All hosts fill their wires with gap frames; nothing is lost that would take long.
        (true, 10..) => (200, 200),
        (true, _) => (1_000, 1_000),
        (false, _) => (1_000, 5_000),
    };
    let port_bps = gbit * NS_PER_S;
    let rate_bps = port_bps * PACED_PERCENT / 100 / servers;
    // Paced, the first packets of answers come as fast as the servers' rates add up to.
    let asked_bytes = if way.paces_requests() {
        FULL_BYTES * 100 / PACED_PERCENT
    } else {
        REQUEST_BYTES
    };
    let apart_ns = asked_bytes * 8 / gbit;
    let control = if way == Way::Dctcp { "dctcp" } else { "cubic" };
    let source = format!(
        "kind = \"tcp\"\nflows = {servers}\nrtt = \"100us\"\nthink = \"20us\"\nbytes = {}\n\
         together = true\napart = \"{apart_ns}ns\"\ncontrol = \"{control}\"\n",
        kb * 1000
    );
    let setup = setting_of((port_bps, rate_bps), &source, way, warm_ms);
    let mut port = port(&setup, port_bps, servers, buffer_packets, way);
    let outcome = setting::run(&setup, &mut port, (warm_ms + measured_ms) * NS_PER_MS);
    let figures = &outcome.sources[0];
    let answer_bytes = (kb * 1000).div_ceil(SEGMENT_BYTES) * FULL_BYTES;
    let transfer = figures.transfer;
    let answers = transfer.map_or(0, |transfer| transfer.count);
    let round_ns = servers * answer_bytes * 8 / gbit;
    let possible = round_ns as f64 * 100.0 / (round_ns + RTT_NS) as f64;
    let case = format!("rounds/{gbit}gbit/{buffer_packets}/{kb}kb/{servers}");
    row(
        name,
        &case,
        [
            ("port_percent", json!(outcome.utilisation_percent)),
            ("possible_percent", json!(possible)),
            ("rounds", json!(answers / servers)),
            (
                "answer_p50_ns",
                json!(transfer.map(|transfer| transfer.p50_ns)),
            ),
            (
                "answer_p99_ns",
                json!(transfer.map(|transfer| transfer.p99_ns)),
            ),
            (
                "answer_max_ns",
                json!(transfer.map(|transfer| transfer.max_ns)),
            ),
            ("lost_percent", json!(lost_percent(figures))),
            ("marked_packets", json!(figures.marked_packets)),
        ],
    )
}

fn lost_percent(figures: &Figures) -> f64 {
    figures.lost.packets() as f64 * 100.0 / figures.offered_packets.max(1) as f64
}

/// 32 long transfers with round trips of 10 ms over 1 Gbit/s.
fn long(buffer_packets: usize, way: Way, name: &str) -> Row {
    const SENDERS: u64 = 32;
    let source = format!("kind = \"tcp\"\nflows = {SENDERS}\nrtt = \"10ms\"\n");
    let setup = setting_of((NS_PER_S, 31_000_000), &source, way, 1_000);
    let mut port = port(&setup, NS_PER_S, SENDERS, buffer_packets, way);
    let outcome = setting::run(&setup, &mut port, 6 * NS_PER_S);
    let case = format!("buffer-{buffer_packets}");
    let mut row = row(name, &case, noticed(&outcome.sources[0]));
    row.metrics.insert(
        "utilisation_percent".to_owned(),
        json!(outcome.utilisation_percent),
    );
    row
}

fn setting_of((port_bps, rate_bps): (u64, u64), source: &str, way: Way, warm_ms: u64) -> Setup {
    let (pacing, per_flow) = match way {
        Way::GapsAsked => ("pacing = \"gap\"\n", ""),
        _ if way.has_sockets_rates() => ("backend = \"flow\"\n", "per_flow = true\n"),
        _ => ("", ""),
    };
    let policy = format!(
        "[link.eth0]\nrate = \"{port_bps}bit\"\noverhead = {OVERHEAD_BYTES}\n{pacing}\
         [[link.eth0.class]]\nname = \"all\"\nrate = \"{rate_bps}bit\"\n{per_flow}\
         best_effort = true\nqueue_packets = 1000\naqm = \"off\"\n\
         match = {{ proto = \"tcp\" }}\n\
         [[link.eth0.class]]\nname = \"default\"\nbest_effort = true\n"
    );
    // Packets beyond the port's buffer are not what TCP small queues count. The port's buffer has
    // no other one behind it.
    let traffic = format!(
        "[device]\nrate = \"{port_bps}bit\"\nqueue_packets = 1\n[measure]\nafter = \"{warm_ms}ms\"\n\
         [[source]]\nname = \"all\"\nforwarded = true\n{source}"
    );
    let mut setup = setup(&policy, &traffic);
    for (flow, number) in setup.flows.iter_mut().zip(1..) {
        flow.socket = number;
    }
    setup
}

fn port(setup: &Setup, wire_bps: u64, hosts: u64, buffer_packets: usize, way: Way) -> Port {
    let qdiscs = (0..hosts).map(|_| host(setup, way));
    let port = Port::new(qdiscs.collect(), wire_bps, buffer_packets);
    match way {
        Way::Dctcp => port.marking_beyond(marks_beyond(wire_bps, buffer_packets)),
        _ => port,
    }
}

/// What DCTCP's authors recommend, 20 packets at 1 Gbit/s and 65 at 10, and of a short buffer no
/// more than half.
fn marks_beyond(port_bps: u64, buffer_packets: usize) -> usize {
    let recommended = if port_bps > NS_PER_S { 65 } else { 20 };
    recommended.min(buffer_packets / 2)
}

fn host(setup: &Setup, way: Way) -> Box<dyn Qdisc> {
    match way {
        Way::Cubic | Way::Dctcp => Box::new(Fifo::new(WIDE_PACKETS)),
        Way::Rates | Way::RatesAsked => {
            let terms = socket_rates(&setup.link, &setup.ids, ETHERNET_BYTES);
            Box::new(SocketRates::new(&terms))
        }
        Way::ClocksAsked | Way::GapsAsked => Box::new(Takt::new(setup.tables.clone())),
    }
}
