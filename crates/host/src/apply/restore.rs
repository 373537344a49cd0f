//! Restoring what was in force before a policy on trial, and nothing else: what was changed
//! meanwhile by other programs is left alone and named.

use std::{collections::BTreeSet, rc::Rc};

use serde::{Deserialize, Serialize};
use takt_policy::{Link, Policy};

use crate::{
    apply::{
        TrialError, announce, applied_policy, apply_locked, revert::revert_all, tend,
        undecided::Undecided,
    },
    beats::{BeatsError, refuse_other_scheduler},
    crowd,
    error::Error,
    helper::Coming,
    link::{self, Carrier, Owners, Replace, proof},
    os::netlink::{Port, Qdisc},
    part::{Ending, Foreign, Host},
    state::source::Source,
    stock,
};

/// What was in force before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Replaced {
    /// `None`: no policy.
    pub source: Option<Source>,
    /// The devices that carried takt, by number.
    devices: Vec<Device>,
}

/// A device that carried takt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Device {
    ifindex: u32,
    /// The qdisc it gets if it is given back; `None`: the kernel's default.
    qdisc: Option<Qdisc>,
}

impl Replaced {
    /// What is in force now. Needs the lock.
    pub fn look() -> Result<Self, Error> {
        let (ports, carriers) = look()?;
        let mut devices = Vec::new();
        for carrier in carriers.into_iter().filter(|carrier| carrier.carries) {
            let ifindex = carrier.ifindex;
            let before = carrier.before.ok_or_else(|| {
                let port = ports.iter().find(|port| port.device.index == ifindex);
                let name = port.map_or("a device", |port| &port.device.name);
                TrialError::NotRestorable {
                    reason: format!("takt's record of {name} is lost; apply without --confirm"),
                }
            })?;
            devices.push(Device {
                ifindex,
                qdisc: before.qdisc,
            });
        }
        Ok(Self {
            source: applied_policy()?,
            devices,
        })
    }
}

/// All that restoring needs except the lock. Names are resolved here, before it is taken.
pub(crate) struct Restoration<'a> {
    /// `None`: there was no policy.
    policy: Option<Before<'a>>,
    replaced: &'a Replaced,
}

struct Before<'a> {
    policy: Policy,
    source: &'a Source,
    owners: Owners,
}

impl<'a> Restoration<'a> {
    pub fn prepare(replaced: &'a Replaced) -> Result<Self, Error> {
        let policy = replaced.source.as_ref().map(Before::prepare).transpose()?;
        Ok(Self { policy, replaced })
    }

    /// Needs the lock. `congestion` is the default congestion control that the policy on trial
    /// set, if it got so far. Returns what was left alone.
    pub fn put_back(&mut self, congestion: Option<&str>) -> Result<Vec<Error>, Error> {
        let Some(before) = &mut self.policy else {
            // Ad hoc tasks joined without a policy.
            let undone = revert_all(Ending::Policy)?;
            return Ok(undone.foreign.into_iter().map(Error::from).collect());
        };
        let mut left = Vec::new();
        let policy = &mut before.policy;
        let replace = spare_devices(policy, self.replaced, &mut left)?;
        spare_threads(policy, &mut left);
        spare_windows(policy, congestion, &mut left)?;
        let source = before.source;
        let replace = Replace::Only(replace);
        let applied = apply_locked(policy, source, &replace, false, &before.owners, None)
            .map_err(|refusal| not_restorable(source, refusal))?;
        left.extend(applied.foreign.into_iter().map(Error::from));
        Ok(left)
    }

    /// Count the restored policy's helper as running until the result is dropped. Needs the
    /// lock.
    pub fn announce(&self) -> Option<Coming> {
        self.policy
            .as_ref()
            .and_then(|before| announce(&before.policy))
    }

    /// After the lock is released.
    pub fn tend(&self) -> Result<(), Error> {
        match &self.policy {
            Some(before) => tend(&before.policy),
            // A helper that is not needed hears of the change from the kernel as well.
            None => Ok(()),
        }
    }
}

