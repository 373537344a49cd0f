//! The netlink requests by which the devices of a policy's steps change, and change back.

use crate::{
    error::Error,
    link::{
        decide::Step,
        takeover::{fall_back, give_back, take},
    },
    os::{
        OsError,
        netlink::{Device, Netlink, NetlinkError, Refusal, Request},
    },
    part::Foreign,
};

const UNDOING: &str = "changing the devices back";

/// Why the devices did not change.
pub(super) struct Unchanged {
    pub error: Error,
    /// The kernel refused one of the requests, and may have done the others.
    pub partly: bool,
}

/// Change all devices in one batch. A device whose former qdisc the kernel refuses gets the
/// kernel's default, and holds up no other. Returns those.
pub(super) fn change(netlink: &mut Netlink, steps: &[Step]) -> Result<Vec<Foreign>, Unchanged> {
    let refused = carry_out(netlink, steps, forward).map_err(|error| Unchanged {
        error: OsError::netlink("changing the devices")(error),
        partly: false,
    })?;
    let mut not_restored = Vec::new();
    for Refused {
        step,
        is_first,
        refusal,
    } in refused
    {
        let device = step.device();
        let restored = match step {
            Step::Detach { release, .. } if is_first => release.restores.as_ref(),
            _ => None,
        };
        let fallen = match restored {
            Some((ifindex, before)) => fall_back(netlink, *ifindex, &device, before, &refusal),
            None => Err(OsError::netlink(format!("changing {device}"))(
                NetlinkError::Refused(refusal),
            )),
        };
        let fallen = fallen.map_err(|error| Unchanged {
            error,
            partly: true,
        })?;
        not_restored.extend(fallen);
    }
    Ok(not_restored)
}

/// Change all devices back. `partly`: only some of them changed. Returns what is not as it was.
pub(super) fn change_back(netlink: &mut Netlink, steps: &[Step], partly: bool) -> Vec<Error> {
    let refused = match carry_out(netlink, steps, backward) {
        Ok(refused) => refused,
        Err(error) => return vec![OsError::netlink(UNDOING)(error)],
    };
    let mut failures = Vec::new();
    for Refused {
        step,
        is_first,
        refusal,
    } in refused
    {
        let before = match step {
            Step::Attach { record, .. } if is_first => record.before.qdisc.as_ref(),
            _ => None,
        };
        match before {
            Some(before) => {
                let device = step.device();
                match fall_back(netlink, step.ifindex(), &device, before, &refusal) {
                    Ok(fallen) => failures.extend(fallen.map(Error::from)),
                    Err(error) => failures.push(error),
                }
            }
            // Requests that undo what was not done are refused, which is expected.
            None if partly => {}
            None => failures.push(OsError::netlink(UNDOING)(NetlinkError::Refused(refusal))),
        }
    }
    failures
}

/// A request of a step that the kernel refused.
struct Refused<'a> {
    step: &'a Step,
    /// Whether it is the step's first.
    is_first: bool,
    refusal: Refusal,
}

/// Carry out all of these requests of all steps in one batch.
fn carry_out<'a>(
    netlink: &mut Netlink,
    steps: &'a [Step],
    requests_of: impl Fn(&Step) -> Vec<Request>,
) -> Result<Vec<Refused<'a>>, NetlinkError> {
    let mut places = Vec::new();
    let mut requests = Vec::new();
    for step in steps {
        let of_step = requests_of(step);
        places.extend((0..of_step.len()).map(|at| (step, at == 0)));
        requests.extend(of_step);
    }
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let answers = places.into_iter().zip(netlink.batch(&requests)?);
    let refused = answers.filter_map(|((step, is_first), answer)| {
        Some(Refused {
            step,
            is_first,
            refusal: answer.err()?,
        })
    });
    Ok(refused.collect())
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
