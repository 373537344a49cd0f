//! The part of a transaction that is the links' on qdiscs of the kernel's own.
//!
//! Such a link is made in several system calls. The last one puts its program in force, which says
//! which policy that is: a takt that died before has left qdiscs without a policy, which the next
//! takt takes back.

use std::{collections::BTreeSet, os::fd::OwnedFd};

use takt_algo::{sys::takt_plan, zeroed_box};
use takt_planner::{departure::Departure, flow::SocketRates, tree::Tree};

use super::{
    change::{Change, clear},
    decide::{Wanted, release},
    flow::Hold,
    program,
    record::{self, Place, StockRecord},
    sender::Asking,
    shape::Shape,
    standing::Standing,
    status,
};
use crate::{
    error::Error,
    link::{
        Action, Before, Carrier, LinkStatus, Outcome, Owners, Refusal, Replace, Reverted,
        lost::Carries,
        segments::Limited,
        sockets::{Slot, SlotInUse, Sockets},
    },
    os::netlink::Port,
    part::{Ending, Host, Part, Query, Undone},
    state::source::Source,
};

/// What a policy changes of these links.
pub(crate) struct Stock<'a> {
    pub(super) steps: Vec<Step>,
    pub(super) owners: &'a Owners,
    pub(super) slot: Slot,
    pub(super) committed: usize,
}

/// What applying a policy does to one link. Programs are loaded when the steps are prepared.
pub(super) enum Step {
    Make {
        record: StockRecord,
        plan: Box<takt_plan>,
        /// The device's type, as `ARPHRD_*`.
        hardware: u16,
        program: Option<OwnedFd>,
        /// The device has qdiscs of takt's without a policy.
        is_broken: bool,
        /// What the device gets again if that fails.
        until_then: Before,
    },
    Turn {
        from: Box<Standing>,
        record: StockRecord,
        plan: Box<takt_plan>,
        /// The device's type, as `ARPHRD_*`.
        hardware: u16,
        program: Option<OwnedFd>,
        old_program: Option<OwnedFd>,
    },
    Keep {
        record: StockRecord,
    },
    GiveBack {
        record: StockRecord,
        /// `None`: it is broken, or gone.
        standing: Option<Box<Standing>>,
        program: Option<OwnedFd>,
        /// The device still has takt's root qdisc.
        restores_root: bool,
        change: Change<'static>,
    },
}

impl Step {
    fn record(&self) -> &StockRecord {
        match self {
            Self::Make { record, .. }
            | Self::Turn { record, .. }
            | Self::Keep { record }
            | Self::GiveBack { record, .. } => record,
        }
    }

    fn place(&self) -> Place {
        place_of(self.record())
    }

    fn action(&self) -> Action {
        match self {
            Self::Make { .. } => Action::Attached,
            Self::Turn { .. } => Action::Updated,
            Self::Keep { .. } => Action::Unchanged,
            Self::GiveBack { .. } => Action::Detached,
        }
    }
}

fn place_of(record: &StockRecord) -> Place {
    Place::new(record.netns.cookie, record.ifindex)
}

impl<'a> Stock<'a> {
    /// Serve devices of the policy in force again that have lost their link, and leave all other
    /// links as they are.
    pub fn attach_again(
        links: &[Wanted],
        source: &Source,
        replace: &Replace,
        owners: &'a Owners,
        slot: Slot,
        host: &mut Host,
    ) -> Result<Self, Refusal> {
        let mut part = Self::decide(links, source, replace, owners, slot, host)?;
        let ports = host.ports()?;
        // The device that went has the same name, but another number.
        let went = |record: &StockRecord| {
            let is_away = ports.iter().all(|port| port.device.index != record.ifindex);
            is_away
                && links
                    .iter()
                    .any(|wanted| wanted.link.device == record.device)
        };
        part.steps.retain(|step| match step {
            Step::Make { .. } => true,
            Step::GiveBack { record, .. } => went(record),
            Step::Turn { .. } | Step::Keep { .. } => false,
        });
        Ok(part)
    }

    /// Whether any of the links asks about the owners of sockets.
    fn asks(&self) -> bool {
        let stays = |step: &&Step| !matches!(step, Step::GiveBack { .. });
        let mut stay = self.steps.iter().filter(stays);
        stay.any(|step| step.record().who_slot.is_some())
    }

