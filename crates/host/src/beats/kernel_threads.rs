//! The kernel's own threads that take a scheduler away: one that does it, and RCU's, which it waits
//! for. The first has a realtime priority of 50, and RCU's is an ordinary thread. A realtime thread
//! that never sleeps would keep both from running if it had the only CPU, and then nothing could
//! end the scheduler. So while beats are loaded they have the highest priority.
//!
//! Kernels whose ext server gives ordinary threads time need none of that.

use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::{
    bpf::btf,
    error::Error,
    state::{runtime_dir, store::Store},
};

/// The record's name.
const NAME: &str = "kernel-threads";

/// The one that ends with the scheduler.
const ENDS_WITH_IT: &str = "sched_ext_helper";
/// RCU's, of kernels that preempt its readers, and of others.
const STAYS: [&str; 2] = ["rcu_preempt", "rcu_sched"];

/// The parent of all threads of the kernel.
const PARENT: &str = "2";

/// Threads to make ordinary again.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    tids: Vec<i32>,
}

/// Whether this kernel itself keeps time for ordinary threads beside realtime threads while a
/// scheduler is loaded.
pub(crate) fn has_ext_server() -> bool {
    btf::kernel_has_member("rq", "ext_server")
}

/// Call it when the scheduler is loaded. A thread that cannot be changed stays as it is. Needs the
/// lock.
pub(super) fn raise() -> Result<(), Error> {
    if has_ext_server() {
        return Ok(());
    }
    let known = store().read(NAME)?.map_or_else(Vec::new, |it| it.tids);
    let found = find(&STAYS);
    let tids = found
        .into_iter()
        .filter(|tid| known.contains(tid) || policy_of(*tid) == Some(libc::SCHED_OTHER))
        .collect();
    let record = Record { tids };
    if !record.tids.is_empty() {
        store().write(NAME, &record)?;
    }
    for tid in record.tids.into_iter().chain(find(&[ENDS_WITH_IT])) {
        let _ = set(tid, libc::SCHED_FIFO, highest());
    }
    Ok(())
}

/// Restore the previous priorities. Needs the lock.
pub(crate) fn restore() -> Result<(), Error> {
    let record = store().read(NAME)?;
    for tid in record.map_or_else(Vec::new, |record| record.tids) {
        // Another program may have changed it since.
        if policy_of(tid) == Some(libc::SCHED_FIFO) {
            let _ = set(tid, libc::SCHED_OTHER, 0);
        }
    }
    store().discard(NAME)
}

/// Make the record usable for [`restore`].
pub(crate) fn salvage() -> Result<(), Error> {
    store().salvage(NAME).map(drop)
}

/// The kernel's threads of these names.
fn find(names: &[&str]) -> Vec<i32> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let tids = processes
        .flatten()
        .filter_map(|process| process.file_name().to_str()?.parse().ok());
    tids.filter(|tid| is_one(*tid, names)).collect()
}

fn is_one(tid: i32, names: &[&str]) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{tid}/stat")) else {
        return false;
    };
    let (Some(begin), Some(end)) = (stat.find('('), stat.rfind(')')) else {
        return false;
    };
    let parent = stat[end..].split_whitespace().nth(2);
    names.contains(&&stat[begin + 1..end]) && parent == Some(PARENT)
}

fn policy_of(tid: i32) -> Option<i32> {
    // SAFETY: it takes a number alone.
    let policy = unsafe { libc::sched_getscheduler(tid) };
    (policy >= 0).then_some(policy)
}

fn highest() -> i32 {
    // SAFETY: it takes a number alone.
    unsafe { libc::sched_get_priority_max(libc::SCHED_FIFO) }
}

fn set(tid: i32, policy: i32, sched_priority: i32) -> io::Result<()> {
    let param = libc::sched_param { sched_priority };
    // SAFETY: a valid struct.
    match unsafe { libc::sched_setscheduler(tid, policy, &param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn store() -> Store<Record> {
    Store::at(runtime_dir::DIR)
}
