//! All that the kernel lists of a qdisc, to be compared with another listing.

use std::collections::BTreeMap;

use netlink_packet_core::NlasIterator;
use netlink_packet_route::{RouteNetlinkMessage, tc::TcHeader};

use super::{
    Handle, Netlink, NetlinkError,
    qdisc::{TCA_KIND, TCA_OPTIONS, TCA_STAB, TCMSG_LEN, dump},
    socket::find,
};

const TCA_STATS: u16 = 3;
const TCA_XSTATS: u16 = 4;
const TCA_STATS2: u16 = 7;
const TCA_PAD: u16 = 9;
const TCA_HW_OFFLOAD: u16 = 12;
const TCA_INGRESS_BLOCK: u16 = 13;
const TCA_EGRESS_BLOCK: u16 = 14;

/// In `TCA_STATS2`; it is there only if the rate is estimated.
const TCA_STATS_RATE_EST: u16 = 2;

/// What the qdisc counts and where it runs, and not what it was told.
const NO_SETTINGS: [u16; 5] = [TCA_STATS, TCA_XSTATS, TCA_STATS2, TCA_PAD, TCA_HW_OFFLOAD];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listing {
    pub handle: Handle,
    pub parent: Handle,
    /// Whether the kernel estimates its rate.
    pub is_estimated: bool,
    settings: BTreeMap<u16, Vec<u8>>,
}

impl Listing {
    /// Of all qdiscs of a device.
    pub fn for_device(netlink: &mut Netlink, device: u32) -> Result<Vec<Self>, NetlinkError> {
        dump(netlink, device, RouteNetlinkMessage::GetQueueDiscipline)?
            .iter()
            .map(|(header, payload)| Self::parse(header, payload))
            .collect()
    }

    pub(super) fn parse(header: &TcHeader, payload: &[u8]) -> Result<Self, NetlinkError> {
        let attributes = payload.get(TCMSG_LEN..).ok_or(NetlinkError::Malformed)?;
        let stats = find(attributes, TCA_STATS2).unwrap_or_default();
        Ok(Self {
            handle: Handle(header.handle.into()),
            parent: Handle(header.parent.into()),
            is_estimated: find(&stats, TCA_STATS_RATE_EST).is_some(),
            settings: NlasIterator::new(attributes)
                .filter_map(Result::ok)
                .filter(|nla| !NO_SETTINGS.contains(&nla.kind()))
                .map(|nla| (nla.kind(), nla.value().to_vec()))
                .collect(),
        })
    }

    /// The first of its settings that the other one does not have, or has otherwise.
    pub fn differs_in(&self, other: &Self) -> Option<&'static str> {
        let mut kinds = self.settings.keys().chain(other.settings.keys());
        let differs = |kind: &&u16| self.settings.get(kind) != other.settings.get(kind);
        kinds.find(differs).map(|kind| match *kind {
            TCA_KIND => "its kind",
            TCA_OPTIONS => "its options",
            TCA_STAB => "its size table",
            TCA_INGRESS_BLOCK | TCA_EGRESS_BLOCK => "its block of filters",
            _ => "a setting that this takt does not know",
        })
    }

    /// Whether its filters are in a block, which may be shared with other devices.
    pub fn has_block(&self) -> bool {
        let blocks = [TCA_INGRESS_BLOCK, TCA_EGRESS_BLOCK];
        blocks.iter().any(|block| self.settings.contains_key(block))
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_route::tc::TcMessage;

    use super::*;
    use crate::os::netlink::attribute;

    fn listing(attributes: &[(u16, &[u8])]) -> Listing {
        let mut payload = vec![0; TCMSG_LEN];
        payload.extend(
            attributes
                .iter()
                .flat_map(|(kind, value)| attribute(*kind, value)),
        );
        Listing::parse(&TcMessage::with_index(1).header, &payload).expect("it can be read")
    }

    #[test]
    fn counters_make_no_difference_and_settings_do() {
        let fifo = listing(&[
            (TCA_KIND, b"pfifo\0"),
            (TCA_OPTIONS, &[1]),
            (TCA_STATS, &[1]),
        ]);
        let later = listing(&[
            (TCA_KIND, b"pfifo\0"),
            (TCA_OPTIONS, &[1]),
            (TCA_STATS, &[2]),
        ]);
        assert_eq!(fifo.differs_in(&later), None);
        let other = listing(&[(TCA_KIND, b"pfifo\0"), (TCA_OPTIONS, &[2])]);
        assert_eq!(fifo.differs_in(&other), Some("its options"));
        let more = listing(&[
            (TCA_KIND, b"pfifo\0"),
            (TCA_OPTIONS, &[1]),
            (TCA_STAB, &[1]),
        ]);
        assert_eq!(fifo.differs_in(&more), Some("its size table"));
        assert_eq!(more.differs_in(&fifo), Some("its size table"));
        let block = listing(&[(TCA_KIND, b"pfifo\0"), (TCA_EGRESS_BLOCK, &[7, 0, 0, 0])]);
        assert!(block.has_block() && !fifo.has_block());
    }

    #[test]
    fn an_estimated_rate_is_seen() {
        let estimate = attribute(TCA_STATS_RATE_EST, &[0; 8]);
        assert!(listing(&[(TCA_STATS2, &estimate)]).is_estimated);
        assert!(!listing(&[(TCA_STATS2, &attribute(1, &[0; 16]))]).is_estimated);
    }
}
