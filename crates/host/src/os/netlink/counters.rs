//! Counters of classes and qdiscs.

use netlink_packet_route::{RouteNetlinkMessage, tc::TcHeader};

use super::{
    Netlink, NetlinkError,
    qdisc::{TCA_KIND, TCMSG_LEN, dump},
    socket::{find, text},
};

const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;
const FQ_CODEL_QDISC_STATS: u32 = 0;

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

    pub(super) fn parse(header: &TcHeader, payload: &[u8]) -> Result<Self, NetlinkError> {
        let attributes = payload.get(TCMSG_LEN..).ok_or(NetlinkError::Malformed)?;
        let stats = find(attributes, TCA_STATS2).unwrap_or_default();
        // struct gnet_stats_basic, gnet_stats_queue, tc_fq_codel_xstats
        let basic = find(&stats, TCA_STATS_BASIC).unwrap_or_default();
        let queue = find(&stats, TCA_STATS_QUEUE).unwrap_or_default();
        let own = find(&stats, TCA_STATS_APP).unwrap_or_default();
        let kind = find(attributes, TCA_KIND).map(text);
        let is_fq_codel = kind.as_deref() == Some("fq_codel");
        let of_fq_codel = |at| {
            if is_fq_codel && word(&own, 0) == FQ_CODEL_QDISC_STATS {
                word(&own, at).into()
            } else {
                0
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_counters_are_zero_beyond_their_end() {
        assert_eq!(word(&[1, 0, 0, 0, 2], 0), 1);
        assert_eq!(word(&[1, 0, 0, 0, 2], 1), 0);
    }
}
