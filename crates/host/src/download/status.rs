//! What `takt status` and taktd want to know of downloads.

use takt_policy::{Link, OnConflict, device_of_download};

use super::{
    device::is_ours,
    note::{NOTES, Note},
    redirect,
};
use crate::{error::Error, link::LinkStatus, part::Host};

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
    for known in note(host)?.downloads {
        if !redirect::stands(&mut host.netlink, &known)? {
            amiss.push(known.through);
        }
    }
    Ok(amiss)
}

/// Of a policy's links, the downloads that are to be put back: another program has removed the filter,
/// where the policy wants that, or the device, without which what comes in is lost.
pub(crate) fn cut_off(links: &[Link], host: &mut Host) -> Result<Vec<String>, Error> {
    let amiss = amiss(host)?;
    let known = note(host)?.downloads;
    let ports = host.ports()?;
    let find = |name: &str| {
        let mut ports = ports.iter();
        ports.find(|port| port.device.is_called(name))
    };
    let is_cut_off = |link: &&Link| {
        let Some(of) = link.download_of.as_deref().and_then(find) else {
            return false;
        };
        match find(&link.device) {
            Some(through) => {
                link.on_conflict == OnConflict::Restore && amiss.contains(&through.device.index)
            }
            None => known.iter().any(|known| known.ifindex == of.device.index),
        }
    };
    let cut_off = links.iter().filter(is_cut_off);
    Ok(cut_off.map(|link| link.device.clone()).collect())
}

fn note(host: &Host) -> Result<Note, Error> {
    Ok(NOTES.read(host.netns_cookie)?.unwrap_or_default())
}