impl<'a> Before<'a> {
    fn prepare(source: &'a Source) -> Result<Self, Error> {
        let policy =
            takt_policy::parse_in(&source.folder, &source.name, &source.text).map_err(|found| {
                TrialError::NotRestorable {
                    reason: found.render(false).trim().to_owned(),
                }
            })?;
        let owners =
            Owners::look_up(&policy).map_err(|refusal| not_restorable(source, refusal.into()))?;
        Ok(Self {
            policy,
            source,
            owners,
        })
    }
}

fn not_restorable(source: &Source, refusal: Undecided) -> Error {
    match refusal {
        Undecided::Host(error) => error,
        refusal => TrialError::NotRestorable {
            reason: format!("{}: {refusal}", source.name),
        }
        .into(),
    }
}

/// Remove from the policy the devices that were changed meanwhile. Returns the devices whose
/// qdisc takt may replace.
fn spare_devices(
    policy: &mut Policy,
    replaced: &Replaced,
    left: &mut Vec<Error>,
) -> Result<BTreeSet<u32>, Error> {
    let (ports, carriers) = look()?;
    let mut replace = BTreeSet::new();
    policy
        .links
        .retain(|link| match judge(link, &ports, &carriers, replaced) {
            Fate::Stays => true,
            Fate::Comes(port) => match proof::require(&link.device, port) {
                Ok(()) => replace.insert(port.device.index),
                Err(error) => {
                    left.push(error);
                    false
                }
            },
            Fate::WasNot => false,
            Fate::Changed(foreign) => {
                left.push(foreign.into());
                false
            }
        });
    Ok(replace)
}

/// What to do with a link of the policy that is restored.
#[derive(Debug)]
enum Fate<'a> {
    /// Its device carries takt now.
    Stays,
    /// This device was given back, and is as takt left it.
    Comes(&'a Port),
    /// Its device did not carry takt before.
    WasNot,
    /// The device was changed meanwhile.
    Changed(Foreign),
}

fn judge<'a>(
    link: &Link,
    ports: &'a [Port],
    carriers: &[Carrier],
    replaced: &Replaced,
) -> Fate<'a> {
    let Some(port) = ports
        .iter()
        .find(|port| port.device.is_called(&link.device))
    else {
        return Fate::Changed(Foreign::Gone {
            device: link.device.clone(),
        });
    };
    let ifindex = port.device.index;
    // One that carries takt: on a device that changed its backend, not the link that it had.
    let carries = carriers
        .iter()
        .filter(|carrier| carrier.ifindex == ifindex)
        .map(|carrier| carrier.carries)
        .max();
    let before = replaced
        .devices
        .iter()
        .find(|device| device.ifindex == ifindex);
    fate(port, carries, before)
}

/// `carries`: whether the device carries what takt put there, if takt has a link of it.
fn fate<'a>(port: &'a Port, carries: Option<bool>, before: Option<&Device>) -> Fate<'a> {
    let changed = || Foreign::Changed {
        device: port.device.name.clone(),
        found: port.describe_root(),
    };
    match (carries, before) {
        (Some(true), _) => Fate::Stays,
        (Some(false) | None, None) => Fate::WasNot,
        (Some(false), Some(_)) => Fate::Changed(changed()),
        (None, Some(before)) if is_same(port.root.as_ref(), before.qdisc.as_ref()) => {
            match (&port.root, port.below_root) {
                (Some(root), Some(what)) => Fate::Changed(Foreign::Irreplaceable {
                    device: port.device.name.clone(),
                    kind: root.kind.clone(),
                    handle: root.handle.to_string(),
                    what,
                }),
                _ => Fate::Comes(port),
            }
        }
        (None, Some(_)) => Fate::Changed(changed()),
    }
}

/// By kind and handle: `tc` gives a new handle to each qdisc that it adds.
fn is_same(found: Option<&Qdisc>, given: Option<&Qdisc>) -> bool {
    let identity = |qdisc: &Qdisc| (qdisc.kind.clone(), qdisc.handle);
    found.map(identity) == given.map(identity)
}

