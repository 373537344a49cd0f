//! The qdiscs below departure times: fq, on a device with several queues one for each.

use takt_planner::departure::{Departure, Fq};

use super::{record::StockRecord, shape::departure_queue};
use crate::os::netlink::{FQ, Handle, MQ, Qdisc, Request, numbers, set_leaf};

const LIMIT: u16 = 1;
const FLOW_LIMIT: u16 = 2;
const BUCKETS_LOG: u16 = 8;
const HORIZON_US: u16 = 14;

/// Put them in the place of what is there, or change their limits.
pub(super) fn set(record: &StockRecord, terms: &Departure) -> Vec<Request> {
    let device = record.ifindex;
    let root = |kind: &str, options| Qdisc {
        kind: kind.to_owned(),
        handle: record.shape.handle(),
        parent: Handle::ROOT,
        options,
    };
    let options = options_of(&terms.fq);
    if record.queues <= 1 {
        return vec![root(FQ, options).set_root(device)];
    }
    let mut requests = vec![root(MQ, Vec::new()).set_root(device)];
    requests.extend(
        (0..record.queues)
            .map(|queue| set_leaf(device, departure_queue(queue), FQ, options.clone())),
    );
    requests
}

fn options_of(fq: &Fq) -> Vec<u8> {
    numbers(&[
        (LIMIT, fq.limit_packets),
        (FLOW_LIMIT, fq.flow_limit_packets),
        (BUCKETS_LOG, fq.buckets_log),
        (HORIZON_US, fq.horizon_us),
    ])
}
