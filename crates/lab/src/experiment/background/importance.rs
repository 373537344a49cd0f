//! How important a thread is to the kernel's scheduler.

use std::io;

use crate::experiment::error::{Result, WhileDoing};

/// The calling thread gives way to every other. The far end of the wire is such
/// threads: in reality it has a processor of its own, so it must not keep the
/// host's from what is to be done there.
pub fn less_than_all() -> Result<()> {
    const CALLING_THREAD: libc::pid_t = 0;
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads the parameters, which live until it returns.
    match unsafe {
        libc::sched_setscheduler(CALLING_THREAD, libc::SCHED_IDLE, &raw const parameters)
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
    .doing("give way to every other thread")
}

/// Makes a thread, the calling one if `thread` is zero, as nice as that.
pub fn nice(thread: u32, nice: i32) -> Result<()> {
    // SAFETY: only numbers are passed.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, nice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
    .doing("make a thread nice")
}
