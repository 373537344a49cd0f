//! HTB: its qdisc and classes, the queues of its leaves, its BPF classifier, and their counters.

use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::{
    RouteNetlinkMessage,
    tc::{TcAttribute, TcHandle, TcHeader, TcMessage},
};

use super::{
    Handle, Netlink, NetlinkError, Request,
    qdisc::{TCA_KIND, TCA_OPTIONS, TCMSG_LEN, dump},
    socket::{find, text},
};

pub(crate) const HTB: &str = "htb";

const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;

const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
const HTB_VERSION: u32 = 3;
const RATE_TO_QUANTUM: u32 = 10;
/// Lengths as they are: no table of costs, no cells of ATM.
const LINK_LAYER_ETHERNET: u8 = 1;
/// The kernel counts bursts in ticks of 64 ns of the class's rate.
const TICK_NS: u128 = 64;

const TCA_BPF_CLASSID: u16 = 3;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_ID: u16 = 11;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
const FILTER_PRIORITY: u32 = 1;
const FILTER_HANDLE: u32 = 1;
const ETH_P_ALL: u16 = 3;

const FQ_CODEL_QDISC_STATS: u32 = 0;

/// A class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HtbClass {
    pub handle: Handle,
    pub parent: Handle,
    pub rate_bps: u64,
    pub ceil_bps: u64,
    /// Wire bytes per frame beyond the layer 2 frame.
    pub overhead_bytes: u16,
    pub priority: u8,
    pub quantum_bytes: u32,
    pub burst_bytes: u32,
}

impl HtbClass {
    /// Make it, or change the one of its handle.
    pub fn set(&self, device: u32) -> Request {
        let mut options = attribute(TCA_HTB_PARMS, &self.parameters());
        // Each rate is taken from here if the other field cannot hold it.
        options.extend(attribute(
            TCA_HTB_RATE64,
            &(self.rate_bps / 8).to_ne_bytes(),
        ));
        options.extend(attribute(
            TCA_HTB_CEIL64,
            &(self.ceil_bps / 8).to_ne_bytes(),
        ));
        let message = message(device, self.parent, self.handle, HTB, options);
        Request {
            message: RouteNetlinkMessage::NewTrafficClass(message),
            flags: NLM_F_CREATE | NLM_F_REPLACE,
        }
    }

    pub fn remove(device: u32, handle: Handle) -> Request {
        let mut message = TcMessage::with_index(device as i32);
        message.header.handle = TcHandle::from(handle.0);
        Request {
            message: RouteNetlinkMessage::DelTrafficClass(message),
            flags: 0,
        }
    }

    /// struct tc_htb_opt
    fn parameters(&self) -> Vec<u8> {
        let mut bytes = self.rate_spec(self.rate_bps);
        bytes.extend(self.rate_spec(self.ceil_bps));
        let level = 0u32;
        for word in [
            ticks(self.burst_bytes, self.rate_bps),
            ticks(self.burst_bytes, self.ceil_bps),
            self.quantum_bytes,
            level,
            self.priority.into(),
        ] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes
    }

    /// struct tc_ratespec
    fn rate_spec(&self, rate_bps: u64) -> Vec<u8> {
        let (cell_log, cell_align, least_bytes) = (0u8, 0i16, 0u16);
        let rate = u32::try_from(rate_bps / 8).unwrap_or(u32::MAX);
        let mut bytes = vec![cell_log, LINK_LAYER_ETHERNET];
        bytes.extend(self.overhead_bytes.to_ne_bytes());
        bytes.extend(cell_align.to_ne_bytes());
        bytes.extend(least_bytes.to_ne_bytes());
        bytes.extend(rate.to_ne_bytes());
        bytes
    }
}

/// How long so many bytes take at a rate, as the kernel counts it.
fn ticks(bytes: u32, rate_bps: u64) -> u32 {
    let ns = u128::from(bytes) * 8_000_000_000 / u128::from(rate_bps.max(1));
    u32::try_from(ns / TICK_NS).unwrap_or(u32::MAX)
}

