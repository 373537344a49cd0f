//! The filter that sends what a device receives through another one.

use super::note::Redirected;
use crate::{
    error::Error,
    os::{
        OsError,
        netlink::{Handle, Netlink, NetlinkError, Qdisc, Redirect},
    },
};

/// Whether the device has a qdisc for incoming packets already.
pub(super) fn has_ingress(netlink: &mut Netlink, device: u32) -> Result<bool, Error> {
    let qdiscs = Qdisc::list(netlink, device).map_err(OsError::netlink("listing qdiscs"))?;
    Ok(qdiscs.iter().any(Qdisc::is_ingress))
}

/// Whether the filter is where it belongs.
pub(super) fn stands(netlink: &mut Netlink, wanted: &Redirected) -> Result<bool, Error> {
    let found = Redirect::list(netlink, wanted.ifindex);
    match found {
        Ok(found) => Ok(found.contains(&wanted.through)),
        // A device without such a qdisc, or no device.
        Err(NetlinkError::Refused(_)) => Ok(false),
        Err(error) => Err(OsError::netlink("listing filters")(error)),
    }
}

/// Begin, in one step.
pub(super) fn begin(netlink: &mut Netlink, wanted: &Redirected) -> Result<(), Error> {
    let mut requests = Vec::new();
    if !has_ingress(netlink, wanted.ifindex)? {
        requests.push(Qdisc::make_clsact(wanted.ifindex));
    }
    requests.push(Redirect::set(wanted.ifindex, wanted.through));
    let doing = "redirecting what a device receives";
    netlink.all(&requests).map_err(OsError::netlink(doing))
}

/// End it. Of a device that is gone nothing is left.
pub(super) fn end(netlink: &mut Netlink, known: &Redirected) -> Result<(), Error> {
    // Another program's filter may have taken its place.
    if stands(netlink, known)? {
        let doing = "ending a redirection";
        let removed = netlink.all(&[Redirect::remove(known.ifindex)]);
        removed.map_err(OsError::netlink(doing))?;
    }
    if known.keeps_clsact || !has_ingress(netlink, known.ifindex).unwrap_or(false) {
        return Ok(());
    }
    let used = [Handle::INGRESS, Handle::EGRESS].into_iter().any(|parent| {
        // What cannot be told is left.
        Qdisc::has_filters(netlink, known.ifindex, parent).unwrap_or(true)
    });
    if !used {
        let removed = netlink.all(&[Qdisc::remove_clsact(known.ifindex)]);
        removed.map_err(OsError::netlink("removing a device's clsact"))?;
    }
    Ok(())
}
