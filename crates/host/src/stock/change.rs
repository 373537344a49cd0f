//! What a change does to a device: requests for its qdiscs, and then the program that it calls.

use std::os::fd::OwnedFd;

use takt_planner::flow::SocketRates;

use super::{
    departure,
    flow::Hold,
    hook,
    record::{Place, StockRecord},
    shape::Shape,
    tree,
};
use crate::{
    error::Error,
    link::{Before, takeover::fall_back},
    os::{
        OsError,
        netlink::{Device, Netlink, NetlinkError, Qdisc, Request},
    },
    part::Foreign,
};

/// The kernel answers while it takes requests: the answers to so many fit the socket's buffer.
const REQUESTS_AT_ONCE: usize = 64;

/// A change of one device.
pub(super) struct Change<'a> {
    pub requests: Vec<Request>,
    /// The qdisc that the first request restores; `None`: it restores none.
    pub restores: Option<Qdisc>,
    pub hook: Hook<'a>,
    /// The kernel's options that it needs; empty: no more than the device had.
    pub needs: &'static str,
}

/// What a change does about the program before the qdisc.
pub(super) enum Hook<'a> {
    /// Nothing: a tree's classifier is a filter of its qdisc.
    Leave,
    /// Have the device call a program, in the place of another.
    Attach {
        program: &'a OwnedFd,
        before: Option<&'a OwnedFd>,
        name: String,
    },
    /// Set rates on sockets, by a link's program, in the place of another or of none.
    SetRates {
        record: &'a StockRecord,
        terms: &'a SocketRates,
        program: &'a OwnedFd,
        turns: bool,
    },
    /// Take away whichever is takt's.
    Detach,
}

impl<'a> Change<'a> {
    /// Put a link in the place of what is there.
    pub fn make(record: &'a StockRecord, program: &'a OwnedFd) -> Self {
        let mut change = Self::put(record, program, None);
        let limit = record.gso_max_segs;
        let limit = limit.map(|limit| Device::limit_segments(record.ifindex, limit));
        change.requests.extend(limit);
        change
    }

    /// Turn a link into another of the same backend on the same device.
    pub fn turn(
        from: &StockRecord,
        to: &'a StockRecord,
        program: &'a OwnedFd,
        before: &'a OwnedFd,
    ) -> Self {
        let mut change = Self::put(to, program, Some((from, before)));
        let (old, new) = (segments(from), segments(to));
        if old != new {
            change
                .requests
                .push(Device::limit_segments(to.ifindex, new));
        }
        change
    }