/// Another scheduler was loaded meanwhile.
fn spare_threads(policy: &mut Policy, left: &mut Vec<Error>) {
    if policy.beats.is_none() {
        return;
    }
    if let Err(error) = refuse_other_scheduler()
        && let Some(BeatsError::OtherScheduler { .. }) = error.of()
    {
        policy.beats = None;
        left.push(error);
    }
}

/// The crowd's device is gone, or another congestion control was set meanwhile.
fn spare_windows(
    policy: &mut Policy,
    congestion: Option<&str>,
    left: &mut Vec<Error>,
) -> Result<(), Error> {
    let Some(crowd) = &policy.crowd else {
        return Ok(());
    };
    let (ports, _) = look()?;
    let foreign = if !ports
        .iter()
        .any(|port| port.device.is_called(&crowd.device))
    {
        Foreign::Gone {
            device: crowd.device.clone(),
        }
    } else {
        let found = crowd::default_congestion()?;
        if congestion.is_none_or(|congestion| congestion == found) {
            return Ok(());
        }
        Foreign::Congestion { found }
    };
    left.push(foreign.into());
    policy.crowd = None;
    Ok(())
}

/// The devices, and those of them that takt has links of.
fn look() -> Result<(Rc<[Port]>, Vec<Carrier>), Error> {
    let host = &mut Host::open()?;
    let mut carriers = link::carriers(host)?;
    carriers.extend(stock::carriers(host)?);
    Ok((host.ports()?, carriers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::netlink::Handle;

    fn qdisc(kind: &str, handle: u32) -> Qdisc {
        Qdisc {
            kind: kind.to_owned(),
            handle: Handle(handle),
            parent: Handle::ROOT,
            options: Vec::new(),
            sizes: Vec::new(),
        }
    }

    fn port(root: Option<Qdisc>) -> Port {
        let device = crate::os::netlink::Device {
            index: 7,
            name: "near1".to_owned(),
            ..crate::os::netlink::Device::default()
        };
        Port {
            device,
            root,
            below_root: None,
            is_given_back: false,
        }
    }

    fn before(qdisc: Option<Qdisc>) -> Device {
        Device { ifindex: 7, qdisc }
    }

    #[test]
    fn takt_comes_back_to_what_it_gave_back() {
        let fq = || Some(qdisc("fq", 0x8123_0000));
        for root in [None, fq()] {
            let given = before(root.clone());
            let port = port(root);
            let found = fate(&port, None, Some(&given));
            assert!(matches!(found, Fate::Comes(_)), "{found:?}");
        }
        // The qdiscs below it were added later.
        let below = Port {
            below_root: Some("filters"),
            ..port(fq())
        };
        let found = fate(&below, None, Some(&before(fq())));
        assert!(matches!(
            found,
            Fate::Changed(Foreign::Irreplaceable { .. })
        ));
    }

    #[test]
    fn what_others_changed_is_left_alone() {
        let fq = Some(qdisc("fq", 0x8123_0000));
        let again = Some(qdisc("fq", 0x8124_0000));
        for (root, carries, given) in [
            (fq.clone(), Some(false), None),
            (None, Some(false), None),
            (fq.clone(), None, None),
            (again, None, fq.clone()),
            (None, None, fq.clone()),
        ] {
            let port = port(root);
            let found = fate(&port, carries, Some(&before(given)));
            assert!(
                matches!(found, Fate::Changed(Foreign::Changed { .. })),
                "{found:?}"
            );
        }
    }

    #[test]
    fn what_was_not_takts_does_not_become_it() {
        let fq = Some(qdisc("fq", 0x8123_0000));
        for carries in [None, Some(false)] {
            let port = port(fq.clone());
            let found = fate(&port, carries, None);
            assert!(matches!(found, Fate::WasNot), "{found:?}");
        }
        let port = port(fq);
        let found = fate(&port, Some(true), None);
        assert!(matches!(found, Fate::Stays), "{found:?}");
    }
}
