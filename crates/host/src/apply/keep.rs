//! Keeping the policy in force on its devices. taktd waits for changes of devices, qdiscs,
//! schedulers and the clock, and looks at the links and the beats then.
//!
//! A look reads without the host's lock, and finds nothing almost always. Only to serve a device
//! again the lock is taken, and what was found is examined again. A scheduler that the kernel has
//! ended is only told of: it had a reason, and `takt apply` starts the beats again.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::fd::{AsFd, BorrowedFd},
    time::Duration,
};

use takt_policy::Policy;

use super::{
    apply_locked, names, parts, pending, session::Session, tend, transaction::put_in_force,
    undecided::Undecided,
};
use crate::{
    beats::{Ended, Found, phase},
    download::{self, Downloads},
    error::Error,
    link::{
        Links, Managed, Owners, Replace,
        conflict::{Changer, Conflict, Conflicts},
        lost::{self, LostBy, LostLink},
        segments,
    },
    os::{
        OsError, clock,
        clock_set::ClockSet,
        netlink::{Change, Changes, NetlinkError},
        uevent::Schedulers,
    },
    part::{Host, Part},
    segments::Segments,
    state::source::Source,
    stock::{self, Assigned, Stock},
};

/// How long to wait for a takt that changes the host. After that the next look tries again.
const PATIENCE: Duration = Duration::from_secs(2);

/// What became of a link that its device had lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// The device came back, and carries takt again.
    Returned {
        /// As the policy names it.
        device: String,
    },
    /// Another program had replaced takt's qdisc, and the device carries takt again.
    Restored {
        /// As the policy names it.
        device: String,
        /// What it carried meanwhile.
        found: String,
        /// The program; `None`: not known.
        by: Option<Changer>,
    },
    /// Another program has replaced takt's qdisc, and that stays.
    Conflict {
        /// As the policy names it.
        device: String,
        /// What it carries.
        found: String,
        /// The program; `None`: not known.
        by: Option<Changer>,
    },
    /// The device's MTU has changed, and the limit of its segments follows it.
    Resized {
        /// As the policy names it.
        device: String,
    },
    /// What a device receives goes through its download again.
    Redirected {
        /// The download.
        device: String,
    },
    /// The clock of the beats was set, and they follow it.
    BeatsMoved {
        /// By how much it was set forward.
        by_ns: i64,
    },
    /// The beats of the policy do not run any more.
    BeatsEnded {
        /// Who ended their scheduler.
        by: &'static str,
        /// Why.
        reason: String,
    },
}

/// The policy in force, and what of it devices do not carry.
struct Looked {
    source: Source,
    lost: Vec<LostLink>,
    /// Devices whose segments have another limit than their MTU asks for.
    resized: Vec<String>,
    /// Downloads that another program has cut off.
    cut_off: Vec<LostLink>,
}

/// What has changed, and which links that concerns.
pub struct Keeper {
    changes: Changes,
    /// `None`: the kernel has no such notifications here.
    schedulers: Option<Schedulers>,
    /// Likewise.
    clock_set: Option<ClockSet>,
    /// The end of the beats' scheduler that was told of.
    ended: Option<Ended>,
    /// Devices that were away since they carried takt.
    gone: BTreeSet<u32>,
    /// By device, the process that last changed its root qdisc.
    changers: BTreeMap<u32, Changer>,
}

impl Keeper {
    /// Of this thread's network namespace, from now on.
    pub fn open() -> Result<Self, Error> {
        Ok(Self {
            changes: Changes::open()
                .map_err(NetlinkError::from)
                .map_err(OsError::netlink("listening for changes of devices"))?,
            schedulers: Schedulers::open().ok(),
            clock_set: ClockSet::open().ok(),
            ended: None,
            gone: BTreeSet::new(),
            changers: BTreeMap::new(),
        })
    }

