//! The part of a transaction that sends what devices receive through the devices of their downloads.
//!
//! The record is written before anything is redirected, and forgotten after nothing is: what takt left
//! that died in between, the next one takes back.

use takt_policy::{Link, Policy};

use super::{
    device, inside,
    merged::Merged,
    record::{RECORDS, Record, Redirected},
    redirect,
};
use crate::{
    error::Error,
    part::{Ending, Host, Part, Query, Undone},
    state::source::Source,
};

/// What a policy changes of what devices receive.
pub(crate) struct Downloads {
    netns_cookie: u64,
    before: Record,
    wanted: Record,
    /// The downloads of the policy, each with the number of its own device.
    links: Vec<(Link, u32)>,
    committed: bool,
}

impl Downloads {
    /// What following the policy changes. Devices that are not there are served when they are.
    pub fn decide(policy: &Policy, host: &mut Host) -> Result<Self, Error> {
        let before: Record = RECORDS.read(host.netns_cookie)?.unwrap_or_default();
        let ports = host.ports()?;
        let find = |name: &str| {
            let mut ports = ports.iter();
            ports.find(|port| port.device.is_called(name))
        };
        let mut wanted = Record::default();
        let mut links = Vec::new();
        for link in &policy.links {
            let Some(of) = link.download_of.as_deref().and_then(find) else {
                continue;
            };
            let Some(through) = find(&link.device) else {
                continue;
            };
            let ifindex = of.device.index;
            links.push((link.clone(), through.device.index));
            let mut known = before.downloads.iter();
            let known = known.find(|known| known.ifindex == ifindex);
            wanted.downloads.push(Redirected {
                ifindex,
                through: through.device.index,
                merged: Merged::wanted(
                    link,
                    &of.device,
                    known.and_then(|known| known.merged.as_ref()),
                ),
                keeps_clsact: match known {
                    Some(known) => known.keeps_clsact,
                    None => redirect::has_ingress(&mut host.netlink, ifindex)?,
                },
            });
        }
        Ok(Self {
            netns_cookie: host.netns_cookie,
            before,
            wanted,
            links,
            committed: false,
        })
    }

    /// Those of one record that the other has not.
    fn only_in<'a>(one: &'a Record, other: &Record) -> Vec<&'a Redirected> {
        { one.downloads.iter() }
            .filter(|known| !other.downloads.contains(known))
            .collect()
    }

    fn write(&self, record: &Record) -> Result<(), Error> {
        if record.downloads.is_empty() {
            RECORDS.forget(self.netns_cookie)
        } else {
            RECORDS.write(self.netns_cookie, record)
        }
    }
}

/// End a redirection, and restore what else was changed of the device.
fn end(host: &mut Host, known: &Redirected) -> Result<(), Error> {
    redirect::end(&mut host.netlink, known)?;
    match &known.merged {
        Some(merged) => merged.restore(&mut host.netlink, known.ifindex),
        None => Ok(()),
    }
}

/// Delete the devices that the record does not name.
fn delete_others(host: &mut Host, record: &Record) -> Result<(), Error> {
    host.forget_ports();
    let ports = host.ports()?;
    let is_named = |index: u32| record.downloads.iter().any(|known| known.through == index);
    let others: Vec<u32> = { ports.iter().map(|port| &port.device) }
        .filter(|device| device::is_ours(device) && !is_named(device.index))
        .map(|device| device.index)
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    device::delete(&mut host.netlink, &others)?;
    host.forget_ports();
    Ok(())
}

impl Part for Downloads {
    type Undone = ();
    /// A download is a link to those who look.
    type Status = ();

    fn sweep(host: &mut Host) -> Result<(), Error> {
        for netns_cookie in RECORDS.of_the_gone()? {
            RECORDS.forget(netns_cookie)?;
        }
        let record: Record = RECORDS.read(host.netns_cookie)?.unwrap_or_default();
        delete_others(host, &record)
    }

    fn revert(host: &mut Host, _: Ending) -> Result<Undone<()>, Error> {
        let record: Record = RECORDS.read(host.netns_cookie)?.unwrap_or_default();
        for known in &record.downloads {
            end(host, known)?;
        }
        delete_others(host, &Record::default())?;
        RECORDS.forget(host.netns_cookie)?;
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

    fn commit(&mut self, host: &mut Host) -> Result<(), Error> {
        self.committed = true;
        let leaving = Self::only_in(&self.before, &self.wanted).into_iter();
        let all = { self.wanted.downloads.iter() }.chain(leaving).cloned();
        self.write(&Record {
            downloads: all.collect(),
        })?;
        for (link, through) in &self.links {
            inside::follow(&mut host.netlink, link, *through)?;
        }
        for wanted in &self.wanted.downloads {
            if !redirect::stands(&mut host.netlink, wanted)? {
                redirect::begin(&mut host.netlink, wanted)?;
            }
            if let Some(merged) = &wanted.merged {
                merged.set(&mut host.netlink, wanted.ifindex)?;
            }
        }
        Ok(())
    }

    fn undo(&mut self, host: &mut Host) -> Vec<Error> {
        let mut failures = Vec::new();
        if self.committed {
            for new in Self::only_in(&self.wanted, &self.before) {
                failures.extend(end(host, new).err());
            }
            for known in &self.before.downloads {
                let stands = redirect::stands(&mut host.netlink, known);
                if let Ok(false) = stands {
                    failures.extend(redirect::begin(&mut host.netlink, known).err());
                }
                if let Some(merged) = &known.merged {
                    failures.extend(merged.set(&mut host.netlink, known.ifindex).err());
                }
            }
            failures.extend(self.write(&self.before).err());
        }
        // Links leave the devices after this; those that no record names are swept then.
        failures
    }

    fn tidy(&mut self, host: &mut Host) -> Result<(), Error> {
        for leaving in Self::only_in(&self.before, &self.wanted) {
            let mut wanted = self.wanted.downloads.iter();
            let stays = wanted.find(|wanted| wanted.ifindex == leaving.ifindex);
            match (stays, &leaving.merged) {
                (None, _) => end(host, leaving)?,
                (Some(wanted), Some(merged)) if wanted.merged.is_none() => {
                    merged.restore(&mut host.netlink, leaving.ifindex)?;
                }
                // The filter is the other one's by now.
                (Some(_), _) => {}
            }
        }
        delete_others(host, &self.wanted)?;
        self.write(&self.wanted)
    }
}
