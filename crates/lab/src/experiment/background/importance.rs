//! A thread's importance to the kernel's scheduler.

use std::io;

use crate::experiment::error::{Result, WhileDoing};

/// The calling thread yields to every other. The far end of the wire has such threads: in
/// reality it has a processor of its own, so it must not delay the host's work here.
pub fn less_than_all() -> Result<()> {
    schedule(libc::SCHED_IDLE, 0).doing("give way to every other thread")
}

/// The calling thread runs as soon as it is ready. For a far end that sends at its own times,
/// whatever the host does.
pub fn more_than_all() -> Result<()> {
    schedule(libc::SCHED_FIFO, 1).doing("go before every other thread")
}

fn schedule(policy: libc::c_int, sched_priority: libc::c_int) -> io::Result<()> {
    const CALLING_THREAD: libc::pid_t = 0;
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: the kernel reads the parameters, which live until it returns.
    match unsafe { libc::sched_setscheduler(CALLING_THREAD, policy, &raw const parameters) } {
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
