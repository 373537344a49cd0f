//! The keeper is a process of its own, and its parent restores every thread when it ends, however
//! it does. A parent that is killed takes the keeper along.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process,
};

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg},
    sys::{
        prctl::set_pdeathsig,
        signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask},
        wait::{WaitStatus, waitpid},
    },
    unistd::{ForkResult, Pid, Uid, fork, getppid},
};

use crate::{
    error::{Error, Result},
    keeper::Keeper,
    plan::Plan,
    record::{FOLDER, make_folders, restore_all},
};

const LOCK: &str = "lock";
/// The kernel's scheduler is pinned there while it keeps tasks.
const SCHEDULER: &str = "/sys/fs/bpf/takt-beats";

/// Keeps the plan until SIGTERM or SIGINT. Nothing may run in another thread before.
pub fn run(plan: Plan, priority: u8) -> Result<()> {
    let _lock = lock()?;
    if Path::new(SCHEDULER).exists() {
        return Err(Error::KernelKeepsTasks);
    }
    // Of one that was killed together with its keeper.
    restore_all()?;

    let ends = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT]);
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGCHLD]);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&signals), None)
        .map_err(|error| Error::doing("block signals")(error.into()))?;
    let parent = Pid::this();
    // SAFETY: this process has one thread.
    match unsafe { fork() }.map_err(|error| Error::doing("start the keeper")(error.into()))? {
        ForkResult::Child => process::exit(match keep(plan, priority, parent, &ends) {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("takt-dispatch: {error}");
                1
            }
        }),
        ForkResult::Parent { child } => {
            let ended = watch(child, &signals);
            let restored = restore_all()?;
            match ended {
                WaitStatus::Exited(_, 0) => Ok(()),
                WaitStatus::Exited(..) => Err(Error::Keeper {
                    restored,
                    how: "failed",
                }),
                _ => Err(Error::Keeper {
                    restored,
                    how: "was killed",
                }),
            }
        }
    }
}

/// Restores what a dispatcher that is gone left.
pub fn release() -> Result<usize> {
    let _lock = lock()?;
    restore_all()
}

/// One dispatcher at a time.
fn lock() -> Result<Flock<File>> {
    if !Uid::effective().is_root() {
        return Err(Error::NotRoot);
    }
    make_folders()?;
    let path = Path::new(FOLDER).join(LOCK);
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(Error::file(path))?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| match error {
        Errno::EWOULDBLOCK => Error::Running,
        error => Error::doing("lock the dispatcher")(error.into()),
    })
}

fn keep(plan: Plan, priority: u8, parent: Pid, ends: &SigSet) -> Result<()> {
    set_pdeathsig(Signal::SIGTERM)
        .map_err(|error| Error::doing("be told of the supervisor's end")(error.into()))?;
    if getppid() != parent {
        return Ok(());
    }
    let tasks = plan.tasks.len();
    let cpus: Vec<String> = plan
        .tables
        .iter()
        .map(|table| table.cpu.to_string())
        .collect();
    let keeper = Keeper::start(plan, priority)?;
    println!(
        "keeping {tasks} tasks on CPU {} (SCHED_FIFO, priority {priority})",
        cpus.join(",")
    );
    // Without systemd there is nothing to tell.
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
    keeper.keep(ends)
}

/// Passes signals on until the keeper has ended.
fn watch(child: Pid, signals: &SigSet) -> WaitStatus {
    loop {
        match signals.wait() {
            Ok(Signal::SIGCHLD) => {
                if let Ok(ended @ (WaitStatus::Exited(..) | WaitStatus::Signaled(..))) =
                    waitpid(child, None)
                {
                    return ended;
                }
            }
            // It may have ended, and then SIGCHLD is next.
            Ok(_) => drop(kill(child, Signal::SIGTERM)),
            Err(_) => {}
        }
    }
}
