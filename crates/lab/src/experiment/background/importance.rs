//! A thread's importance to the kernel's scheduler.

use std::io;

use crate::experiment::error::{Result, WhileDoing};

const CALLING_THREAD: u32 = 0;

/// The calling thread yields to every other. The far end of the wire has such threads: in
/// reality it has a processor of its own, so it must not delay the host's work here.
pub fn less_than_all() -> Result<()> {
    schedule(CALLING_THREAD, libc::SCHED_IDLE, 0).doing("give way to every other thread")
}

/// The calling thread runs as soon as it is ready. For a far end that sends at its own times,
/// whatever the host does.
pub fn more_than_all() -> Result<()> {
    first_of_all(CALLING_THREAD)
}

/// Likewise another thread.
pub fn first_of_all(thread: u32) -> Result<()> {
    schedule(thread, libc::SCHED_FIFO, 1).doing("put a thread before every other")
}

fn schedule(thread: u32, policy: libc::c_int, sched_priority: libc::c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: the kernel reads the parameters, which live until it returns.
    match unsafe { libc::sched_setscheduler(thread as libc::pid_t, policy, &raw const parameters) }
    {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the nice value of a thread, the calling one if `thread` is zero.
pub fn nice(thread: u32, nice: i32) -> Result<()> {
    // SAFETY: only numbers are passed.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, nice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
    .doing("make a thread nice")
}
