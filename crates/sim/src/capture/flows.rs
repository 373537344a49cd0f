//! Packets by the flows that they belong to. A flow's packets have the same key, as
//! `algo/headers.h` reads it from them, and the same ECN field.

use std::{collections::HashMap, sync::Arc};

use takt_algo::{
    read_ecn, read_key,
    sys::{TAKT_ECN_CE, TAKT_ECN_ECT0, takt_key},
};

use super::{Arrival, Captured, problem::Problem, records::Record, segment};
use crate::packet::Codepoint;

/// As of other sources: longer ones were captured before they were segmented.
pub(super) const FRAME_MAX_BYTES: u32 = 9_216;
/// The longest that a segment can be (`GSO_MAX_SIZE`); more is a broken record.
const SEGMENT_MAX_BYTES: u32 = 8 * 65_535;
const TCP: u8 = 6;
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
    frame_bytes: Option<u32>,
    first_ns: Option<i128>,
    /// Before it nothing more is sent.
    free_ns: i128,
    flows: Vec<Flow>,
    index: HashMap<Identity, usize>,
}

impl Flows {
    /// No more than `most`; longer TCP packets are split into frames of `frame_bytes`.
    pub fn new(frame_bytes: Option<u32>, most: usize) -> Self {
        Self {
            most,
            frame_bytes,
            first_ns: None,
            free_ns: 0,
            flows: Vec::new(),
            index: HashMap::new(),
        }
    }

    pub fn add(&mut self, record: &Record) -> Result<(), Problem> {
        let bytes = whole_bytes(record)?;
        let at_ns = self.at_ns(record)?;
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
        if bytes > FRAME_MAX_BYTES && (self.frame_bytes.is_none() || key.proto != TCP) {
            return Err(Problem::Long { packet, bytes });
        }
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
        let frames = segment::frames(bytes, self.frame_bytes, &key, payload);
        let arrivals = frames
            .zip(at_ns..)
            .map(|(bytes, at_ns)| Arrival { at_ns, bytes });
        let flow = &mut self.flows[at].arrivals;
        flow.extend(arrivals);
        self.free_ns = flow.last().map_or(0, |last| i128::from(last.at_ns) + 1);
        Ok(())
    }

    /// When its first frame is sent: packets keep their order, those of one moment too.
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
        Ok(at_ns as u64)
    }

    pub fn finish(self) -> Result<Vec<Captured>, Problem> {
        let flows = self.flows.into_iter().map(|flow| Captured {
            key: flow.key,
            ecn: flow.ecn,
            arrivals: Arc::from(flow.arrivals),
        });
        let flows: Vec<Captured> = flows.collect();
        if flows.is_empty() {
            Err(Problem::Empty)
        } else {
            Ok(flows)
        }
    }
}

/// Before the capture cut it.
fn whole_bytes(record: &Record) -> Result<u32, Problem> {
    if record.link_type != ETHERNET {
        return Err(Problem::LinkType {
            packet: record.number,
            link_type: record.link_type,
        });
    }
    // Some programs write 0 for what they did not cut.
    let captured = u32::try_from(record.captured.len()).unwrap_or(u32::MAX);
    Ok(record.bytes.max(captured).min(SEGMENT_MAX_BYTES))
}

fn identity(key: &takt_key, ecn: Codepoint) -> Identity {
    (
        [key.family, key.proto, key.dscp, key.has_ports, ecn as u8],
        [key.src_port, key.dst_port],
        [key.src, key.dst],
    )
}