    pub fn outcomes(&self) -> Vec<Outcome> {
        self.steps
            .iter()
            .map(|step| Outcome {
                device: step.record().device.clone(),
                action: step.action(),
                backend: step.record().shape.backend(),
                receive: None,
                without_ip: false,
                opaque: Vec::new(),
            })
            .collect()
    }

    /// The devices that have such a link from now on.
    pub fn devices(&self) -> BTreeSet<u32> {
        let stays = |step: &&Step| !matches!(step, Step::GiveBack { .. });
        let stay = self.steps.iter().filter(stays);
        stay.map(|step| step.record().ifindex).collect()
    }

    /// Those whose links go, with what they have then.
    pub fn given_back(&self) -> impl Iterator<Item = (u32, &Before)> {
        self.steps.iter().filter_map(|step| match step {
            Step::GiveBack {
                record,
                restores_root: true,
                ..
            } => Some((record.ifindex, &record.before)),
            _ => None,
        })
    }
}

/// A record, and the link that stands by it: that record's, or none and the newest record.
pub(super) type Known = (StockRecord, Option<Standing>);

/// What is known of a device.
pub(super) fn known(
    host: &mut Host,
    ports: &[Port],
    place: &Place,
) -> Result<Option<Known>, Error> {
    let port = ports.iter().find(|port| port.device.index == place.ifindex);
    let standing = match port {
        Some(port) => Standing::read(&mut host.netlink, port, place)?,
        None => None,
    };
    let record = match &standing {
        Some(standing) => Some(standing.record.clone()),
        None => place.newest()?,
    };
    Ok(record.map(|record| (record, standing)))
}

/// Whether a device carries such a link. One that a takt was changing when it died is for the next
/// `apply`, and no other program's.
pub(crate) fn carries(host: &mut Host, port: &Port) -> Result<Carries, Error> {
    if port.carries_stock() {
        return Ok(Carries::Takt);
    }
    let place = Place::new(host.netns_cookie, port.device.index);
    Ok(match place.newest()? {
        Some(_) => Carries::NoMore,
        None => Carries::Never,
    })
}

/// The limit of segments of a device that carries such a link.
pub(crate) fn limited(netns_cookie: u64, port: &Port) -> Result<Option<Limited>, Error> {
    if !port.carries_stock() {
        return Ok(None);
    }
    let newest = Place::new(netns_cookie, port.device.index).newest()?;
    Ok(newest.map(|record| Limited {
        limit: record.gso_max_segs,
        before: record.before.gso_max_segs,
    }))
}

/// Of all devices of this namespace.
fn records(host: &mut Host) -> Result<Vec<Known>, Error> {
    let ports = host.ports()?;
    let places = Place::for_namespace(host.netns_cookie);
    let known = places.iter().map(|place| known(host, &ports, place));
    known.filter_map(Result::transpose).collect()
}

/// The slots that such links of this namespace read.
pub(crate) fn slots(host: &mut Host) -> Result<Vec<SlotInUse>, Error> {
    let in_use = |(record, _): Known| {
        Some(SlotInUse {
            index: record.who_slot?,
            source: Some(record.source),
        })
    };
    Ok(records(host)?.into_iter().filter_map(in_use).collect())
}

/// The devices of this namespace that have such links. One without a policy is takt's as well.
pub(crate) fn carriers(host: &mut Host) -> Result<Vec<Carrier>, Error> {
    let ports = host.ports()?;
    let carrier = |(record, _): Known| {
        let port = ports
            .iter()
            .find(|port| port.device.index == record.ifindex);
        Carrier {
            ifindex: record.ifindex,
            carries: port.is_some_and(Port::carries_stock),
            before: Some(record.before),
        }
    };
    Ok(records(host)?.into_iter().map(carrier).collect())
}