    /// Readable when there are changes.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let schedulers = self.schedulers.iter().map(AsFd::as_fd);
        let clock_set = self.clock_set.iter().map(AsFd::as_fd);
        [self.changes.as_fd()]
            .into_iter()
            .chain(schedulers)
            .chain(clock_set)
    }

    /// Take note of the changes since the last call. Returns whether there were any.
    pub fn listen(&mut self) -> bool {
        let mut any = self.schedulers.as_ref().is_some_and(Schedulers::take);
        any |= self.clock_set.as_ref().is_some_and(ClockSet::take);
        for change in self.changes.read() {
            any = true;
            match change {
                Change::Gone { ifindex } => {
                    self.gone.insert(ifindex);
                    self.changers.remove(&ifindex);
                }
                Change::Root { ifindex, port } => {
                    if let Some(by) = Changer::at_port(port) {
                        self.changers.insert(ifindex, by);
                    }
                }
                Change::Other => {}
            }
        }
        any
    }

    /// Look at the links of the policy in force. `may_restore` is asked, once for each, whether takt is to
    /// replace another program's qdisc where the policy wants that.
    pub fn look(
        &mut self,
        mut may_restore: impl FnMut(&LostLink) -> bool,
    ) -> Result<Vec<Kept>, Undecided> {
        let host = &mut Host::open()?;
        let mut kept: Vec<_> = self.ended(host.netns_cookie)?.into_iter().collect();
        if phase::is_to_follow(host.netns_cookie)? {
            kept.extend(follow_clock(host.netns_cookie)?);
        }
        let Some(Looked {
            source,
            lost,
            resized,
            mut cut_off,
        }) = self.find(host)?
        else {
            self.gone.clear();
            self.changers.clear();
            return Ok(kept);
        };
        cut_off.retain(&mut may_restore);
        if !resized.is_empty() || !cut_off.is_empty() {
            apply_again(&source)?;
            kept.extend(resized.into_iter().map(|device| Kept::Resized { device }));
            let redirected = cut_off.into_iter();
            kept.extend(redirected.map(|lost| Kept::Redirected {
                device: lost.device,
            }));
        }
        let (attach, conflicts): (Vec<_>, Vec<_>) =
            lost.into_iter().partition(|lost| match lost.cause {
                LostBy::Return => true,
                LostBy::Conflict { .. } => may_restore(lost),
            });
        kept.extend(self.note(host.netns_cookie, conflicts)?);
        if !attach.is_empty() {
            self.attach(&source, &attach)?;
            kept.extend(attach.into_iter().map(|lost| self.kept(lost)));
        }
        Ok(kept)
    }

    /// `None`: no policy is in force.
    fn find(&self, host: &mut Host) -> Result<Option<Looked>, Error> {
        let ports = host.ports()?;
        let managed = Managed::all(host)?;
        let records = managed.iter().filter_map(|managed| managed.record.as_ref());
        let source = match records.map(|record| &record.source).next() {
            Some(source) => Some(source.clone()),
            None => Stock::source(host)?,
        };
        let Some(source) = source else {
            return Ok(None);
        };
        // A policy that was in force is one, and has backends.
        let Ok(policy) = parse(&source) else {
            return Ok(None);
        };
        let Ok(Assigned { takt, stock }) = stock::assign(&policy.links) else {
            return Ok(None);
        };
        let mut lost = lost::find(takt.iter(), &ports, &self.gone, |port| {
            Ok(lost::carries_takt(port, &managed))
        })?;
        let links = || stock.iter().map(|wanted| wanted.link);
        lost.extend(lost::find(links(), &ports, &self.gone, |port| {
            stock::carries(host, port)
        })?);
        let mut resized = segments::resized(takt.iter(), &ports, |port| {
            let mut managed = managed.iter();
            let managed = managed.find(|managed| port.carries(managed.index));
            Ok(managed
                .and_then(|managed| managed.record.as_ref())
                .map(segments::Limited::from))
        })?;
        resized.extend(segments::resized(links(), &ports, |port| {
            stock::limited(host.netns_cookie, port)
        })?);
        let cut_off = download::cut_off(&policy.links, host)?;
        Ok(Some(Looked {
            source,
            lost,
            resized,
            cut_off,
        }))
    }

    /// The end of the scheduler of this namespace's tasks, once.
    fn ended(&mut self, netns_cookie: u64) -> Result<Option<Kept>, Error> {
        let found = Found::look()?;
        let ended = found.and_then(|found| {
            let ended = found.ended.clone()?;
            found.policy_of(netns_cookie).map(|_| ended)
        });
        let is_new = ended != self.ended;
        self.ended = ended;
        let told = self.ended.as_ref().filter(|_| is_new);
        Ok(told.map(|ended| Kept::BeatsEnded {
            by: ended.by(),
            reason: ended.to_string(),
        }))
    }

    /// Write down which conflicts there are. Returns those that are new.
    fn note(&self, netns_cookie: u64, lost: Vec<LostLink>) -> Result<Vec<Kept>, Error> {
        let known = Conflicts::read(netns_cookie)?;
        let (mut now, mut new) = (Conflicts::default(), Vec::new());
        for lost in lost {
            let LostBy::Conflict { found } = &lost.cause else {
                continue;
            };
            if let Some(before) = known.find(lost.ifindex, found) {
                now.devices.push(before.clone());
                continue;
            }
            let conflict = Conflict {
                ifindex: lost.ifindex,
                found: found.clone(),
                by: self.changers.get(&lost.ifindex).cloned(),
                at_ns: clock::boottime_ns(),
            };
            new.push(Kept::Conflict {
                device: lost.device,
                found: conflict.found.clone(),
                by: conflict.by.clone(),
            });
            now.devices.push(conflict);
        }
        if now != known {
            now.write(netns_cookie)?;
        }
        Ok(new)
    }

    fn kept(&self, lost: LostLink) -> Kept {
        match lost.cause {
            LostBy::Return => Kept::Returned {
                device: lost.device,
            },
            LostBy::Conflict { found } => Kept::Restored {
                device: lost.device,
                found,
                by: self.changers.get(&lost.ifindex).cloned(),
            },
        }
    }

    /// Attach takt's qdisc to these devices again, if they still need it.
    fn attach(&mut self, source: &Source, wanted: &[LostLink]) -> Result<(), Undecided> {
        let Ok(policy) = parse(source) else {
            return Ok(());
        };
        let owners = Owners::look_up(&policy)?;
        locked(|| self.attach_locked(&policy, source, wanted, &owners))?;
        tend(&policy)?;
        Ok(())
    }

    fn attach_locked(
        &mut self,
        policy: &Policy,
        source: &Source,
        wanted: &[LostLink],
        owners: &Owners,
    ) -> Result<(), Undecided> {
        let host = &mut Host::open()?;
        // Another takt may have applied another policy, or reverted.
        let lost = match self.find(host)? {
            Some(looked) if looked.source == *source => looked.lost,
            _ => return Ok(()),
        };
        names::refuse_two_of_one(policy, host.ports()?.iter().map(|port| &port.device))?;
        let still: Vec<&LostLink> = lost.iter().filter(|lost| wanted.contains(lost)).collect();
        let is_lost = |device: &str| still.iter().any(|lost| lost.device == device);
        let links = policy.links.iter().filter(|link| is_lost(&link.device));
        let links: Vec<_> = links.cloned().collect();
        let replace = Replace::Only(still.iter().map(|lost| lost.ifindex).collect());
        let slot = parts::slot(source, host)?;
        let Assigned { takt, stock } = stock::assign(&links)?;
        let mut stock = Stock::attach_again(&stock, source, &replace, owners, slot, host)?;
        let mut part = Links::attach_again(&takt, source, &replace, owners, slot, host)?;
        let all = stock::assign(&policy.links)?;
        let mut segments = Segments::decide(&all, source, owners, slot, host)?;
        let mut downloads = Downloads::decide(policy, host)?;
        put_in_force(
            &mut [&mut stock, &mut part, &mut segments, &mut downloads],
            host,
        )?;
        for lost in still {
            self.gone.remove(&lost.ifindex);
        }
        Ok(())
    }
}

