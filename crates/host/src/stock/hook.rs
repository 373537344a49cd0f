//! Where the program that stamps packets is called: before the qdisc, by tcx, or on kernels before
//! 6.6 by a filter of the device's clsact.

use std::{
    mem::{size_of, zeroed},
    os::fd::{AsRawFd, OwnedFd},
    sync::OnceLock,
};

use libbpf_sys::{
    BPF_F_REPLACE, BPF_TCX_EGRESS, bpf_prog_attach_opts, bpf_prog_detach_opts, bpf_prog_query_opts,
};

use super::program::{self, id_of};
use crate::{
    bpf::BpfError,
    error::Error,
    os::{
        OsError,
        netlink::{Classifier, Handle, Netlink, Qdisc},
    },
};

/// More programs than a device ever has there.
const PROGRAMS_MOST: usize = 64;

/// Have the device call this program, in the place of the one before.
pub(super) fn attach(
    netlink: &mut Netlink,
    device: u32,
    program: &OwnedFd,
    before: Option<&OwnedFd>,
    name: &str,
) -> Result<(), Error> {
    let is_there = |ids: Vec<u32>| Ok(ids.contains(&id_of(program)?));
    if attached(netlink, device).and_then(is_there)? {
        return Ok(());
    }
    if !has_tcx() {
        let requests = [
            Qdisc::make_clsact(device),
            Classifier::set(device, Handle::EGRESS, program.as_raw_fd(), name),
        ];
        return netlink
            .all(&requests)
            .map_err(OsError::netlink("attaching the program to clsact"));
    }
    if before.is_none() {
        detach_strays(device)?;
    }
    // SAFETY: the kernel's own type; all zeroes are its defaults.
    let mut opts: bpf_prog_attach_opts = unsafe { zeroed() };
    opts.sz = size_of::<bpf_prog_attach_opts>() as _;
    if let Some(before) = before {
        opts.flags = BPF_F_REPLACE;
        opts.__bindgen_anon_1.replace_prog_fd = before.as_raw_fd();
    }
    // SAFETY: descriptors that live until the call returns, and options of their size.
    let done = unsafe {
        libbpf_sys::bpf_prog_attach_opts(
            program.as_raw_fd(),
            device as i32,
            BPF_TCX_EGRESS,
            &raw const opts,
        )
    };
    check(done, "attaching the program to the device")
}

/// Take away programs of takt's without a record, as when `/run` was emptied: packets would be
/// stamped twice.
fn detach_strays(device: u32) -> Result<(), Error> {
    let ids = query(device).map_err(|errno| failed("listing the programs of a device", errno))?;
    for id in ids {
        if program::is_stamping(id) {
            detach_from_tcx(device, id)?;
        }
    }
    Ok(())
}

/// Take the program from the device, if it is there. `keeps_clsact`: takt did not make it.
pub(super) fn detach(
    netlink: &mut Netlink,
    device: u32,
    program: u32,
    keeps_clsact: bool,
) -> Result<(), Error> {
    if !attached(netlink, device)?.contains(&program) {
        return Ok(());
    }
    if has_tcx() {
        return detach_from_tcx(device, program);
    }
    let failed = || OsError::netlink("removing the program from clsact");
    netlink
        .all(&[Classifier::remove(device, Handle::EGRESS)])
        .map_err(failed())?;
    let mut is_used = keeps_clsact;
    for direction in [Handle::EGRESS, Handle::INGRESS] {
        is_used |= Qdisc::has_filters(netlink, device, direction).map_err(failed())?;
    }
    if !is_used {
        netlink
            .all(&[Qdisc::remove_clsact(device)])
            .map_err(failed())?;
    }
    Ok(())
}

fn detach_from_tcx(device: u32, program: u32) -> Result<(), Error> {
    let program = program::open(program)?;
    // SAFETY: the kernel's own type; all zeroes are its defaults.
    let mut opts: bpf_prog_detach_opts = unsafe { zeroed() };
    opts.sz = size_of::<bpf_prog_detach_opts>() as _;
    // SAFETY: a descriptor that lives until the call returns, and options of their size.
    let done = unsafe {
        libbpf_sys::bpf_prog_detach_opts(
            program.as_raw_fd(),
            device as i32,
            BPF_TCX_EGRESS,
            &raw const opts,
        )
    };
    check(done, "taking the program from the device")
}

/// The numbers of the programs that the device calls; none if it is gone.
pub(super) fn attached(netlink: &mut Netlink, device: u32) -> Result<Vec<u32>, Error> {
    if has_tcx() {
        return match query(device) {
            Ok(ids) => Ok(ids),
            Err(libc::ENODEV) => Ok(Vec::new()),
            Err(errno) => Err(failed("listing the programs of a device", errno)),
        };
    }
    match Classifier::list(netlink, device, Handle::EGRESS) {
        Ok(found) => Ok(found.iter().map(|found| found.id).collect()),
        Err(error) if error.errno() == Some(libc::ENODEV) => Ok(Vec::new()),
        Err(error) => Err(OsError::netlink("listing filters")(error)),
    }
}

/// Whether this kernel has tcx (Linux 6.6).
pub(super) fn has_tcx() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    // No device has the number 0: a kernel that knows the type misses the device.
    *HAS.get_or_init(|| query(0) != Err(libc::EINVAL))
}

/// The numbers of the programs that tcx calls; or an `errno`.
fn query(device: u32) -> Result<Vec<u32>, i32> {
    let mut ids = [0; PROGRAMS_MOST];
    // SAFETY: the kernel's own type; all zeroes are its defaults.
    let mut opts: bpf_prog_query_opts = unsafe { zeroed() };
    opts.sz = size_of::<bpf_prog_query_opts>() as _;
    opts.prog_ids = ids.as_mut_ptr();
    opts.__bindgen_anon_1.count = PROGRAMS_MOST as u32;
    // SAFETY: options of their size, with an array of as many numbers as they say.
    let done =
        unsafe { libbpf_sys::bpf_prog_query_opts(device as i32, BPF_TCX_EGRESS, &raw mut opts) };
    // SAFETY: the kernel has set it, or it is as above.
    let count = unsafe { opts.__bindgen_anon_1.count } as usize;
    match done {
        0.. => Ok(ids[..count.min(PROGRAMS_MOST)].to_vec()),
        errno => Err(-errno),
    }
}

fn check(done: i32, doing: &'static str) -> Result<(), Error> {
    match done {
        0.. => Ok(()),
        errno => Err(failed(doing, -errno)),
    }
}

fn failed(doing: &'static str, errno: i32) -> Error {
    BpfError::of(doing)(libbpf_rs::Error::from_raw_os_error(errno))
}