impl Part for Stock<'_> {
    type Undone = Vec<Reverted>;
    type Status = Vec<LinkStatus>;

    fn sweep(host: &mut Host) -> Result<(), Error> {
        for place in Place::all() {
            let Some(newest) = place.newest()? else {
                place.forget()?;
                continue;
            };
            if newest.netns.cookie != host.netns_cookie {
                if newest.netns.is_gone() {
                    Hold::of_link(&place).release()?;
                    place.forget()?;
                }
                continue;
            }
            let ports = host.ports()?;
            let port = ports.iter().find(|port| port.device.index == place.ifindex);
            let Some(port) = port else {
                continue;
            };
            let standing = Standing::read(&mut host.netlink, port, &place)?;
            if standing.is_some() || place.has_stood() {
                continue;
            }
            // A takt died before the link was in force.
            if port.carries_stock() {
                let change = Change::give_back(place.ifindex, &newest.before);
                let fallen = change.carry_out(&mut host.netlink, &place, &newest.device)?;
                host.not_restored.extend(fallen);
                host.forget_ports();
            }
            Hold::of_link(&place).release()?;
            place.forget()?;
        }
        Ok(())
    }

    fn revert(host: &mut Host, _: Ending) -> Result<Undone<Self::Undone>, Error> {
        let mut undone = Undone::all(Vec::new());
        let ports = host.ports()?;
        for place in Place::for_namespace(host.netns_cookie) {
            let Some(record) = place.newest()? else {
                continue;
            };
            let port = ports.iter().find(|port| port.device.index == place.ifindex);
            let (change, foreign) = release(&record, port);
            let fallen = change.carry_out(&mut host.netlink, &place, &record.device)?;
            let foreign = foreign.or(fallen);
            place.forget()?;
            undone.done.push(Reverted {
                device: record.device,
                left: foreign.as_ref().map(ToString::to_string),
            });
            undone.foreign.extend(foreign);
        }
        Ok(undone)
    }

    fn source(host: &mut Host) -> Result<Option<Source>, Error> {
        let places = Place::for_namespace(host.netns_cookie);
        let Some(place) = places.first() else {
            return Ok(None);
        };
        Ok(place.newest()?.map(|record| record.source))
    }

    fn status(host: &mut Host, query: Query) -> Result<Self::Status, Error> {
        let ports = host.ports()?;
        let mut links = Vec::new();
        for (record, standing) in records(host)? {
            let port = ports
                .iter()
                .find(|port| port.device.index == record.ifindex);
            let standing = standing.as_ref();
            links.push(status::of_link(host, &record, port, standing, query)?);
        }
        Ok(links)
    }

    fn settle() -> Result<bool, Error> {
        Ok(record::are_there())
    }

    fn verify(&self) -> Result<(), Error> {
        if self.asks() {
            Sockets::verify()?;
        }
        let loads = |step: &Step| matches!(step, Step::Make { .. } | Step::Turn { .. });
        let mut loading = self.steps.iter().filter(|step| loads(step));
        loading.try_for_each(|step| verify(&step.record().shape, step.record().who_slot))
    }

    fn prepare(&mut self, host: &mut Host) -> Result<(), Error> {
        let sockets = self.asks().then(Sockets::open_or_load).transpose()?;
        if let Some(sockets) = &sockets {
            self.owners.ask(sockets, host.netns_cookie, self.slot)?;
        }
        let sockets = sockets.as_ref();
        for step in &mut self.steps {
            let place = step.place();
            match step {
                Step::Make {
                    record,
                    plan,
                    hardware,
                    program,
                    ..
                } => {
                    let asking = asking(record.who_slot, sockets);
                    let asking = asking.as_ref();
                    let loaded =
                        program::load(&record.shape, &plan.rules, *hardware, asking, None)?;
                    record.program = Some(program::id_of(&loaded)?);
                    *program = Some(loaded);
                    place.write(record)?;
                }
                Step::Turn {
                    from,
                    record,
                    plan,
                    hardware,
                    program,
                    old_program,
                } => {
                    let old = program::open(from.program)?;
                    let clocks = is_same_backend(from, record).then_some(&old);
                    let asking = asking(record.who_slot, sockets);
                    let asking = asking.as_ref();
                    let loaded =
                        program::load(&record.shape, &plan.rules, *hardware, asking, clocks)?;
                    record.program = Some(program::id_of(&loaded)?);
                    *program = Some(loaded);
                    *old_program = Some(old);
                    place.write(record)?;
                }
                Step::GiveBack {
                    standing, program, ..
                } => {
                    if let Some(standing) = standing {
                        *program = Some(program::open(standing.program)?);
                    }
                }
                Step::Keep { .. } => {}
            }
        }
        Ok(())
    }

    fn commit(&mut self, host: &mut Host) -> Result<(), Error> {
        for step in &self.steps {
            self.committed += 1;
            let place = step.place();
            let device = &step.record().device;
            let netlink = &mut host.netlink;
            let fallen = match step {
                Step::Make {
                    record,
                    program: Some(program),
                    is_broken,
                    ..
                } => {
                    if *is_broken {
                        clear(netlink, &place)?;
                    }
                    Change::make(record, program).carry_out(netlink, &place, device)?
                }
                Step::Turn {
                    from,
                    record,
                    program: Some(program),
                    old_program: Some(old),
                    ..
                } if is_same_backend(from, record) => {
                    Change::turn(&from.record, record, program, old)
                        .carry_out(netlink, &place, device)?
                }
                Step::Turn {
                    record,
                    program: Some(program),
                    ..
                } => {
                    clear(netlink, &place)?;
                    Change::make(record, program).carry_out(netlink, &place, device)?
                }
                Step::GiveBack { change, .. } => change.carry_out(netlink, &place, device)?,
                _ => None,
            };
            host.not_restored.extend(fallen);
        }
        Ok(())
    }

    fn undo(&mut self, host: &mut Host) -> Vec<Error> {
        let mut failures = Vec::new();
        for (at, step) in self.steps.iter().enumerate().rev() {
            let place = step.place();
            let change = backward(step).filter(|_| at < self.committed);
            if let Some(change) = change {
                // The last one may have come half the way, and is made anew.
                if !matches!(step, Step::Make { .. }) {
                    failures.extend(clear(&mut host.netlink, &place).err());
                }
                let device = &step.record().device;
                match change.carry_out(&mut host.netlink, &place, device) {
                    Ok(fallen) => failures.extend(fallen.map(Error::from)),
                    Err(error) => failures.push(error),
                }
            }
            let forgotten = match step {
                Step::Make { .. } => place.forget(),
                Step::Turn { record, .. } => place.discard(record.generation),
                Step::Keep { .. } | Step::GiveBack { .. } => Ok(()),
            };
            failures.extend(forgotten.err());
        }
        failures
    }

    fn tidy(&mut self, _: &mut Host) -> Result<(), Error> {
        for step in &self.steps {
            let place = step.place();
            match step {
                Step::GiveBack { .. } => place.forget()?,
                Step::Make { record, .. } | Step::Turn { record, .. } | Step::Keep { record } => {
                    place.keep_only(record.generation)?;
                    place.note_standing()?;
                }
            }
        }
        Ok(())
    }
}

