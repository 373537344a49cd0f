//! The part of a transaction that keeps segments short on the sockets of slow classes.
//!
//! The record is written before anything is changed, and forgotten after all is restored: what takt left
//! that died in between, the next one takes back.

use std::{collections::BTreeMap, os::fd::OwnedFd};

use takt_algo::sys::{takt_plan, takt_rules};
use takt_planner::{
    ClassIds, plan,
    segments::{SINGLE, socket_rates, told_by_sockets},
};
use takt_policy::Link;

use super::{
    above::{self, Limit},
    record::{Held, RECORDS, Record},
    round_trips,
};
use crate::{
    bpf::pins,
    error::Error,
    link::{
        Owners, segments,
        sockets::{Slot, Sockets},
    },
    os::{
        OsError,
        netlink::{Device, NetlinkError, Port, Request, header_bytes},
    },
    part::{Ending, Host, Part, Query, Undone},
    state::source::Source,
    stock::{
        self, Asking, Assigned, Place,
        flow::{Hold, load, rules_of},
        program,
    },
};

/// What a policy changes of sockets' segments.
pub(crate) struct Segments<'a> {
    owners: &'a Owners,
    slot: Slot,
    netns_cookie: u64,
    before: Option<Record>,
    wanted: Vec<Wanted>,
    above: Vec<Limit>,
    /// The programs of `before`, for undoing.
    old_programs: Vec<(u32, OwnedFd)>,
    committed: bool,
}

/// A device whose connections are to have such rates.
struct Wanted {
    held: Held,
    plan: Box<takt_plan>,
    step: Step,
    program: Option<OwnedFd>,
}

/// How they come to them.
enum Step {
    Load,
    /// The programs that stand get other rules; those before are put back when it is undone.
    Turn(Option<Box<takt_rules>>),
    /// They have them already.
    Stand,
}

impl<'a> Segments<'a> {
    /// What following the policy changes of this namespace's sockets. Devices that are not there are
    /// served when they are.
    pub fn decide(
        assigned: &Assigned,
        source: &Source,
        owners: &'a Owners,
        slot: Slot,
        host: &mut Host,
    ) -> Result<Self, Error> {
        let before = RECORDS.read::<Record>(host.netns_cookie)?;
        let mut wanted = Vec::new();
        let mut of_links = BTreeMap::new();
        let ports = host.ports()?;
        // No socket sends what comes in.
        let sending = assigned
            .links()
            .filter(|(link, _)| link.download_of.is_none());
        for (link, paces_sockets) in sending {
            let mut found = ports.iter();
            let Some(port) = found.find(|port| port.device.is_called(&link.device)) else {
                continue;
            };
            if let Some(limit) = segments::limit(link, &port.device, u32::MAX) {
                of_links.insert(port.device.index, limit);
            }
            if !paces_sockets {
                wanted.extend(want(link, source, owners, slot, port));
            }
        }
        let known = before.as_ref().map_or(&[][..], |record| &record.above);
        let devices: Vec<&Device> = ports.iter().map(|port| &port.device).collect();
        let above = above::limits(&of_links, &devices, known);
        for wanted in &mut wanted {
            let place = Place::new(host.netns_cookie, wanted.held.ifindex);
            let known = before.as_ref().and_then(|record| record.of(&wanted.held));
            let Some(known) = known else { continue };
            if Hold::of_segments(&place).attached()? != known.program {
                continue;
            }
            let program = known.program;
            if wanted.held.is(known) {
                wanted.step = Step::Stand;
            } else if wanted.held.who_slot.is_none() && known.who_slot.is_none() {
                wanted.step = Step::Turn(None);
            } else {
                continue;
            }
            wanted.held.program = program;
        }
        Ok(Self {
            owners,
            slot,
            netns_cookie: host.netns_cookie,
            before,
            wanted,
            above,
            old_programs: Vec::new(),
            committed: false,
        })
    }

    fn place(&self, ifindex: u32) -> Place {
        Place::new(self.netns_cookie, ifindex)
    }

    fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.above.is_empty()
    }

    /// What is recorded while devices above, which were limited before, still are. Until programs have given
    /// the connections that exist their rates, they are none that the next takt would leave as they are.
    fn record(
        &self,
        leaving: Vec<Limit>,
        round_trips_before: Option<u32>,
        is_done: bool,
    ) -> Record {
        let held = |wanted: &Wanted| {
            let stays = is_done || matches!(wanted.step, Step::Stand);
            Held {
                program: wanted.held.program.filter(|_| stays),
                ..wanted.held.clone()
            }
        };
        Record {
            devices: self.wanted.iter().map(held).collect(),
            above: [self.above.clone(), leaving].concat(),
            round_trips_before,
        }
    }

    /// Devices above those of links that were limited, and are not to be.
    fn above_before(&self) -> Vec<Limit> {
        let before = self.before.iter().flat_map(|record| &record.above);
        let stays = |known: &Limit| {
            let mut above = self.above.iter();
            above.any(|limit| limit.ifindex == known.ifindex)
        };
        before.filter(|known| !stays(known)).cloned().collect()
    }

    /// Devices of this namespace whose connections have rates and are not to have them.
    fn leaving(&self) -> Vec<Place> {
        let mut places = places();
        places.retain(|place| {
            let mut wanted = self.wanted.iter();
            place.netns_cookie == self.netns_cookie
                && !wanted.any(|wanted| wanted.held.ifindex == place.ifindex)
        });
        places
    }
}

impl Record {
    /// What it knows of a device whose programs stand.
    fn of(&self, wanted: &Held) -> Option<&Held> {
        let mut known = self.devices.iter();
        known.find(|known| known.ifindex == wanted.ifindex && known.program.is_some())
    }
}

impl Held {
    /// Whether its connections are to have what they had.
    fn is(&self, known: &Self) -> bool {
        let before = Self {
            program: self.program,
            ..known.clone()
        };
        *self == before
    }
}

/// `None`: no class of the link is slow, or the kernel cannot keep its segments short.
fn want(link: &Link, source: &Source, owners: &Owners, slot: Slot, port: &Port) -> Option<Wanted> {
    let terms = socket_rates(link, header_bytes(port.device.hardware))?;
    if !stock::can_set_rates() || has_single_frames(link, &port.device) {
        return None;
    }
    // The link's own part refuses what cannot be planned.
    let told = told_by_sockets(link);
    let planned = plan(&told, &ClassIds::default(), owners.questions()).ok()?;
    Some(Wanted {
        held: Held {
            ifindex: port.device.index,
            source: source.clone(),
            terms,
            who_slot: (planned.tables.rules.need_who != 0).then_some(slot.index),
            program: None,
        },
        plan: planned.tables,
        step: Step::Load,
        program: None,
    })
}

/// Whether the link has its device make each frame a packet. A device without offloads need not: TCP
/// makes segments all the same, and the kernel cuts them after the qdisc.
fn has_single_frames(link: &Link, device: &Device) -> bool {
    segments::limit(link, device, u32::MAX) == Some(SINGLE)
}

/// All devices whose sockets have such rates.
fn places() -> Vec<Place> {
    let Ok((dir, true)) = pins::dir(pins::SEGMENTS) else {
        return Vec::new();
    };
    let Ok(found) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let names = found.flatten().map(|entry| entry.file_name());
    names
        .filter_map(|name| Place::parse(name.to_str()?))
        .collect()
}

/// Restore all sockets of a namespace. Precondition: this is that namespace, or it is gone.
fn restore_sockets(netns_cookie: u64) -> Result<(), Error> {
    for place in places() {
        if place.netns_cookie == netns_cookie {
            Hold::of_segments(&place).release()?;
        }
    }
    Ok(())
}

/// Restore this namespace: its sockets, and what else the record says.
fn restore(host: &mut Host, record: Option<Record>) -> Result<(), Error> {
    restore_sockets(host.netns_cookie)?;
    if let Some(record) = record {
        restore_limits(host, &record.above)?;
        record
            .round_trips_before
            .map_or(Ok(()), round_trips::restore)?;
    }
    RECORDS.forget(host.netns_cookie)
}

