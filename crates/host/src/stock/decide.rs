//! What a policy changes of the links on qdiscs of the kernel's own: compares them with those that
//! stand.

use std::collections::BTreeSet;

use takt_planner::{backend::Unkept, plan};
use takt_policy::{Backend, Link};

use super::{
    change::Change,
    part::{Step, Stock, known},
    record::{Netns, Place, StockRecord},
    shape::Shape,
    standing::Standing,
};
use crate::{
    bpf::pinned::SOCKETS,
    error::Error,
    link::{
        self, Before, Owners, Refusal, Replace, hardware_of, on_device, segments,
        sockets::{Slot, Sockets},
    },
    os::{
        OsError,
        netlink::{Device, Port, Qdisc},
    },
    part::{Foreign, Host},
    state::source::Source,
};

/// A link that gets one of these backends, and what that does not keep of its policy.
pub(crate) struct Wanted<'a> {
    pub link: &'a Link,
    pub backend: Backend,
    pub unkept: Vec<Unkept>,
}

impl<'a> Stock<'a> {
    /// What following the policy changes of this namespace's devices.
    pub fn decide(
        links: &[Wanted],
        source: &Source,
        replace: &Replace,
        owners: &'a Owners,
        slot: Slot,
        host: &mut Host,
    ) -> Result<Self, Refusal> {
        let ports = host.ports()?;
        let carriers = if links.is_empty() {
            Vec::new()
        } else {
            link::carriers(host)?
        };
        let mut places: BTreeSet<Place> = Place::for_namespace(host.netns_cookie)
            .into_iter()
            .collect();
        let mut steps = Vec::new();
        for Wanted {
            link,
            backend,
            unkept,
        } in links
        {
            let port = ports
                .iter()
                .find(|port| port.device.is_called(&link.device));
            let port = port.ok_or_else(|| Refusal::NoDevice {
                device: link.device.clone(),
            })?;
            let hardware = hardware_of(link, &port.device, &*ports);
            let link = &*on_device(link, &port.device, hardware);
            let place = Place::new(host.netns_cookie, port.device.index);
            places.remove(&place);
            let standing = Standing::read(&mut host.netlink, port, &place)?;
            // One that a takt was changing when it died is made anew.
            let standing = standing.filter(|standing| !standing.is_unfinished);
            let known = match &standing {
                Some(standing) => Some(standing.record.clone()),
                None => place.newest()?,
            };
            let ids = known.as_ref().map(|known| known.ids.clone());
            let planned = plan(link, &ids.unwrap_or_default(), owners.questions());
            let planned = planned.map_err(|problem| Refusal::Plan {
                device: link.device.clone(),
                problem,
            })?;
            let carrier = carriers
                .iter()
                .find(|carrier| carrier.carries && carrier.ifindex == port.device.index);
            let carried = carrier.and_then(|carrier| carrier.before.clone());
            let before = match (&standing, carried) {
                (Some(standing), _) => standing.record.before.clone(),
                (None, Some(before)) => before,
                (None, None) => before(link, port, known.as_ref(), replace)?,
            };
            let record = StockRecord {
                generation: known.as_ref().map_or(1, |known| known.generation + 1),
                device: link.device.clone(),
                ifindex: port.device.index,
                netns: Netns::own(host.netns_cookie)?,
                source: source.clone(),
                shape: Shape::new(*backend, link, &planned.ids, &port.device),
                who_slot: (planned.tables.rules.need_who != 0).then_some(slot.index),
                program: None,
                keeps_clsact: match &known {
                    Some(known) => known.keeps_clsact,
                    None => has_clsact(host, port)?,
                },
                queues: port.device.queues,
                ids: planned.ids,
                rate_bps: link.rate_bps,
                framing: link.framing,
                unkept: unkept.clone(),
                gso_max_segs: segments::limit(link, &port.device, before.gso_max_segs),
                before: before.clone(),
            };
            steps.push(match standing {
                Some(from) if !asks_others(&record)? && is_same(&from.record, &record, port) => {
                    Step::Keep {
                        record: from.record,
                    }
                }
                Some(from) => Step::Turn {
                    from: Box::new(from),
                    record,
                    plan: planned.tables,
                    hardware,
                    program: None,
                    old_program: None,
                },
                None => Step::Make {
                    record,
                    plan: planned.tables,
                    hardware,
                    program: None,
                    is_broken: port.carries_stock(),
                    until_then: if port.carries_stock() {
                        // A takt died, and what it left is not worth having again.
                        before
                    } else {
                        Before {
                            qdisc: port.root.clone(),
                            gso_max_segs: port.device.gso_max_segs,
                        }
                    },
                },
            });
        }
        for place in places {
            steps.extend(leave(host, &ports, &place)?);
        }
        Ok(Self {
            steps,
            owners,
            slot,
            committed: 0,
        })
    }
}

