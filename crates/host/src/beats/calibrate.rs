//! How long a thread's return from a switch takes, which the scheduler's early alarms count in
//! (`bpf/beats/calibrate.h`): measured on each processor when it is loaded, once with nothing else
//! to run there and once beside a thread that runs all the time.

use std::{
    os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd},
    thread,
    time::{Duration, Instant},
};

use nix::{
    fcntl::OFlag,
    sched::{CpuSet, sched_getaffinity, sched_setaffinity, sched_yield},
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    time::{ClockId, clock_gettime},
    unistd::{ForkResult, Pid, fork, pipe2, read},
};
use takt_algo::sys::takt_calibrate_args;

use crate::bpf::call;

/// With and without another thread. The least counts.
const YIELDS: u32 = 30;
/// A measurement takes 30 times 50 us.
const PATIENCE: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_micros(500);
/// For all processors together.
const PATIENCE_IN_ALL: Duration = Duration::from_secs(2);
const ENDS: u64 = 0;

/// Measure with this program of the scheduler on all processors that the process may use. Where
/// that fails, as on a processor that a realtime thread does not leave, no alarm is early.
pub(super) fn calibrate(program: BorrowedFd<'_>) {
    let Ok(allowed) = sched_getaffinity(Pid::from_raw(0)) else {
        return;
    };
    let until = Instant::now() + PATIENCE_IN_ALL;
    for cpu in (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu) == Ok(true)) {
        for beside_another in [false, true] {
            if Instant::now() < until {
                let _others_are_measured = measure(cpu, program, beside_another);
            }
        }
    }
}

/// In processes of their own: most threads with beats follow one of another program.
fn measure(cpu: usize, program: BorrowedFd<'_>, beside_another: bool) -> nix::Result<()> {
    // Each ends when the other has: nothing is written.
    let (until_measured, measures) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
    let other = if beside_another {
        Some(start(cpu, [until_measured.as_raw_fd()], || {
            spin(&until_measured);
        })?)
    } else {
        None
    };
    let uses = [measures.as_raw_fd(), program.as_raw_fd()];
    let measuring = start(cpu, uses, || take_turns(program));
    drop(measures);
    for child in measuring.into_iter().chain(other) {
        end(child)?;
    }
    Ok(())
}

/// Wait for its end. One that does not get to run is killed, and ends when it does.
fn end(child: Pid) -> nix::Result<()> {
    let until = Instant::now() + PATIENCE;
    while waitpid(child, Some(WaitPidFlag::WNOHANG))? == WaitStatus::StillAlive {
        if Instant::now() > until {
            return kill(child, Signal::SIGKILL);
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// A process that does this on one processor, in the scheduler's class, with no other files than
/// these.
fn start<const USES: usize>(
    cpu: usize,
    uses: [RawFd; USES],
    does: impl FnOnce(),
) -> nix::Result<Pid> {
    // SAFETY: the child only makes system calls, and ends without returning.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            // Among them is the host's lock, and the child may not get to run for long.
            close_all_but(uses);
            if is_on(cpu) {
                does();
            }
            // SAFETY: it takes no memory.
            unsafe { libc::_exit(0) }
        }
    }
}

fn close_all_but<const USES: usize>(mut uses: [RawFd; USES]) {
    const STANDARD: u32 = 3;
    let close = |first: u32, last: u32| {
        if first <= last {
            // SAFETY: the child's own copies, which it uses no more.
            unsafe { libc::close_range(first, last, 0) };
        }
    };
    uses.sort_unstable();
    let mut first = STANDARD;
    for used in uses.map(|fd| fd as u32) {
        close(first, used.saturating_sub(1));
        first = first.max(used + 1);
    }
    close(first, u32::MAX);
}

/// Have the calling process run on this processor, in the scheduler's class.
fn is_on(cpu: usize) -> bool {
    let ordinary = libc::sched_param { sched_priority: 0 };
    // SAFETY: a valid struct.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &ordinary) };
    let mut only = CpuSet::new();
    done == 0 && only.set(cpu).is_ok() && sched_setaffinity(Pid::from_raw(0), &only).is_ok()
}

/// Until the other end is closed.
fn spin(until: &OwnedFd) {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if read(until, &mut [0]) == Ok(0) {
            return;
        }
    }
}

fn take_turns(program: BorrowedFd<'_>) {
    // The first call has the next yields wait for alarms.
    tell(program, now_ns());
    for _ in 0..YIELDS {
        let _ = sched_yield();
        tell(program, now_ns());
    }
    tell(program, ENDS);
}

fn tell(program: BorrowedFd<'_>, now_ns: u64) {
    let _least_is_kept = call::run(program, &mut takt_calibrate_args { now_ns });
}

fn now_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(ENDS, |now| {
        now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
    })
}