/// Restore the limits of devices that still have takt's.
fn restore_limits(host: &mut Host, above: &[Limit]) -> Result<(), Error> {
    if above.is_empty() {
        return Ok(());
    }
    let devices = Device::list(&mut host.netlink).map_err(OsError::netlink("listing devices"))?;
    let standing = above.iter().filter(|limit| limit.stands(&devices));
    let requests: Vec<Request> = standing
        .map(|limit| Device::limit_segments(limit.ifindex, limit.before))
        .collect();
    set_limits(host, &requests)
}

/// A device that is gone has none.
fn set_limits(host: &mut Host, requests: &[Request]) -> Result<(), Error> {
    if requests.is_empty() {
        return Ok(());
    }
    let doing = "limiting the segments of devices";
    let answers = host
        .netlink
        .batch(requests)
        .map_err(OsError::netlink(doing))?;
    let refused = answers.into_iter().filter_map(Result::err);
    match { refused }.find(|refusal| refusal.errno != libc::ENODEV) {
        Some(refusal) => Err(OsError::netlink(doing)(NetlinkError::Refused(refusal))),
        None => Ok(()),
    }
}

impl Part for Segments<'_> {
    type Undone = ();
    /// A link's status says how long its packets may be.
    type Status = ();

    fn sweep(_: &mut Host) -> Result<(), Error> {
        for netns_cookie in RECORDS.of_the_gone()? {
            restore_sockets(netns_cookie)?;
            RECORDS.forget(netns_cookie)?;
        }
        Ok(())
    }

    fn revert(host: &mut Host, _: Ending) -> Result<Undone<()>, Error> {
        let record = RECORDS.read(host.netns_cookie)?;
        restore(host, record)?;
        Ok(Undone::all(()))
    }

    fn source(_: &mut Host) -> Result<Option<Source>, Error> {
        // That of the links.
        Ok(None)
    }

    fn status(_: &mut Host, _: Query) -> Result<(), Error> {
        Ok(())
    }

    fn settle() -> Result<bool, Error> {
        Ok(RECORDS.are_anywhere())
    }

    fn verify(&self) -> Result<(), Error> {
        let mut wanted = self.wanted.iter();
        if wanted.any(|wanted| matches!(wanted.step, Step::Load)) {
            stock::verify_flow()
        } else {
            Ok(())
        }
    }

    fn prepare(&mut self, host: &mut Host) -> Result<(), Error> {
        let asks = { self.wanted.iter() }.any(|wanted| wanted.held.who_slot.is_some());
        let sockets = asks.then(Sockets::open_or_load).transpose()?;
        if let Some(sockets) = &sockets {
            self.owners.ask(sockets, host.netns_cookie, self.slot)?;
        }
        for wanted in &mut self.wanted {
            let sockets = sockets.as_ref();
            let asking = wanted.held.who_slot.map(|slot| Asking { slot, sockets });
            match &mut wanted.step {
                Step::Stand => {}
                Step::Turn(before) => {
                    let program = wanted.held.program.map(program::open).transpose()?;
                    *before = program.as_ref().map(rules_of).transpose()?;
                    wanted.program = program;
                }
                Step::Load => {
                    let rules = &wanted.plan.rules;
                    let program = load(&wanted.held.terms, rules, asking.as_ref(), None)?;
                    wanted.held.program = Some(program::id_of(&program)?);
                    wanted.program = Some(program);
                }
            }
        }
        let known = self.before.iter().flat_map(|record| &record.devices);
        for known in known {
            // One that is gone cannot be put back.
            if let Some(program) = known.program.and_then(|id| program::open(id).ok()) {
                self.old_programs.push((known.ifindex, program));
            }
        }
        Ok(())
    }

    fn commit(&mut self, host: &mut Host) -> Result<(), Error> {
        self.committed = true;
        if self.is_empty() {
            return Ok(());
        }
        let known = self.before.as_ref();
        let known = known.and_then(|record| record.round_trips_before);
        let is_off = !self.wanted.is_empty();
        let now = is_off.then(round_trips::now).transpose()?.flatten();
        let round_trips_before = known.or(now);
        let record = self.record(self.above_before(), round_trips_before, false);
        RECORDS.write(self.netns_cookie, &record)?;
        let limits = self.above.iter();
        let limits: Vec<Request> = limits
            .map(|limit| Device::limit_segments(limit.ifindex, limit.limit))
            .collect();
        set_limits(host, &limits)?;
        if is_off {
            round_trips::turn_off()?;
        }
        for wanted in &self.wanted {
            let Some(program) = &wanted.program else {
                continue;
            };
            let Held {
                who_slot, terms, ..
            } = &wanted.held;
            let place = self.place(wanted.held.ifindex);
            let hold = Hold::of_segments(&place);
            match &wanted.step {
                Step::Turn(_) => hold.turn(terms, &wanted.plan.rules, program)?,
                _ => hold.attach(*who_slot, terms, program, false)?,
            }
        }
        let done = self.record(self.above_before(), round_trips_before, true);
        if done == record {
            return Ok(());
        }
        RECORDS.write(self.netns_cookie, &done)
    }

    fn undo(&mut self, host: &mut Host) -> Vec<Error> {
        if !self.committed {
            return Vec::new();
        }
        let mut failures = Vec::new();
        for wanted in &self.wanted {
            let place = self.place(wanted.held.ifindex);
            let hold = Hold::of_segments(&place);
            let known = self.before.as_ref();
            let known = known.and_then(|record| record.of(&wanted.held));
            failures.extend(match (&wanted.step, &wanted.program, known) {
                (Step::Stand, ..) => None,
                (Step::Turn(Some(rules)), Some(program), Some(known)) => {
                    hold.turn(&known.terms, rules, program).err()
                }
                _ => hold.release().err(),
            });
        }
        let Some(before) = &self.before else {
            let record = RECORDS.read(self.netns_cookie).unwrap_or_default();
            failures.extend(restore(host, record).err());
            return failures;
        };
        for (ifindex, program) in &self.old_programs {
            let place = self.place(*ifindex);
            let hold = Hold::of_segments(&place);
            let mut known = before.devices.iter();
            let known = known.find(|known| known.ifindex == *ifindex);
            if let Some(Held {
                who_slot, terms, ..
            }) = known
                && !matches!(hold.attached(), Ok(Some(_)))
            {
                failures.extend(hold.attach(*who_slot, terms, program, false).err());
            }
        }
        failures.extend(restore_limits(host, &self.above).err());
        let limits = before.above.iter();
        let limits: Vec<Request> = limits
            .map(|limit| Device::limit_segments(limit.ifindex, limit.limit))
            .collect();
        failures.extend(set_limits(host, &limits).err());
        failures.extend(RECORDS.write(self.netns_cookie, before).err());
        failures
    }

    fn tidy(&mut self, host: &mut Host) -> Result<(), Error> {
        if self.is_empty() {
            return restore(host, self.before.take());
        }
        for place in self.leaving() {
            Hold::of_segments(&place).release()?;
        }
        let Some(before) = &self.before else {
            return Ok(());
        };
        let leaving = self.above_before();
        restore_limits(host, &leaving)?;
        let round_trips = before.round_trips_before;
        let turns_on = round_trips.filter(|_| self.wanted.is_empty());
        if let Some(before) = turns_on {
            round_trips::restore(before)?;
        }
        if leaving.is_empty() && turns_on.is_none() {
            return Ok(());
        }
        let record = RECORDS.read::<Record>(self.netns_cookie)?;
        let known = record.and_then(|record| record.round_trips_before);
        let known = known.filter(|_| turns_on.is_none());
        RECORDS.write(self.netns_cookie, &self.record(Vec::new(), known, true))
    }
}
