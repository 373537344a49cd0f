//! Entries for takt-fuzz, which are no API: what reads bytes that others have written.

use crate::{
    apply::pending,
    beats::{BeatsRecord, softirq},
    crowd,
    link::{self, Conflicts},
    os::netlink,
    state::{source::Source, store},
    stock,
};

/// A datagram of a netlink socket.
pub fn netlink(datagram: &[u8]) {
    netlink::fuzz::read(datagram);
}

/// A file below /run/takt, as a record of any kind.
pub fn state(text: &str) {
    store::fuzz::<BeatsRecord>(text);
    store::fuzz::<softirq::Record>(text);
    store::fuzz::<crowd::Record>(text);
    store::fuzz::<Source>(text);
    store::fuzz::<link::Record>(text);
    store::fuzz::<Conflicts>(text);
    store::fuzz::<stock::StockRecord>(text);
    pending::fuzz(text);
}
