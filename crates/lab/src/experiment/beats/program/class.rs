//! Threads' scheduling parameters.

use std::ffi::CString;
use std::io;
use std::mem::size_of;

use crate::experiment::beats::script::Class;
use crate::experiment::error::{Result, WhileDoing};

const CALLING_THREAD: libc::pid_t = 0;

/// Gives the calling thread its name, by which Takt recognises it.
pub fn name(name: &str) -> Result<()> {
    let name = CString::new(name).map_err(io::Error::other);
    nix::sys::prctl::set_name(&name.doing("name a thread")?).doing("name a thread")
}

/// Makes the calling thread's timers as exact as those of real-time threads: an ordinary
/// thread's may be 50 µs late by default.
pub fn exact_timers() -> Result<()> {
    const SLACK_NS: u64 = 1;
    nix::sys::prctl::set_timerslack(SLACK_NS).doing("ask for exact timers")
}

/// Puts the calling thread into a class, with exact timers.
pub fn enter(class: Class) -> Result<()> {
    exact_timers()?;
    match class {
        Class::Ordinary => Ok(()),
        other => change(CALLING_THREAD, other),
    }
    .doing("change a thread's scheduling class")
}

/// Puts another thread into a class.
pub fn set_class(thread: u32, class: Class) -> Result<()> {
    change(thread as libc::pid_t, class).doing("change the scheduling class of another thread")
}

fn change(thread: libc::pid_t, class: Class) -> io::Result<()> {
    const NO_PRIORITY: u32 = 0;
    match class {
        Class::Ordinary => fixed(thread, libc::SCHED_OTHER, NO_PRIORITY),
        Class::Fifo { priority } => fixed(thread, libc::SCHED_FIFO, priority),
        Class::Deadline {
            runtime_ns,
            period_ns,
        } => deadline(thread, runtime_ns, period_ns),
    }
}

fn fixed(thread: libc::pid_t, policy: libc::c_int, priority: u32) -> io::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: priority as i32,
    };
    // SAFETY: the kernel reads the parameters, which live until it returns.
    let answer = unsafe { libc::sched_setscheduler(thread, policy, &raw const parameters) };
    checked(answer.into())
}

/// The relative deadline is the period.
fn deadline(thread: libc::pid_t, runtime_ns: u64, period_ns: u64) -> io::Result<()> {
    const NO_FLAGS: libc::c_uint = 0;
    // SAFETY: all fields are integers, for which zero is a value.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    attributes.size = size_of::<libc::sched_attr>() as u32;
    attributes.sched_policy = libc::SCHED_DEADLINE as u32;
    attributes.sched_runtime = runtime_ns;
    attributes.sched_deadline = period_ns;
    attributes.sched_period = period_ns;
    // SAFETY: the kernel reads the attributes, which live until it returns.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_sched_setattr,
            thread,
            &raw const attributes,
            NO_FLAGS,
        )
    };
    checked(answer)
}

fn checked(answer: libc::c_long) -> io::Result<()> {
    match answer {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
