//! Many senders into one port of a switch, with and without pacing at the senders: PSPacer's
//! reason.
//!
//! The senders' hosts have wires that are never full, and keep rates on their sockets, or none.
//! What they send meets in the port's buffer, and what does not fit there is lost.

use std::collections::VecDeque;

use serde_json::json;
use takt_planner::flow::socket_rates;
use takt_report::Row;
use takt_sim::{
    Answer, Flow, Loss, Packet, Qdisc, Setup, Why,
    qdisc::{Fifo, SocketRates},
};

use super::setting::{self, NS_PER_S, in_parallel, noticed, row, setup};

/// A host's scheduler before a port with a buffer.
struct Port {
    host: Box<dyn Qdisc>,
    buffer: VecDeque<Packet>,
    packets_max: usize,
    /// When the host has something to send again.
    wakes_ns: u64,
}

impl Port {
    /// What the host has sent by now reaches the port. In between the port has sent nothing: it
    /// would have asked.
    fn advance(&mut self, now_ns: u64, losses: &mut Vec<Loss>) {
        let mut at_ns = self.wakes_ns.min(now_ns);
        loop {
            match self.host.dequeue(at_ns, losses) {
                Answer::Packet { packet, .. } if self.buffer.len() < self.packets_max => {
                    self.buffer.push_back(packet);
                }
                Answer::Packet { packet, .. } => losses.push(Loss {
                    packet,
                    why: Why::QueueFull,
                }),
                Answer::Wait { until_ns } if until_ns <= now_ns => at_ns = until_ns,
                Answer::Wait { until_ns } => {
                    self.wakes_ns = until_ns;
                    return;
                }
                Answer::Gap { .. } | Answer::Empty => {
                    self.wakes_ns = u64::MAX;
                    return;
                }
            }
        }
    }
}

impl Qdisc for Port {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, now_ns: u64, losses: &mut Vec<Loss>) {
        self.advance(now_ns, losses);
        self.host.enqueue(packet, flow, now_ns, losses);
        self.wakes_ns = now_ns;
        self.advance(now_ns, losses);
    }

    fn dequeue(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Answer {
        self.advance(now_ns, losses);
        match self.buffer.pop_front() {
            Some(packet) => Answer::Packet {
                packet,
                eligible_ns: packet.arrived_ns,
            },
            None if self.wakes_ns < u64::MAX => Answer::Wait {
                until_ns: self.wakes_ns,
            },
            None => Answer::Empty,
        }
    }
}

pub fn run() -> Vec<Row> {
    let buffers = [16, 32, 64, 128, 256, 512];
    let ways = buffers
        .into_iter()
        .flat_map(|packets| [(packets, false), (packets, true)]);
    let ways: Vec<(usize, bool)> = ways.collect();
    let mut rows = in_parallel(&ways, |(packets, paced)| incast(*packets, *paced));
    rows.extend(in_parallel(&ways, |(packets, paced)| {
        long(*packets, *paced)
    }));
    rows
}

/// 64 servers answer with 64 KB each, a millisecond after the answer before, over 10 Gbit/s.
fn incast(buffer_packets: usize, paced: bool) -> Row {
    let source = "kind = \"tcp\"\nflows = 64\nrtt = \"200us\"\nbytes = 64000\nthink = \"1ms\"\n";
    let case = format!("incast-{buffer_packets}");
    measure(&case, "10gbit", "150mbit", source, buffer_packets, paced)
}

/// 32 long transfers with round trips of 10 ms over 1 Gbit/s.
fn long(buffer_packets: usize, paced: bool) -> Row {
    let source = "kind = \"tcp\"\nflows = 32\nrtt = \"10ms\"\n";
    let case = format!("buffer-{buffer_packets}");
    measure(&case, "1gbit", "31mbit", source, buffer_packets, paced)
}

fn measure(
    case: &str,
    port: &str,
    rate: &str,
    source: &str,
    packets_max: usize,
    paced: bool,
) -> Row {
    let policy = format!(
        "[link.eth0]\nrate = \"100gbit\"\noverhead = 24\nbackend = \"flow\"\n\
         [[link.eth0.class]]\nname = \"all\"\nrate = \"{rate}\"\nper_flow = true\n\
         best_effort = true\nmatch = {{ proto = \"tcp\" }}\n\
         [[link.eth0.class]]\nname = \"default\"\nbest_effort = true\n"
    );
    // Packets beyond the port's buffer are not what TCP small queues count.
    let traffic = format!(
        "[device]\nrate = \"{port}\"\n[measure]\nafter = \"1s\"\n\
         [[source]]\nname = \"all\"\nforwarded = true\n{source}"
    );
    let mut setup = setup(&policy, &traffic);
    for (flow, number) in setup.flows.iter_mut().zip(1..) {
        flow.socket = number;
    }
    let mut qdisc = Port {
        host: host(&setup, paced),
        buffer: VecDeque::new(),
        packets_max,
        wakes_ns: u64::MAX,
    };
    let outcome = setting::run(&setup, &mut qdisc, 6 * NS_PER_S);
    let name = if paced { "takt-flow" } else { "none" };
    let mut row = row(name, case, noticed(&outcome.sources[0]));
    row.metrics.insert(
        "utilisation_percent".to_owned(),
        json!(outcome.utilisation_percent),
    );
    row
}

fn host(setup: &Setup, paced: bool) -> Box<dyn Qdisc> {
    const WIDE_PACKETS: u32 = 1 << 20;
    match paced {
        true => {
            let terms = socket_rates(&setup.link, &setup.ids, 14);
            Box::new(SocketRates::new(&terms))
        }
        false => Box::new(Fifo::new(WIDE_PACKETS)),
    }
}
