//! HTB: its qdisc and classes, and qdiscs below others.

use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::{
    RouteNetlinkMessage,
    tc::{TcAttribute, TcHandle, TcMessage},
};

use super::{Handle, Request, qdisc::TCA_OPTIONS};

pub(crate) const HTB: &str = "htb";
pub(crate) const FQ: &str = "fq";
pub(crate) const MQ: &str = "mq";

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

pub(super) fn message(
    device: u32,
    parent: Handle,
    handle: Handle,
    kind: &str,
    options: Vec<u8>,
) -> TcMessage {
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
pub(crate) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
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
}
