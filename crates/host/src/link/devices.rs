//! The netlink requests by which the devices of a policy's steps change, and change back.

use crate::{
    error::Error,
    link::{
        decide::Step,
        takeover::{give_back, take},
    },
    os::{
        OsError,
        netlink::{Device, Netlink, NetlinkError, Refusal, Request},
    },
};

const UNDOING: &str = "changing the devices back";

/// Why the devices did not change.
pub(super) struct Unchanged {
    pub error: Error,
    /// The kernel refused one of the requests, and may have done the others.
    pub partly: bool,
}

/// Change all devices in one batch.
pub(super) fn change(netlink: &mut Netlink, steps: &[Step]) -> Result<(), Unchanged> {
    let (devices, requests): (Vec<String>, Vec<Request>) = steps
        .iter()
        .flat_map(|step| {
            let requests = forward(step).into_iter();
            requests.map(|request| (step.device(), request))
        })
        .unzip();
    if requests.is_empty() {
        return Ok(());
    }
    let answers = netlink.batch(&requests).map_err(|error| Unchanged {
        error: OsError::netlink("changing the devices")(error),
        partly: false,
    })?;
    for (device, answer) in devices.iter().zip(answers) {
        if let Err(refusal) = answer {
            let error = OsError::netlink(format!("changing {device}"));
            return Err(Unchanged {
                error: error(NetlinkError::Refused(refusal)),
                partly: true,
            });
        }
    }
    Ok(())
}

/// Change all devices back.
pub(super) fn change_back(netlink: &mut Netlink, steps: &[Step]) -> Result<(), Error> {
    let requests: Vec<Request> = steps.iter().flat_map(backward).collect();
    match requests.is_empty() {
        true => Ok(()),
        false => netlink.all(&requests).map_err(OsError::netlink(UNDOING)),
    }
}

/// Change back those that changed.
pub(super) fn change_some_back(netlink: &mut Netlink, steps: &[Step]) -> Result<(), Error> {
    let requests: Vec<Request> = steps.iter().flat_map(backward).collect();
    // Requests that undo what was not done are refused, which is expected.
    let answers = netlink.batch(&requests);
    answers.map(drop).map_err(OsError::netlink(UNDOING))
}

fn forward(step: &Step) -> Vec<Request> {
    match step {
        Step::Attach { record, .. } => take(record),
        Step::Update {
            record, segments, ..
        } => segments
            .map(|limit| Device::limit_segments(record.owner.ifindex, limit.to))
            .into_iter()
            .collect(),
        Step::Detach { release, .. } => release.requests.clone(),
        Step::Keep { .. } => Vec::new(),
    }
}

fn backward(step: &Step) -> Vec<Request> {
    match step {
        Step::Attach { record, .. } => give_back(record.owner.ifindex, &record.before),
        Step::Update {
            record, segments, ..
        } => segments
            .map(|limit| Device::limit_segments(record.owner.ifindex, limit.from))
            .into_iter()
            .collect(),
        Step::Detach { managed, release } if !release.requests.is_empty() => {
            managed.record.as_ref().map(take).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// Give a device back as it was found.
pub(super) fn restore(
    netlink: &mut Netlink,
    name: &str,
    requests: &[Request],
) -> Result<(), Error> {
    if requests.is_empty() {
        return Ok(());
    }
    let doing = format!("restoring {name}");
    let answers = netlink
        .batch(requests)
        .map_err(OsError::netlink(doing.clone()))?;
    let took_its_qdisc_along = |refusal: &Refusal| refusal.errno == libc::ENODEV;
    match answers.into_iter().find_map(Result::err) {
        Some(refusal) if !took_its_qdisc_along(&refusal) => {
            Err(OsError::netlink(doing)(NetlinkError::Refused(refusal)))
        }
        _ => Ok(()),
    }
}