/// The options of an HTB qdisc, whose packets without a class go to this one.
pub(crate) fn htb_options(default_minor: u16) -> Vec<u8> {
    let (debug, direct_packets) = (0u32, 0u32);
    let words = [
        HTB_VERSION,
        RATE_TO_QUANTUM,
        default_minor.into(),
        debug,
        direct_packets,
    ];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    attribute(TCA_HTB_INIT, &bytes)
}

/// A qdisc below a class, in the place of the one there. The kernel chooses its handle.
pub(crate) fn set_leaf(device: u32, parent: Handle, kind: &str, options: Vec<u8>) -> Request {
    Request {
        message: RouteNetlinkMessage::NewQueueDiscipline(message(
            device,
            parent,
            Handle::DEFAULT,
            kind,
            options,
        )),
        flags: NLM_F_CREATE | NLM_F_REPLACE,
    }
}

/// Options of a qdisc that are numbers of 32 bits.
pub(crate) fn numbers(options: &[(u16, u32)]) -> Vec<u8> {
    options
        .iter()
        .flat_map(|(kind, value)| attribute(*kind, &value.to_ne_bytes()))
        .collect()
}

/// A BPF program that chooses the classes of a qdisc's packets; its only filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Classifier {
    pub name: String,
    /// The program's number.
    pub id: u32,
}

impl Classifier {
    /// Have the qdisc use this loaded program, in the place of the one before.
    pub fn set(device: u32, qdisc: Handle, program: i32, name: &str) -> Request {
        // The program chooses minor numbers; the major one comes from here.
        let mut options = attribute(TCA_BPF_CLASSID, &qdisc.0.to_ne_bytes());
        options.extend(attribute(TCA_BPF_FD, &program.to_ne_bytes()));
        options.extend(attribute(TCA_BPF_NAME, &[name.as_bytes(), b"\0"].concat()));
        options.extend(attribute(
            TCA_BPF_FLAGS,
            &TCA_BPF_FLAG_ACT_DIRECT.to_ne_bytes(),
        ));
        let mut message = message(device, qdisc, Handle(FILTER_HANDLE), "bpf", options);
        message.header.info = FILTER_PRIORITY << 16 | u32::from(ETH_P_ALL.to_be());
        Request {
            message: RouteNetlinkMessage::NewTrafficFilter(message),
            flags: NLM_F_CREATE | NLM_F_REPLACE,
        }
    }

    /// Those of the device's root qdisc.
    pub fn list(netlink: &mut Netlink, device: u32) -> Result<Vec<Self>, NetlinkError> {
        let mut found = Vec::new();
        for (_, payload) in dump(netlink, device, RouteNetlinkMessage::GetTrafficFilter)? {
            let attributes = payload.get(TCMSG_LEN..).ok_or(NetlinkError::Malformed)?;
            let options = find(attributes, TCA_OPTIONS).unwrap_or_default();
            let id = find(&options, TCA_BPF_ID).and_then(|id| <[u8; 4]>::try_from(id).ok());
            if let (Some(name), Some(id)) = (find(&options, TCA_BPF_NAME), id) {
                found.push(Self {
                    name: text(name),
                    id: u32::from_ne_bytes(id),
                });
            }
        }
        Ok(found)
    }
}

/// Counters of a class or a qdisc.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TcCounters {
    pub handle: u32,
    pub parent: u32,
    pub sent_bytes: u64,
    pub sent_packets: u64,
    pub queued_packets: u32,
    pub queued_bytes: u64,
    pub dropped_packets: u64,
    /// Of fq_codel: of the dropped ones, those for which the queue had no room.
    pub dropped_for_room: u64,
    /// Of fq_codel: packets that were marked.
    pub marked_packets: u64,
}

impl TcCounters {
    /// Of all classes of a device.
    pub fn of_classes(netlink: &mut Netlink, device: u32) -> Result<Vec<Self>, NetlinkError> {
        Self::all(dump(netlink, device, RouteNetlinkMessage::GetTrafficClass)?)
    }

