//! The requests that take a device over, and give it back.

use crate::{
    link::{
        managed::Managed,
        program::handle_of,
        record::{Before, Record},
    },
    os::netlink::{Device, Handle, Port, Qdisc, Request, TAKT},
    part::Foreign,
};

/// The qdisc of a link.
pub(crate) fn qdisc_of(index: u32) -> Qdisc {
    Qdisc {
        kind: TAKT.to_owned(),
        handle: Handle(handle_of(index)),
        parent: Handle::ROOT,
        options: Vec::new(),
        sizes: Vec::new(),
    }
}

/// Attach takt's qdisc to the record's device.
pub(crate) fn take(record: &Record) -> Vec<Request> {
    let limit = record
        .gso_max_segs
        .map(|limit| Device::limit_segments(record.owner.ifindex, limit));
    std::iter::once(qdisc_of(record.index).set_root(record.owner.ifindex))
        .chain(limit)
        .collect()
}

/// Restore the qdisc that a device had before takt.
pub(crate) fn give_back(ifindex: u32, before: &Before) -> Vec<Request> {
    let root = match &before.qdisc {
        Some(qdisc) => qdisc.set_root(ifindex),
        None => Qdisc::delete_root(ifindex),
    };
    vec![root, Device::limit_segments(ifindex, before.gso_max_segs)]
}

/// How to remove takt from a managed device, if the qdisc is still takt's.
pub(crate) struct Release {
    pub requests: Vec<Request>,
    /// Another program changed the device; its changes stay.
    pub foreign: Option<Foreign>,
}

pub(crate) fn release(managed: &Managed, port: Option<&Port>) -> Release {
    release_of(managed.index, managed.record.as_ref(), port)
}

/// Likewise, by the link's number and record.
pub(crate) fn release_of(index: u32, record: Option<&Record>, port: Option<&Port>) -> Release {
    // The qdisc of a device that is gone is gone, too.
    let Some(port) = port else {
        return Release {
            requests: Vec::new(),
            foreign: None,
        };
    };
    let ifindex = port.device.index;
    let Some(record) = record else {
        let ours = port.carries(index);
        let requests = ours
            .then(|| Qdisc::delete_root(ifindex))
            .into_iter()
            .collect();
        return Release {
            requests,
            foreign: None,
        };
    };
    if port.carries(index) {
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
