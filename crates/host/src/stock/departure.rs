//! The qdiscs that keep departure times and rates of sockets: fq, on a device with several queues
//! one for each.

use takt_planner::departure::Fq;

use super::{record::StockRecord, shape::queue_below};
use crate::os::netlink::{FQ, Handle, MQ, Qdisc, Request, attribute, numbers, set_leaf};

const LIMIT: u16 = 1;
const FLOW_LIMIT: u16 = 2;
const BUCKETS_LOG: u16 = 8;
const TIMER_SLACK_NS: u16 = 13;
const HORIZON_US: u16 = 14;
const HORIZON_DROP: u16 = 15;

/// Put them in the place of what is there, or change their limits. `drops_beyond`: packets with times
/// beyond the horizon are dropped.
pub(super) fn set(record: &StockRecord, fq: &Fq, drops_beyond: bool) -> Vec<Request> {
    let device = record.ifindex;
    let root = |kind: &str, options| Qdisc {
        kind: kind.to_owned(),
        handle: record.shape.handle(),
        parent: Handle::ROOT,
        options,
        sizes: Vec::new(),
    };
    let options = options_of(fq, drops_beyond);
    if record.queues <= 1 {
        return vec![root(FQ, options).set_root(device)];
    }
    let mut requests = vec![root(MQ, Vec::new()).set_root(device)];
    requests.extend(
        (0..record.queues)
            .map(|queue| queue_below(record.shape.handle(), queue))
            .map(|place| set_leaf(device, place, FQ, options.clone())),
    );
    requests
}

fn options_of(fq: &Fq, drops_beyond: bool) -> Vec<u8> {
    let numbered = [
        (LIMIT, fq.limit_packets),
        (FLOW_LIMIT, fq.flow_limit_packets),
        (BUCKETS_LOG, fq.buckets_log),
        (TIMER_SLACK_NS, fq.timer_slack_ns),
        (HORIZON_US, fq.horizon_us),
    ];
    let drops = attribute(HORIZON_DROP, &[drops_beyond.into()]);
    [numbers(&numbered), drops].concat()
}