/// Apply the policy in force again: all but limits of segments and filters of downloads is as it says.
fn apply_again(source: &Source) -> Result<(), Undecided> {
    let Ok(policy) = parse(source) else {
        return Ok(());
    };
    let owners = Owners::look_up(&policy)?;
    locked(|| {
        let host = &mut Host::open()?;
        // Another takt may have applied another policy, or reverted.
        match parts::source(host)? {
            Some(current) if current == *source => {
                apply_locked(&policy, source, &Replace::None, false, &owners, None).map(drop)
            }
            _ => Ok(()),
        }
    })
}

fn follow_clock(netns_cookie: u64) -> Result<Option<Kept>, Undecided> {
    let by_ns = locked(|| Ok(phase::follow(netns_cookie)?))?;
    Ok(by_ns.map(|by_ns| Kept::BeatsMoved { by_ns }))
}

/// A change under the host's lock, unless a policy waits to be confirmed.
fn locked<T>(change: impl FnOnce() -> Result<T, Undecided>) -> Result<T, Undecided> {
    let session = Session::begin_within(PATIENCE)?;
    let done = pending::none_waits()
        .map_err(Undecided::from)
        .and_then(|()| change());
    // The first error is the one to report.
    let ended = session.end();
    let done = done?;
    ended?;
    Ok(done)
}

fn parse(source: &Source) -> Result<Policy, takt_policy::Diagnostics> {
    takt_policy::parse_in(&source.folder, &source.name, &source.text)
}
