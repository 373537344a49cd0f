//! What `takt status` and taktd want to know of downloads.

use takt_policy::{Link, OnConflict, device_of_download};

use super::{
    device::is_ours,
    record::{RECORDS, Record},
    redirect,
};
use crate::{
    error::Error,
    link::{
        LinkStatus,
        lost::{LostBy, LostLink},
    },
    part::Host,
};

/// Name the links of downloads as policies do, and say which of them nothing comes to.
pub(crate) fn tell(links: &mut [LinkStatus], host: &mut Host) -> Result<(), Error> {
    let amiss = amiss(host)?;
    let ports = host.ports()?;
    let gone = links.iter_mut().filter(|link| link.device_state.is_none());
    for link in gone {
        if let Some(of) = device_of_download(&link.device) {
            link.problem = Some(format!(
                "its device was removed, and what {of} receives is lost; taktd or `takt apply` makes \
                 it again"
            ));
        }
    }
    for port in ports.iter().filter(|port| is_ours(&port.device)) {
        let mut own = links.iter_mut();
        let Some(link) = own.find(|link| link.device == port.device.name) else {
            continue;
        };
        if let Some(named) = &link.named {
            link.device.clone_from(named);
        }
        if amiss.contains(&port.device.index) {
            link.problem.get_or_insert_with(|| {
                "what the device receives does not come here: another program removed takt's filter \
                 from its ingress, or the device is gone; `takt apply` puts it back"
                    .to_owned()
            });
        }
    }
    Ok(())
}

/// The numbers of the devices that nothing is sent through, though it should be.
fn amiss(host: &mut Host) -> Result<Vec<u32>, Error> {
    let mut amiss = Vec::new();
    for known in record(host)?.downloads {
        if !redirect::stands(&mut host.netlink, &known)? {
            amiss.push(known.through);
        }
    }
    Ok(amiss)
}

/// Of a policy's links, the downloads that another program has cut off. What the policy says decides about
/// a filter that is gone. Without the device what comes in is lost, so that is put back in any case.
pub(crate) fn cut_off(links: &[Link], host: &mut Host) -> Result<Vec<LostLink>, Error> {
    let amiss = amiss(host)?;
    let known = record(host)?.downloads;
    let ports = host.ports()?;
    let find = |name: &str| {
        let mut ports = ports.iter();
        ports.find(|port| port.device.is_called(name))
    };
    let lost = |link: &Link| {
        let of = link.download_of.as_deref().and_then(find)?.device.index;
        let (is_cut_off, found, on_conflict) = match find(&link.device) {
            Some(through) => (
                amiss.contains(&through.device.index),
                "no filter",
                link.on_conflict,
            ),
            None => (
                known.iter().any(|known| known.ifindex == of),
                "no device",
                OnConflict::Restore,
            ),
        };
        is_cut_off.then(|| LostLink {
            device: link.device.clone(),
            ifindex: of,
            cause: LostBy::Conflict {
                found: found.to_owned(),
            },
            on_conflict,
        })
    };
    Ok(links.iter().filter_map(lost).collect())
}

fn record(host: &Host) -> Result<Record, Error> {
    Ok(RECORDS.read(host.netns_cookie)?.unwrap_or_default())
}
