//! Giving back the links of another version of takt, whose maps this one cannot read: by their
//! records, and by the handles of qdiscs, which name the links.

use std::collections::BTreeSet;

use takt_algo::sys::TAKT_LINKS;

use crate::{
    bpf::pinned::LINKS,
    error::Error,
    link::{
        buffer::Buffers,
        egress,
        program::Program,
        receive::{self, entry},
        record::Record,
        takeover::release_of,
    },
    os::{
        OsError, namespace,
        netlink::{Netlink, Port},
    },
    part::{Foreign, Host},
};

/// A device that was given back, and what was left alone.
pub(crate) type Returned = (String, Option<Foreign>);

/// A link that no loaded program has: its device may still carry the qdisc of another version,
/// which goes on without its pins.
pub(crate) struct Left {
    pub index: u32,
    /// The newest.
    pub record: Record,
}

impl Left {
    /// Those of this namespace. `program`: the one that is loaded.
    pub fn list(program: Option<&Program>, netns_cookie: u64) -> Result<Vec<Self>, Error> {
        let of_program = match program {
            Some(program) => program.links()?,
            None => Vec::new(),
        };
        let mut left = Vec::new();
        for index in Record::links() {
            if of_program.contains(&index) {
                continue;
            }
            let records = Record::all(index)?.into_iter();
            let mut ours = records.filter(|record| record.owner.netns_cookie == netns_cookie);
            left.extend(ours.next().map(|record| Self { index, record }));
        }
        Ok(left)
    }

    /// Whether this is its device, and still carries its qdisc.
    pub fn is_on(&self, port: &Port) -> bool {
        port.device.index == self.record.owner.ifindex && port.carries(self.index)
    }
}

/// Give the devices back, except for those that have other links by now, and forget all of it.
pub(crate) fn release(
    left: Vec<Left>,
    program: Option<&Program>,
    taken: &BTreeSet<u32>,
    host: &mut Host,
) -> Result<Vec<Returned>, Error> {
    let mut released = Vec::new();
    if left.is_empty() {
        return Ok(released);
    }
    if program.is_none() {
        // The programs first: nothing is sent to the receive sides any more.
        LINKS.retire()?;
        receive::delete_devices(&mut host.netlink)?;
    }
    let ports = Port::list(&mut host.netlink)?;
    let buffers = Buffers::open(&mut host.netlink)?;
    for Left { index, record } in left {
        if !taken.contains(&record.owner.ifindex) {
            if let Some(limits) = &record.queue_limits {
                buffers.undo(record.owner.ifindex, limits)?;
            }
            released.extend(release_one(
                &mut host.netlink,
                &ports,
                index,
                Some(&record),
            )?);
        }
        Record::forget(index)?;
    }
    Ok(released)
}

/// Forget what namespaces that are gone have left.
pub(crate) fn sweep(program: Option<&Program>) -> Result<(), Error> {
    let mut unused = Record::links();
    if let Some(program) = program {
        let of_program = program.links()?;
        unused.retain(|index| !of_program.contains(index));
    }
    if unused.is_empty() {
        return Ok(());
    }
    let living = namespace::living();
    for index in unused {
        let records = Record::all(index)?;
        let lives = |record: &Record| living.contains(&record.owner.netns_cookie);
        if !records.iter().any(lives) {
            Record::forget(index)?;
        }
    }
    Ok(())
}

/// Devices of other namespaces that have links.
pub(crate) fn elsewhere(netns_cookie: u64) -> Result<Vec<String>, Error> {
    let living = namespace::living();
    let mut devices = Vec::new();
    for index in Record::links() {
        let records = Record::all(index)?.into_iter();
        let mut others = records.filter(|record| {
            let owner = record.owner.netns_cookie;
            owner != netns_cookie && living.contains(&owner)
        });
        devices.extend(others.next().map(|record| record.device));
    }
    Ok(devices)
}

/// What was given back of this namespace.
#[derive(Debug, Default)]
pub(crate) struct GivenBack {
    /// The devices, and what was changed meanwhile and left alone.
    pub devices: Vec<Returned>,
    /// Links of other namespaces stay, with what is pinned.
    pub others_stay: bool,
}

/// Give all devices of this namespace back, and remove the pins unless other namespaces have
/// links. Needs the lock.
pub(crate) fn give_back(netns_cookie: u64) -> Result<GivenBack, Error> {
    let mut netlink = Netlink::open().map_err(OsError::netlink("opening a route socket"))?;
    let living = namespace::living();
    let mut given = GivenBack::default();
    let mut links = Vec::new();
    for index in 0..TAKT_LINKS {
        let records = Record::all(index)?;
        let (ours, others): (Vec<_>, Vec<_>) = records
            .into_iter()
            .partition(|record| record.owner.netns_cookie == netns_cookie);
        let lives = |other: &Record| living.contains(&other.owner.netns_cookie);
        if others.iter().any(lives) {
            given.others_stay = true;
        } else {
            links.push((index, ours))
        }
    }
    // The programs first: nothing is sent to the receive sides any more.
    for (index, _) in links.iter().filter(|(_, records)| !records.is_empty()) {
        entry::pinned(&LINKS.path()?, *index).remove()?;
        egress::remove(&LINKS.path()?, *index)?;
    }
    receive::delete_devices(&mut netlink)?;
    let ports = Port::list(&mut netlink)?;
    let buffers = Buffers::open(&mut netlink)?;
    for (index, records) in links {
        // Only limits that are still as a record says are changed.
        for record in &records {
            if let Some(limits) = &record.queue_limits {
                buffers.undo(record.owner.ifindex, limits)?;
            }
        }
        given
            .devices
            .extend(release_one(&mut netlink, &ports, index, records.first())?);
        Record::forget(index)?;
    }
    if !given.others_stay {
        LINKS.unload()?;
    }
    Ok(given)
}

fn release_one(
    netlink: &mut Netlink,
    ports: &[Port],
    index: u32,
    record: Option<&Record>,
) -> Result<Option<Returned>, Error> {
    let carrier = ports.iter().find(|port| port.carries(index));
    if carrier.is_none() && (record.is_none() || Record::is_leaving(index)) {
        return Ok(None);
    }
    let port = match record {
        Some(record) => ports
            .iter()
            .find(|port| port.device.index == record.owner.ifindex),
        None => carrier,
    };
    let release = release_of(index, record, port);
    if release.foreign.is_none() {
        // As in an ordinary revert.
        let _ = Record::note_leaving(index);
    }
    let name = match (record, port) {
        (Some(record), _) => record.device.clone(),
        (None, port) => port.map_or_else(String::new, |port| port.device.name.clone()),
    };
    let left = release.carry_out(netlink, &name)?;
    Ok(Some((name, left)))
}
