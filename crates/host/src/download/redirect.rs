//! The filter that sends what a device receives through another one.

use super::record::Redirected;
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
    Ok(found(netlink, wanted.ifindex)?.contains(&wanted.through))
}

/// The devices that takt's filters on this one lead to: 0 is one that is gone.
fn found(netlink: &mut Netlink, device: u32) -> Result<Vec<u32>, Error> {
    match Redirect::list(netlink, device) {
        Ok(found) => Ok(found),
        // A device without such a qdisc, or no device.
        Err(NetlinkError::Refused(_)) => Ok(Vec::new()),
        Err(error) => Err(OsError::netlink("listing filters")(error)),
    }
}

/// Begin, in one step.
pub(super) fn begin(netlink: &mut Netlink, wanted: &Redirected) -> Result<(), Error> {
    let mut requests = Vec::new();
    if !has_ingress(netlink, wanted.ifindex)? {
        requests.push(Qdisc::make_clsact(wanted.ifindex));
    }
    // The kernel does not replace such filters.
    if !found(netlink, wanted.ifindex)?.is_empty() {
        requests.push(Redirect::remove(wanted.ifindex));
    }
    requests.push(Redirect::set(wanted.ifindex, wanted.through));
    let doing = "redirecting what a device receives";
    netlink.all(&requests).map_err(OsError::netlink(doing))
}

/// End it. Of a device that is gone nothing is left.
pub(super) fn end(netlink: &mut Netlink, known: &Redirected) -> Result<(), Error> {
    if !found(netlink, known.ifindex)?.is_empty() {
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