/// Load the program of a tree without rules, and leave nothing loaded.
pub(crate) fn verify_tree() -> Result<(), Error> {
    verify(&Shape::Tree(Tree::default()), None)
}

/// The same of the one that stamps departure times.
pub(crate) fn verify_departure() -> Result<(), Error> {
    let terms = Departure {
        is_oversubscribed: true,
        ..Departure::default()
    };
    verify(&Shape::Departure(terms), None)
}

/// The same of those that set rates on sockets.
pub(crate) fn verify_flow() -> Result<(), Error> {
    verify(&Shape::Flow(SocketRates::default()), None)
}

fn verify(shape: &Shape, who_slot: Option<u32>) -> Result<(), Error> {
    let plan = zeroed_box::<takt_plan>();
    let asking = asking(who_slot, None);
    let ethernet = libc::ARPHRD_ETHER;
    program::load(shape, &plan.rules, ethernet, asking.as_ref(), None).map(drop)
}

fn asking(who_slot: Option<u32>, sockets: Option<&Sockets>) -> Option<Asking<'_>> {
    who_slot.map(|slot| Asking { slot, sockets })
}

fn is_same_backend(from: &Standing, to: &StockRecord) -> bool {
    from.record.shape.backend() == to.shape.backend()
}

/// What undoes a step that was begun.
fn backward(step: &Step) -> Option<Change<'_>> {
    match step {
        Step::Make {
            record, until_then, ..
        } => Some(Change::give_back(record.ifindex, until_then)),
        Step::Turn {
            from,
            old_program: Some(program),
            ..
        } => Some(Change::make(&from.record, program)),
        Step::GiveBack {
            standing: Some(standing),
            program: Some(program),
            ..
        } => Some(Change::make(&standing.record, program)),
        Step::Turn { .. } | Step::GiveBack { .. } | Step::Keep { .. } => None,
    }
}
