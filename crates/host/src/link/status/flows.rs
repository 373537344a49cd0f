//! The flows that have clocks of their own.

use std::{collections::BTreeMap, net::IpAddr};

use serde::Serialize;
use takt_algo::sys::{
    TAKT_FAMILY_IPV4, TAKT_FAMILY_IPV6, TAKT_FLOW_FIRST, takt_entity, takt_flow, takt_key,
};

use super::Counters;
use crate::{
    bpf::address::{ipv4, ipv6},
    link::{counted::Counted, program::Program, record::Record, stations::is_stations},
};

/// All of a link's flows together, since takt was attached.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct FlowTotals {
    /// Flows in the kernel's table now, those with a closed socket included.
    pub live: u32,
    /// Times that an entry of the table was taken.
    pub created: u64,
    /// Entries freed: the socket closed, the flow was idle, or it was at rest when room was
    /// needed.
    pub forgotten: u64,
    /// Packets that found no entry for their flow and shared their class's clock.
    pub no_room_packets: u64,
}

/// A flow: a connected socket, or a 5-tuple.
#[derive(Debug, Serialize)]
pub struct FlowStatus {
    /// The policy's name for it.
    pub class: String,
    /// Whether it belongs to a socket of this host.
    pub socket: bool,
    /// `None` if the headers of its first packet do not contain it.
    pub src: Option<IpAddr>,
    /// Likewise.
    pub dst: Option<IpAddr>,
    /// The IP protocol number.
    pub proto: u8,
    /// 0 where the protocol has none.
    pub src_port: u16,
    /// Likewise.
    pub dst_port: u16,
    /// Queued now.
    pub queued_packets: u32,
    /// Their bytes on the wire.
    pub queued_bytes: u64,
    /// Since it came into this class.
    #[serde(flatten)]
    pub counters: Counters,
}

impl FlowStatus {
    /// A connection of a socket, of which only what it sent is counted.
    pub(crate) fn of_socket(class: &str, key: &takt_key, packets: u64, bytes: u64) -> Self {
        Self {
            class: class.to_owned(),
            socket: true,
            src: address(key, &key.src),
            dst: address(key, &key.dst),
            proto: key.proto,
            src_port: key.src_port,
            dst_port: key.dst_port,
            queued_packets: 0,
            queued_bytes: 0,
            counters: Counters {
                enqueued_packets: packets,
                enqueued_bytes: bytes,
                sent_packets: packets,
                sent_bytes: bytes,
                ..Counters::default()
            },
        }
    }
}

/// A live flow as the kernel keeps it.
pub(super) struct Live<'a> {
    pub id: u32,
    pub flow: &'a takt_flow,
    pub entity: &'a takt_entity,
    /// Its socket is open, if it has one.
    pub open: bool,
}

/// Every flow that has an entry. A flow whose socket has closed counts until its entry is
/// reused.
pub(super) fn live<'a>(
    counted: &'a Counted,
    program: &'a Program,
) -> impl Iterator<Item = Live<'a>> {
    (TAKT_FLOW_FIRST..)
        .zip(&counted.flows)
        .filter(|(_, flow)| flow.identity != 0)
        .map(|(id, flow)| Live {
            id,
            flow,
            entity: &counted.entities[id as usize],
            open: flow.cookie == 0 || program.knows_socket(flow.cookie),
        })
}

pub(super) fn totals(counted: &Counted) -> FlowTotals {
    FlowTotals {
        live: counted.live_flows,
        created: counted.created_flows,
        forgotten: counted.forgotten_flows,
        no_room_packets: counted.no_room_packets,
    }
}

/// All flows, by class and then in the order they came.
pub(super) fn list(counted: &Counted, program: &Program, record: &Record) -> Vec<FlowStatus> {
    let names: BTreeMap<u32, &str> = record.ids.classes().map(|(name, id)| (id, name)).collect();
    let mut flows: Vec<_> = live(counted, program)
        .filter(|live| live.open && !is_stations(live.flow))
        .filter_map(|live| {
            let class = names.get(&live.entity.class_id.into())?;
            Some((*class, live.id, status(class, &live)))
        })
        .collect();
    flows.sort_unstable_by_key(|(class, id, _)| (*class, *id));
    flows.into_iter().map(|(_, _, flow)| flow).collect()
}

fn status(class: &str, live: &Live) -> FlowStatus {
    let key = &live.flow.key;
    FlowStatus {
        class: class.to_owned(),
        socket: live.flow.cookie != 0,
        src: address(key, &key.src),
        dst: address(key, &key.dst),
        proto: key.proto,
        src_port: key.src_port,
        dst_port: key.dst_port,
        queued_packets: live.entity.queue.packets,
        queued_bytes: live.entity.queue.bytes,
        counters: Counters::from(&live.entity.stats),
    }
}

fn address(key: &takt_key, words: &[u32; 4]) -> Option<IpAddr> {
    match key.family.into() {
        TAKT_FAMILY_IPV4 => Some(ipv4(words).into()),
        TAKT_FAMILY_IPV6 => Some(ipv6(words).into()),
        _ => None,
    }
}
