//! Classes and CPUs of other threads.

use std::io;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// What a slot changes of a thread, as it was before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    policy: u32,
    flags: u64,
    nice: i32,
    cpus: Vec<usize>,
}

impl Attributes {
    pub fn for_thread(tid: i32) -> io::Result<Self> {
        let mut found = sched_attr();
        // SAFETY: the kernel writes into a structure of that size.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_sched_getattr,
                tid,
                &raw mut found,
                found.size,
                0 as libc::c_uint,
            )
        };
        checked(answer)?;
        let set = sched_getaffinity(Pid::from_raw(tid))?;
        Ok(Self {
            policy: found.sched_policy,
            flags: found.sched_flags & libc::SCHED_FLAG_RESET_ON_FORK as u64,
            nice: found.sched_nice,
            cpus: (0..CpuSet::count())
                .filter(|cpu| set.is_set(*cpu).unwrap_or(false))
                .collect(),
        })
    }

    /// Whether it has no real-time class of its own, which a slot would be the end of.
    pub fn is_ordinary(&self) -> bool {
        let classes = [libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE];
        classes.contains(&(self.policy as i32))
    }

    /// Make the thread of this class again, out of its slot.
    pub fn restore_class(&self, tid: i32) -> io::Result<()> {
        let mut wanted = sched_attr();
        wanted.sched_policy = self.policy;
        wanted.sched_flags = self.flags;
        wanted.sched_nice = self.nice;
        set(tid, &wanted)
    }

    /// Everything as it was. A CPU that is offline now is left out by the kernel.
    pub fn restore(&self, tid: i32) -> io::Result<()> {
        self.restore_class(tid)?;
        set_cpus(tid, self.cpus.iter().copied())
    }
}

/// SCHED_FIFO, which the thread's children do not inherit.
pub fn raise(tid: i32, priority: u8) -> io::Result<()> {
    let mut wanted = sched_attr();
    wanted.sched_policy = libc::SCHED_FIFO as u32;
    wanted.sched_flags = libc::SCHED_FLAG_RESET_ON_FORK as u64;
    wanted.sched_priority = priority.into();
    set(tid, &wanted)
}

/// 0 is the calling thread.
pub fn set_cpus(tid: i32, cpus: impl IntoIterator<Item = usize>) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(cpu)?;
    }
    Ok(sched_setaffinity(Pid::from_raw(tid), &set)?)
}

fn set(tid: i32, wanted: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: the kernel reads a structure of the size that is in it.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_sched_setattr,
            tid,
            &raw const *wanted,
            0 as libc::c_uint,
        )
    };
    checked(answer)
}

fn sched_attr() -> libc::sched_attr {
    // SAFETY: all fields are integers, for which zero is a value.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    attributes.size = size_of::<libc::sched_attr>() as u32;
    attributes
}

fn checked(answer: libc::c_long) -> io::Result<()> {
    match answer {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
