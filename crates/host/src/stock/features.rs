//! Which features the running kernel has, found out by trying: qdiscs, a classifier and a hook are
//! put on the loopback device of a network namespace of their own, which is gone afterwards.

use std::{
    collections::BTreeSet,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use libbpf_sys::{BPF_PROG_TYPE_SCHED_CLS, bpf_insn, bpf_prog_load};
use takt_planner::backend::Feature;

use super::hook;
use crate::os::{
    namespace,
    netlink::{
        Classifier, FQ, HTB, Handle, Netlink, NetlinkError, Qdisc, Redirect, Request, htb_options,
        ifb,
    },
};

/// Of each network namespace.
const LOOPBACK: u32 = 1;
const ROOT: Handle = Handle(0x7aff_0000);
const NAME: &str = "takt-trial";

/// Those that were there once stay: taktd asks again and again.
static THERE: Mutex<BTreeSet<Feature>> = Mutex::new(BTreeSet::new());

/// Of these, those that the kernel does not have; or why that cannot be tried.
pub(super) fn missing(of: &BTreeSet<Feature>) -> Result<BTreeSet<Feature>, String> {
    let unknown = of - &there();
    if unknown.is_empty() {
        return Ok(unknown);
    }
    let tried = namespace::within_new(|| try_all(&unknown))
        .map_err(|error| format!("no network namespace can be made to try it in: {error}"))?;
    let missing = tried.map_err(|error| error.to_string())?;
    there().extend(unknown.difference(&missing));
    Ok(missing)
}

/// A thread that failed with it has left what is true.
fn there() -> MutexGuard<'static, BTreeSet<Feature>> {
    THERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In an empty network namespace.
fn try_all(of: &BTreeSet<Feature>) -> Result<BTreeSet<Feature>, NetlinkError> {
    let mut netlink = Netlink::open()?;
    let mut missing = BTreeSet::new();
    for feature in of {
        if !is_there(&mut netlink, *feature)? {
            missing.insert(*feature);
        }
    }
    Ok(missing)
}

fn is_there(netlink: &mut Netlink, feature: Feature) -> Result<bool, NetlinkError> {
    match feature {
        Feature::Htb => takes(netlink, &[root(HTB)], &[Qdisc::delete_root(LOOPBACK)]),
        Feature::Fq => takes(netlink, &[root(FQ)], &[Qdisc::delete_root(LOOPBACK)]),
        Feature::Codel => takes(netlink, &[root("codel")], &[Qdisc::delete_root(LOOPBACK)]),
        Feature::FqCodel => takes(
            netlink,
            &[root("fq_codel")],
            &[Qdisc::delete_root(LOOPBACK)],
        ),
        Feature::Ifb => takes(netlink, &ifb::create(NAME, NAME), &[]),
        Feature::Redirect => takes(
            netlink,
            &[
                Qdisc::make_clsact(LOOPBACK),
                Redirect::set(LOOPBACK, LOOPBACK),
            ],
            &[Qdisc::remove_clsact(LOOPBACK)],
        ),
        Feature::Classifier => has_classifier(netlink),
        Feature::Hook if hook::has_tcx() => Ok(true),
        Feature::Hook => Ok(takes(
            netlink,
            &[Qdisc::make_clsact(LOOPBACK)],
            &[Qdisc::remove_clsact(LOOPBACK)],
        )? && has_classifier(netlink)?),
    }
}

/// Below whichever qdisc with classes there is; without any the classifier is not what is missing.
fn has_classifier(netlink: &mut Netlink) -> Result<bool, NetlinkError> {
    let Some(program) = program() else {
        return Ok(true);
    };
    let places = [
        (root(HTB), ROOT, Qdisc::delete_root(LOOPBACK)),
        (
            Qdisc::make_clsact(LOOPBACK),
            Handle::EGRESS,
            Qdisc::remove_clsact(LOOPBACK),
        ),
    ];
    for (made, parent, removed) in places {
        if !takes(netlink, &[made], &[])? {
            continue;
        }
        let filter = Classifier::set(LOOPBACK, parent, program.as_raw_fd(), NAME);
        return takes(netlink, &[filter], &[removed]);
    }
    Ok(true)
}

/// Whether the kernel knows what these requests name. What they made is undone.
fn takes(
    netlink: &mut Netlink,
    requests: &[Request],
    undo: &[Request],
) -> Result<bool, NetlinkError> {
    let refused = netlink.batch(requests)?.into_iter().find_map(Result::err);
    if !undo.is_empty() {
        netlink.batch(undo)?;
    }
    match refused {
        None => Ok(true),
        // What the kernel says of kinds that it does not know.
        Some(refusal)
            if [libc::EINVAL, libc::ENOENT, libc::EOPNOTSUPP].contains(&refusal.errno) =>
        {
            Ok(false)
        }
        Some(refusal) => Err(NetlinkError::Refused(refusal)),
    }
}

/// A root qdisc with the kernel's own values.
fn root(kind: &str) -> Request {
    let qdisc = Qdisc {
        kind: kind.to_owned(),
        handle: ROOT,
        parent: Handle::ROOT,
        options: match kind {
            HTB => htb_options(0),
            _ => Vec::new(),
        },
        sizes: Vec::new(),
    };
    qdisc.set_root(LOOPBACK)
}

/// One that leaves each packet where it is. `None`: none can be loaded.
fn program() -> Option<OwnedFd> {
    // r0 = 0; exit
    const INSTRUCTIONS: [[u8; 8]; 2] = [[0xb7, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];
    let instructions = INSTRUCTIONS.map(u64::from_ne_bytes);
    // SAFETY: as many instructions as it is told, of their size, and names that end.
    let fd = unsafe {
        bpf_prog_load(
            BPF_PROG_TYPE_SCHED_CLS,
            c"takt_trial".as_ptr(),
            c"GPL".as_ptr(),
            instructions.as_ptr().cast::<bpf_insn>(),
            instructions.len() as _,
            ptr::null_mut(),
        )
    };
    // SAFETY: just opened, and no other code owns it.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}
