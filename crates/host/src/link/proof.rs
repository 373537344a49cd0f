//! Whether a device's root qdisc would come back as it is: what the kernel lists of it is put on
//! a device in a network namespace of its own, and what it lists there is compared.
//!
//! Nothing of this is visible outside, and the kernel removes all of it, however takt ends.

use crate::{
    error::Error,
    os::{
        OsError, namespace,
        netlink::{Device, Handle, Listing, Netlink, NetlinkError, Port, Qdisc, veth},
    },
    part::Foreign,
};

/// The device that the qdisc is put on.
const NAME: &str = "takt-proof";
/// Its number. The pair's other end gets a smaller one.
const INDEX: u32 = 1000;

/// Refuse a root qdisc that is not proved to come back. `device`: as the policy names it.
pub(crate) fn require(device: &str, port: &Port) -> Result<(), Error> {
    let Some(root) = &port.root else {
        return Ok(());
    };
    let Some(reason) = doubt(&port.device, root)? else {
        return Ok(());
    };
    Err(Foreign::Unproved {
        device: device.to_owned(),
        kind: root.kind.clone(),
        handle: root.handle.to_string(),
        reason,
    }
    .into())
}

/// Why it may not come back as it is; `None`: it does.
fn doubt(device: &Device, root: &Qdisc) -> Result<Option<String>, Error> {
    if let Some(what) = root.unlisted() {
        return Ok(Some(format!("the kernel does not list {what}")));
    }
    let listed = Netlink::open()
        .and_then(|mut netlink| Listing::for_device(&mut netlink, device.index))
        .map_err(OsError::netlink("listing qdiscs"))?;
    if let Some(reason) = unrequested(&listed, root) {
        return Ok(Some(reason.to_owned()));
    }
    let tried = match namespace::within_new(|| attempt(device, root)) {
        Ok(tried) => tried.map_err(OsError::netlink("trying whether a qdisc comes back"))?,
        Err(error) => Err(format!(
            "no network namespace can be made to try it in: {error}"
        )),
    };
    Ok(match tried {
        Ok(again) => difference(&listed, &again),
        Err(reason) => Some(reason),
    })
}

/// What no request of takt's asks for.
fn unrequested(listed: &[Listing], root: &Qdisc) -> Option<&'static str> {
    match listed.iter().find(|listing| listing.handle == root.handle) {
        None => Some("it is being changed by another program"),
        Some(root) if root.has_block() => Some("its block of filters would be lost"),
        Some(root) if root.is_estimated => Some("the estimator of its rate would be lost"),
        Some(_) => None,
    }
}

/// Put it on a device of this empty network namespace. Returns what the kernel lists then, or why
/// it does not come to that.
fn attempt(like: &Device, root: &Qdisc) -> Result<Result<Vec<Listing>, String>, NetlinkError> {
    let mut netlink = Netlink::open()?;
    let requests = [veth::create_like(like, INDEX, NAME), root.set_root(INDEX)];
    let mut answers = netlink.batch(&requests)?.into_iter();
    if let Some(Err(refusal)) = answers.next() {
        return Ok(Err(format!(
            "no veth device can be made to try it on: {refusal}"
        )));
    }
    if let Some(Err(refusal)) = answers.next() {
        return Ok(Err(format!(
            "the kernel refuses its options as it lists them: {refusal}"
        )));
    }
    Listing::for_device(&mut netlink, INDEX).map(Ok)
}

/// What of a device's qdiscs another one does not have. It may have more below the root: those of
/// queues that the first one does not use.
fn difference(listed: &[Listing], again: &[Listing]) -> Option<String> {
    let outgoing = |listing: &&Listing| listing.parent != Handle::CLSACT;
    listed.iter().filter(outgoing).find_map(|listing| {
        let place = |listing: &Listing| (listing.parent, listing.handle);
        let differs_in = match again.iter().find(|other| place(other) == place(listing)) {
            Some(other) => listing.differs_in(other)?,
            None => "its place",
        };
        let what = match listing.parent {
            Handle::ROOT => differs_in,
            _ => "what the kernel put below it",
        };
        Some(format!("in a trial {what} came back otherwise"))
    })
}