    fn put(
        record: &'a StockRecord,
        program: &'a OwnedFd,
        before: Option<(&StockRecord, &'a OwnedFd)>,
    ) -> Self {
        let from = before.map(|(from, _)| &from.shape);
        match (&record.shape, from) {
            (Shape::Tree(to), Some(Shape::Tree(from))) => Self {
                requests: tree::turn(from, record, to, program),
                restores: None,
                hook: Hook::Leave,
                needs: record.shape.needs(),
            },
            (Shape::Tree(tree), _) => Self {
                requests: tree::make(record, tree, program),
                restores: None,
                hook: Hook::Leave,
                needs: record.shape.needs(),
            },
            (Shape::Departure(terms), from) => {
                let is_same = matches!(from, Some(Shape::Departure(old)) if old.fq == terms.fq);
                let keeps = is_same && before.is_some_and(|(from, _)| from.queues == record.queues);
                Self {
                    requests: if keeps {
                        Vec::new()
                    } else {
                        // The program sees to those beyond the horizon.
                        departure::set(record, &terms.fq, true)
                    },
                    restores: None,
                    hook: Hook::Attach {
                        program,
                        before: before.map(|(_, before)| before),
                        name: record.program_name(),
                    },
                    needs: record.shape.needs(),
                }
            }
            (Shape::Flow(terms), from) => {
                let is_same = matches!(from, Some(Shape::Flow(old))
                    if old.fq == terms.fq && old.drops_beyond == terms.drops_beyond);
                let keeps = is_same && before.is_some_and(|(from, _)| from.queues == record.queues);
                Self {
                    requests: if keeps {
                        Vec::new()
                    } else {
                        departure::set(record, &terms.fq, terms.drops_beyond)
                    },
                    restores: None,
                    hook: Hook::SetRates {
                        record,
                        terms,
                        program,
                        turns: before.is_some(),
                    },
                    needs: record.shape.needs(),
                }
            }
        }
    }

    /// Restore what the device had before takt.
    pub fn give_back(device: u32, before: &Before) -> Self {
        let root = match &before.qdisc {
            Some(qdisc) => qdisc.set_root(device),
            None => Qdisc::delete_root(device),
        };
        Self {
            requests: vec![root, Device::limit_segments(device, before.gso_max_segs)],
            restores: before.qdisc.clone(),
            ..Self::detach(Vec::new())
        }
    }

    /// Take takt's program away, after these requests.
    pub fn detach(requests: Vec<Request>) -> Self {
        Self {
            requests,
            restores: None,
            hook: Hook::Detach,
            needs: "",
        }
    }

    /// Carry it out, until the kernel refuses a part of it. If that is the qdisc that the device
    /// had before, the device gets the kernel's default, which is returned. `device`: its name.
    pub fn carry_out(
        &self,
        netlink: &mut Netlink,
        place: &Place,
        device: &str,
    ) -> Result<Option<Foreign>, Error> {
        let mut not_restored = None;
        for (chunk, some) in self.requests.chunks(REQUESTS_AT_ONCE).enumerate() {
            let answers = netlink.batch(some).map_err(|error| self.explain(error))?;
            let refused = answers.into_iter().enumerate();
            for (at, refusal) in refused.filter_map(|(at, answer)| Some((at, answer.err()?))) {
                let first = self.restores.as_ref().filter(|_| (chunk, at) == (0, 0));
                let Some(before) = first else {
                    return Err(self.explain(NetlinkError::Refused(refusal)));
                };
                not_restored = fall_back(netlink, place.ifindex, device, before, &refusal)?;
            }
        }
        match &self.hook {
            Hook::Leave => Ok(()),
            Hook::Attach {
                program,
                before,
                name,
            } => hook::attach(netlink, place.ifindex, program, *before, name),
            Hook::SetRates {
                record,
                terms,
                program,
                turns,
            } => {
                // These would take the rates that keep segments short for the applications' own.
                Hold::of_segments(place).release()?;
                Hold::of_link(place).attach(record.who_slot, terms, program, *turns)
            }
            Hook::Detach => detach(netlink, place),
        }?;
        Ok(not_restored)
    }
}

impl Change<'_> {
    /// The kernel does not say which kind of qdisc it lacks.
    fn explain(&self, error: NetlinkError) -> Error {
        let doing = "changing the qdiscs of a device";
        let lacks_kind = error.errno() == Some(libc::ENOENT) && !self.needs.is_empty();
        if lacks_kind {
            OsError::netlink(format!("{doing}, which needs {}", self.needs))(error)
        } else {
            OsError::netlink(doing)(error)
        }
    }
}

/// Take away what a device has of takt's, so that all of it can be made. It may have nothing.
pub(super) fn clear(netlink: &mut Netlink, place: &Place) -> Result<(), Error> {
    let answers = netlink.batch(&[Qdisc::delete_root(place.ifindex)]);
    answers
        .map(drop)
        .map_err(OsError::netlink("removing the qdiscs of a device"))?;
    detach(netlink, place)
}

fn detach(netlink: &mut Netlink, place: &Place) -> Result<(), Error> {
    for record in place.records()? {
        let is_hooked = matches!(record.shape, Shape::Departure(_));
        if let Some(program) = record.program.filter(|_| is_hooked) {
            hook::detach(netlink, place.ifindex, program, record.keeps_clsact)?;
        }
    }
    Hold::of_link(place).release()
}

fn segments(record: &StockRecord) -> u32 {
    record.gso_max_segs.unwrap_or(record.before.gso_max_segs)
}
