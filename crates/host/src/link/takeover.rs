//! The requests that take a device over, and give it back.

use crate::{
    error::Error,
    link::{
        managed::Managed,
        program::handle_of,
        record::{Before, Record},
    },
    os::{
        OsError,
        netlink::{Device, Handle, Netlink, NetlinkError, Port, Qdisc, Refusal, Request, TAKT},
    },
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

/// The kernel refused to give a device of this number and name the qdisc back that it had before. If
/// it still carries takt's, it gets the kernel's default, and that is returned.
pub(crate) fn fall_back(
    netlink: &mut Netlink,
    ifindex: u32,
    device: &str,
    before: &Qdisc,
    refusal: &Refusal,
) -> Result<Option<Foreign>, Error> {
    let ports = Port::list(netlink)?;
    let is_takts = |port: &Port| {
        let root = port.root.as_ref();
        root.is_some_and(|root| root.kind == TAKT) || port.carries_stock()
    };
    let mut ports = ports.iter().filter(|port| port.device.index == ifindex);
    if !ports.any(is_takts) {
        return Ok(None);
    }
    netlink
        .all(&[Qdisc::delete_root(ifindex)])
        .map_err(OsError::netlink(format!(
            "removing takt's qdisc from {device}"
        )))?;
    Ok(Some(Foreign::NotRestored {
        device: device.to_owned(),
        kind: before.kind.clone(),
        handle: before.handle.to_string(),
        reason: refusal.to_string(),
    }))
}

/// How to remove takt from a managed device, if the qdisc is still takt's.
pub(crate) struct Release {
    pub requests: Vec<Request>,
    /// The number of the device and the qdisc that the first request restores; `None`: it restores
    /// none.
    pub restores: Option<(u32, Qdisc)>,
    /// Another program changed the device; its changes stay.
    pub foreign: Option<Foreign>,
}

impl Release {
    fn nothing() -> Self {
        Self {
            requests: Vec::new(),
            restores: None,
            foreign: None,
        }
    }

    /// Give the device of this name back. Returns what of it another program changed,
    /// or the kernel did not take back.
    pub fn carry_out(self, netlink: &mut Netlink, device: &str) -> Result<Option<Foreign>, Error> {
        if self.requests.is_empty() {
            return Ok(self.foreign);
        }
        let doing = format!("restoring {device}");
        let answers = netlink
            .batch(&self.requests)
            .map_err(OsError::netlink(doing.clone()))?;
        // A device that is gone took its qdisc along.
        let refused = answers.into_iter().enumerate().find_map(|(at, answer)| {
            let refusal = { answer.err() }.filter(|refusal| refusal.errno != libc::ENODEV)?;
            Some((at, refusal))
        });
        match (refused, &self.restores) {
            (None, _) => Ok(self.foreign),
            (Some((0, refusal)), Some((ifindex, before))) => {
                fall_back(netlink, *ifindex, device, before, &refusal)
            }
            (Some((_, refusal)), _) => Err(OsError::netlink(doing)(NetlinkError::Refused(refusal))),
        }
    }
}

pub(crate) fn release(managed: &Managed, port: Option<&Port>) -> Release {
    release_of(managed.index, managed.record.as_ref(), port)
}

/// Likewise, by the link's number and record.
pub(crate) fn release_of(index: u32, record: Option<&Record>, port: Option<&Port>) -> Release {
    // The qdisc of a device that is gone is gone, too.
    let Some(port) = port else {
        return Release::nothing();
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
            ..Release::nothing()
        };
    };
    if port.carries(index) {
        return Release {
            requests: give_back(ifindex, &record.before),
            restores: { record.before.qdisc.clone() }.map(|before| (ifindex, before)),
            foreign: None,
        };
    }
    let untouched_limit = record.gso_max_segs == Some(port.device.gso_max_segs);
    Release {
        requests: untouched_limit
            .then(|| Device::limit_segments(ifindex, record.before.gso_max_segs))
            .into_iter()
            .collect(),
        restores: None,
        foreign: Some(Foreign::Changed {
            device: port.device.name.clone(),
            found: port.describe_root(),
        }),
    }
}
