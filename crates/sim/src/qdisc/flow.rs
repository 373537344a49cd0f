//! Takt's backend `flow`: the planner's rates on the sockets of TCP connections
//! (`bpf/flow/flow.bpf.c`), the stamps that TCP makes of them (`tcp_update_skb_after_send`), and fq,
//! which keeps those.
//!
//! Left out: rates that applications or congestion controls set.

use takt_algo::sys::TAKT_FAMILY_IPV6;
use takt_planner::flow::SocketRates as Terms;

use super::{Answer, Fq, FqTerms, Qdisc};
use crate::packet::{Flow, Loss, Packet};

const NS_PER_S: u64 = 1_000_000_000;
const TCP: u8 = 6;
const ETHERNET_BYTES: u32 = 14;
/// With timestamps.
const TCP_BYTES: u32 = 32;
/// TCP paces from here on.
const SEGMENTS_FIRST: u64 = 10;

/// What TCP knows of a connection's pacing.
#[derive(Debug, Clone, Copy, Default)]
struct Connection {
    /// The next segment leaves no earlier (`tcp_wstamp_ns`).
    next_ns: u64,
    segments: u64,
}

/// Rates by class, and fq.
pub struct SocketRates {
    /// In the order of ids, without those that have none.
    rates: Vec<(u32, u64)>,
    header_bytes: u32,
    connections: Vec<Connection>,
    fq: Fq,
}

impl SocketRates {
    /// A link of these terms.
    pub fn new(terms: &Terms) -> Self {
        let paced = terms.classes.iter().filter(|class| class.bytes_per_s > 0);
        let mut rates: Vec<(u32, u64)> = paced.map(|class| (class.id, class.bytes_per_s)).collect();
        rates.sort_unstable();
        Self {
            rates,
            header_bytes: terms.header_bytes,
            connections: Vec::new(),
            fq: Fq::new(FqTerms {
                limit_packets: terms.fq.limit_packets,
                flow_limit_packets: terms.fq.flow_limit_packets,
                horizon_ns: u64::from(terms.fq.horizon_us) * 1000,
                ..FqTerms::default()
            }),
        }
    }

    /// The packet's stamp; 0 for none.
    fn stamp(&mut self, packet: &Packet, flow: &Flow, now_ns: u64) -> u64 {
        let at = self.rates.binary_search_by_key(&flow.class, |(id, _)| *id);
        let (Ok(at), TCP, 1..) = (at, flow.key.proto, flow.socket) else {
            return 0;
        };
        let ip_bytes = if u32::from(flow.key.family) == TAKT_FAMILY_IPV6 {
            40
        } else {
            20
        };
        let payload = packet
            .bytes
            .saturating_sub(ETHERNET_BYTES + ip_bytes + TCP_BYTES)
            .max(1);
        let wire_bytes = payload + self.header_bytes + ip_bytes + TCP_BYTES;
        // TCP counts payload: the part of the rate that is left for it.
        let rate_bytes_ps = self.rates[at].1 * u64::from(payload) / u64::from(wire_bytes);
        let flow_at = packet.flow as usize;
        if self.connections.len() <= flow_at {
            self.connections.resize(flow_at + 1, Connection::default());
        }
        let connection = &mut self.connections[flow_at];
        let departs_ns = connection.next_ns.max(now_ns);
        connection.segments += 1;
        if connection.segments > SEGMENTS_FIRST {
            let length_ns = u64::from(payload) * NS_PER_S / rate_bytes_ps.max(1);
            let late_ns = departs_ns - connection.next_ns;
            connection.next_ns = departs_ns + length_ns - late_ns.min(length_ns / 2);
        } else {
            connection.next_ns = departs_ns;
        }
        departs_ns
    }
}

impl Qdisc for SocketRates {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, now_ns: u64, losses: &mut Vec<Loss>) {
        let departs_ns = self.stamp(&packet, flow, now_ns);
        self.fq.enqueue_at(packet, flow, departs_ns, now_ns, losses);
    }

    fn dequeue(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Answer {
        self.fq.dequeue(now_ns, losses)
    }
}
