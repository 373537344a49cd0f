//! What taking a device over, and giving it back, asks of the kernel.

use crate::{
    error::Foreign,
    link::{
        managed::{KIND, Managed, Port},
        program::handle_of,
        record::{Before, Record},
    },
    os::netlink::{Device, Handle, Qdisc, Request},
};

/// The qdisc of a link.
pub(crate) fn qdisc_of(index: u32) -> Qdisc {
    Qdisc {
        kind: KIND.to_owned(),
        handle: Handle(handle_of(index)),
        parent: Handle::ROOT,
        options: Vec::new(),
    }
}

/// Put takt on the record's device.
pub(crate) fn take(record: &Record) -> Vec<Request> {
    let limit = record
        .gso_max_segs
        .map(|limit| Device::limit_segments(record.owner.ifindex, limit));
    std::iter::once(qdisc_of(record.index).set_root(record.owner.ifindex))
        .chain(limit)
        .collect()
}

/// Put back what stood on a device before takt.
pub(crate) fn give_back(ifindex: u32, before: &Before) -> Vec<Request> {
    let root = match &before.qdisc {
        Some(qdisc) => qdisc.set_root(ifindex),
        None => Qdisc::delete_root(ifindex),
    };
    vec![root, Device::limit_segments(ifindex, before.gso_max_segs)]
}

/// How to end takt on a managed device, as far as it still is takt's.
pub(crate) struct Release {
    pub requests: Vec<Request>,
    /// Somebody else changed the device; what is theirs stays.
    pub foreign: Option<Foreign>,
}

pub(crate) fn release(managed: &Managed, port: Option<&Port>) -> Release {
    // A device that is gone took its qdisc along.
    let Some(port) = port else {
        return Release {
            requests: Vec::new(),
            foreign: None,
        };
    };
    let ifindex = port.device.index;
    let Some(record) = &managed.record else {
        let ours = port.carries(managed.index);
        let requests = ours
            .then(|| Qdisc::delete_root(ifindex))
            .into_iter()
            .collect();
        return Release {
            requests,
            foreign: None,
        };
    };
    if port.carries(managed.index) {
        return Release {
            requests: give_back(ifindex, &record.before),
            foreign: None,
        };
    }
    let untouched_limit = record.gso_max_segs == Some(port.device.gso_max_segs);
    Release {
        requests: untouched_limit
            .then(|| Device::limit_segments(ifindex, record.before.gso_max_segs))
            .into_iter()
            .collect(),
        foreign: Some(Foreign::Changed {
            device: port.device.name.clone(),
            found: port.describe_root(),
        }),
    }
}