    /// Of all qdiscs of a device.
    pub fn of_qdiscs(netlink: &mut Netlink, device: u32) -> Result<Vec<Self>, NetlinkError> {
        let qdiscs = dump(netlink, device, RouteNetlinkMessage::GetQueueDiscipline)?;
        Self::all(qdiscs)
    }

    fn all(listed: Vec<(TcHeader, Vec<u8>)>) -> Result<Vec<Self>, NetlinkError> {
        listed
            .iter()
            .map(|(header, payload)| Self::parse(header, payload))
            .collect()
    }

    fn parse(header: &TcHeader, payload: &[u8]) -> Result<Self, NetlinkError> {
        let attributes = payload.get(TCMSG_LEN..).ok_or(NetlinkError::Malformed)?;
        let stats = find(attributes, TCA_STATS2).unwrap_or_default();
        // struct gnet_stats_basic, gnet_stats_queue, tc_fq_codel_xstats
        let basic = find(&stats, TCA_STATS_BASIC).unwrap_or_default();
        let queue = find(&stats, TCA_STATS_QUEUE).unwrap_or_default();
        let own = find(&stats, TCA_STATS_APP).unwrap_or_default();
        let kind = find(attributes, TCA_KIND).map(text);
        let is_fq_codel = kind.as_deref() == Some("fq_codel");
        let of_fq_codel = |at| match is_fq_codel && word(&own, 0) == FQ_CODEL_QDISC_STATS {
            true => word(&own, at).into(),
            false => 0,
        };
        Ok(Self {
            handle: header.handle.into(),
            parent: header.parent.into(),
            sent_bytes: u64::from(word(&basic, 0)) | u64::from(word(&basic, 1)) << 32,
            sent_packets: word(&basic, 2).into(),
            queued_packets: word(&queue, 0),
            queued_bytes: word(&queue, 1).into(),
            dropped_packets: word(&queue, 2).into(),
            dropped_for_room: of_fq_codel(2),
            marked_packets: of_fq_codel(3),
        })
    }
}

/// A number of 32 bits in a struct; 0 beyond its end, which an older kernel's may have earlier.
fn word(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(4 * at..4 * at + 4);
    bytes
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, u32::from_ne_bytes)
}

fn message(device: u32, parent: Handle, handle: Handle, kind: &str, options: Vec<u8>) -> TcMessage {
    let mut message = TcMessage::with_index(device as i32);
    message.header.parent = TcHandle::from(parent.0);
    message.header.handle = TcHandle::from(handle.0);
    message.attributes.push(TcAttribute::Kind(kind.to_owned()));
    if !options.is_empty() {
        let options = DefaultNla::new(TCA_OPTIONS, options);
        message.attributes.push(TcAttribute::Other(options));
    }
    message
}

/// A netlink attribute with its padding.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    const HEADER_BYTES: usize = 4;
    let mut bytes = Vec::with_capacity(HEADER_BYTES + value.len());
    bytes.extend(((HEADER_BYTES + value.len()) as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_say_their_length_without_it() {
        assert_eq!(attribute(7, b"abc"), [7, 0, 7, 0, b'a', b'b', b'c', 0]);
        assert_eq!(numbers(&[(2, 1)]), [8, 0, 2, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn bursts_are_times_at_the_rate() {
        // 1,600 bytes at 100 Mbit/s take 128 us.
        assert_eq!(ticks(1600, 100_000_000), 2000);
        assert_eq!(ticks(u32::MAX, 1), u32::MAX);
        assert_eq!(ticks(1, 0), 125_000_000);
    }

    #[test]
    fn short_counters_are_zero_beyond_their_end() {
        assert_eq!(word(&[1, 0, 0, 0, 2], 0), 1);
        assert_eq!(word(&[1, 0, 0, 0, 2], 1), 0);
    }
}