fn has_clsact(host: &mut Host, port: &Port) -> Result<bool, Error> {
    let qdiscs = Qdisc::list(&mut host.netlink, port.device.index)
        .map_err(OsError::netlink("listing qdiscs"))?;
    Ok(qdiscs.iter().any(Qdisc::is_clsact))
}

/// Whether the answers that the link reads come from another version's programs.
fn asks_others(record: &StockRecord) -> Result<bool, Error> {
    Ok(record.who_slot.is_some() && SOCKETS.is_pinned()? && Sockets::open()?.is_none())
}

/// Whether the device follows the policy already.
fn is_same(standing: &StockRecord, wanted: &StockRecord, port: &Port) -> bool {
    let segments = wanted.gso_max_segs.unwrap_or(wanted.before.gso_max_segs);
    let numbered = StockRecord {
        generation: standing.generation,
        program: standing.program,
        ..wanted.clone()
    };
    *standing == numbered && port.device.gso_max_segs == segments
}

/// What `revert` restores of a device that has no such link.
fn before(
    link: &Link,
    port: &Port,
    known: Option<&StockRecord>,
    replace: &Replace,
) -> Result<Before, Refusal> {
    // Takt's qdiscs without a policy are no other program's.
    if let Some(known) = known.filter(|_| port.carries_stock()) {
        return Ok(known.before.clone());
    }
    link::refuse_foreign_root(&link.device, port, replace)?;
    // Removing the qdisc by hand does not restore the segment limit.
    let known = known.filter(|known| known.gso_max_segs == Some(port.device.gso_max_segs));
    Ok(Before {
        qdisc: port.root.clone(),
        gso_max_segs: known.map_or(port.device.gso_max_segs, |known| known.before.gso_max_segs),
    })
}

/// The policy does not name this device any more. `None`: there is nothing to do.
fn leave(host: &mut Host, ports: &[Port], place: &Place) -> Result<Option<Step>, Error> {
    let Some((record, standing)) = known(host, ports, place)? else {
        return Ok(None);
    };
    let port = ports.iter().find(|port| port.device.index == place.ifindex);
    Ok(Some(Step::GiveBack {
        change: release(&record, port).0,
        restores_root: port.is_some_and(Port::carries_stock),
        record,
        standing: standing.map(Box::new),
        program: None,
    }))
}

/// How to take a link from a device; and whether another program has changed it.
pub(super) fn release(
    record: &StockRecord,
    port: Option<&Port>,
) -> (Change<'static>, Option<Foreign>) {
    let Some(port) = port else {
        return (Change::detach(Vec::new()), None);
    };
    if port.carries_stock() {
        return (Change::give_back(record.ifindex, &record.before), None);
    }
    let is_limit_ours = record.gso_max_segs == Some(port.device.gso_max_segs);
    let limit =
        is_limit_ours.then(|| Device::limit_segments(record.ifindex, record.before.gso_max_segs));
    let foreign = Foreign::Changed {
        device: port.device.name.clone(),
        found: port.describe_root(),
    };
    (Change::detach(limit.into_iter().collect()), Some(foreign))
}
