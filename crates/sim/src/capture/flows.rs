//! Packets by the flows that they belong to. A flow's packets have the same key, as
//! `algo/headers.h` reads it from them, and the same ECN field.

use std::{collections::HashMap, sync::Arc};

use takt_algo::{
    read_ecn, read_key,
    sys::{TAKT_ECN_CE, TAKT_ECN_ECT0, takt_key},
};

use super::{Arrival, Captured, problem::Problem, records::Record};
use crate::packet::Codepoint;

/// As of other sources: longer ones were captured before they were segmented.
pub(super) const FRAME_MAX_BYTES: u32 = 9_216;
const ETHERNET: i32 = 1;
/// Two addresses and the type of what follows.
const HEADER_BYTES: usize = 14;
/// Threads that capture together are out of step by less.
const EARLIER_MAX_NS: i128 = 1_000_000_000;
/// The longest run.
const LATER_MAX_NS: i128 = 86_400_000_000_000;

/// What tells flows apart: protocol, DSCP and so on, ports, addresses.
type Identity = ([u8; 5], [u16; 2], [[u32; 4]; 2]);

struct Flow {
    key: takt_key,
    ecn: Codepoint,
    arrivals: Vec<Arrival>,
}

/// The flows of a capture that is being read.
pub(super) struct Flows {
    most: usize,
    first_ns: Option<i128>,
    /// Before it nothing more is sent.
    free_ns: i128,
    flows: Vec<Flow>,
    index: HashMap<Identity, usize>,
}

impl Flows {
    pub fn new(most: usize) -> Self {
        Self {
            most,
            first_ns: None,
            free_ns: 0,
            flows: Vec::new(),
            index: HashMap::new(),
        }
    }

    pub fn add(&mut self, record: &Record) -> Result<(), Problem> {
        let arrival = Arrival {
            bytes: frame_bytes(record)?,
            at_ns: self.at_ns(record)?,
        };
        let packet = record.number;
        let (header, payload) =
            record
                .captured
                .split_at_checked(HEADER_BYTES)
                .ok_or(Problem::Short {
                    packet,
                    bytes: record.captured.len(),
                })?;
        let ethertype = u16::from_be_bytes([header[12], header[13]]);
        let key = read_key(ethertype, payload, 0);
        let ecn = match read_ecn(ethertype, payload) {
            // Its sender understands marks; which ones, it does not say any more.
            TAKT_ECN_CE => TAKT_ECN_ECT0,
            ecn => ecn,
        };
        let next = self.flows.len();
        let at = *self.index.entry(identity(&key, ecn)).or_insert(next);
        if at == self.most {
            return Err(Problem::Flows { most: self.most });
        }
        if at == next {
            self.flows.push(Flow {
                key,
                ecn,
                arrivals: Vec::new(),
            });
        }
        self.flows[at].arrivals.push(arrival);
        Ok(())
    }

    /// When it is sent: packets keep their order, those of one moment too.
    fn at_ns(&mut self, record: &Record) -> Result<u64, Problem> {
        let packet = record.number;
        let after_ns = record.time_ns - *self.first_ns.get_or_insert(record.time_ns);
        if after_ns + EARLIER_MAX_NS < self.free_ns {
            return Err(Problem::Earlier { packet });
        }
        let at_ns = after_ns.max(self.free_ns);
        if at_ns > LATER_MAX_NS {
            return Err(Problem::Later { packet });
        }
        self.free_ns = at_ns + 1;
        Ok(at_ns as u64)
    }

    pub fn finish(self) -> Result<Vec<Captured>, Problem> {
        let flows = self.flows.into_iter().map(|flow| Captured {
            key: flow.key,
            ecn: flow.ecn,
            arrivals: Arc::from(flow.arrivals),
        });
        let flows: Vec<Captured> = flows.collect();
        match flows.is_empty() {
            true => Err(Problem::Empty),
            false => Ok(flows),
        }
    }
}

fn frame_bytes(record: &Record) -> Result<u32, Problem> {
    let packet = record.number;
    if record.link_type != ETHERNET {
        return Err(Problem::LinkType {
            packet,
            link_type: record.link_type,
        });
    }
    // Some programs write 0 for what they did not cut.
    let captured = u32::try_from(record.captured.len()).unwrap_or(u32::MAX);
    let bytes = record.bytes.max(captured);
    match bytes > FRAME_MAX_BYTES {
        true => Err(Problem::Long { packet, bytes }),
        false => Ok(bytes),
    }
}

fn identity(key: &takt_key, ecn: Codepoint) -> Identity {
    (
        [key.family, key.proto, key.dscp, key.has_ports, ecn as u8],
        [key.src_port, key.dst_port],
        [key.src, key.dst],
    )
}
