//! All parsers of what comes over a netlink socket, on bytes of any origin.

use netlink_packet_generic::constants::GENL_HDRLEN;
use netlink_packet_route::tc::TcHeader;

use super::{
    Classifier, Device, Listing, Qdisc, TcCounters, changes,
    socket::{DONE_ATTRIBUTES, ERROR_ATTRIBUTES, messages, refusal},
    wireless,
};

/// Reads a datagram as whatever it may be. Malformed ones are refused, which is all right.
pub(crate) fn read(datagram: &[u8]) {
    changes::changes(datagram).for_each(drop);
    let mut surveys = Vec::new();
    for message in messages(datagram) {
        let Ok(message) = message else {
            return;
        };
        let payload = message.payload();
        for attributes in [ERROR_ATTRIBUTES, DONE_ATTRIBUTES] {
            let _ = refusal(payload, attributes).map(|refusal| refusal.map(|it| it.to_string()));
        }
        let _ = Device::parse(payload);
        if let Ok(header) = TcHeader::parse(payload) {
            let qdisc = Qdisc::parse(&header, payload);
            let _ = qdisc.map(|qdisc| (qdisc.set_root(1), qdisc.unlisted()));
            let _ = Listing::parse(&header, payload);
            let _ = TcCounters::parse(&header, payload);
        }
        let _ = Classifier::parse(payload);
        if let Some(attributes) = payload.get(GENL_HDRLEN..) {
            wireless::heard(attributes);
            wireless::sent(attributes);
            surveys.extend(wireless::survey(attributes));
        }
    }
    wireless::noise_of(&surveys, Some(2412));
}
