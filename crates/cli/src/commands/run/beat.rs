//! A program whose first thread runs on the beat. takt stays its parent: a reservation on terms of
//! its own is given back when the program has ended.

use std::{
    ffi::OsString,
    io,
    os::fd::AsFd,
    process::{self, ExitCode},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        prctl,
        signal::{SigHandler, SigSet, SigmaskHow, Signal, kill, signal, sigprocmask},
        signalfd::{SfdFlags, SignalFd},
        wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid},
    },
    unistd::{ForkResult, Pid, Uid, fork},
};
use takt_daemon::{AskError, GroupMember, JoinBeat, LearnedLead, Request, ask};
use takt_host::reservations::{self, Caller, Terms, Wish};
use takt_policy::{ExactTime, Handoff};

use super::become_program;
use crate::{
    args::Output,
    exit::Exit,
    print::{self, Failure},
};

/// Signals that takt passes on to the program.
const FORWARDED: [Signal; 4] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
];

/// The terminal sends these to its whole foreground, the program included.
const SI_KERNEL: i32 = 0x80;

pub fn run(terms: Terms, command: &[OsString], output: Output) -> ExitCode {
    if let Err(error) = terms.check() {
        return print::refused(output, &error).into();
    }
    match supervise(&terms, command, output) {
        // An exit status is eight bits wide.
        Ok(status) => ExitCode::from(status as u8),
        Err(error) => {
            let message = format!("starting a process and waiting for it: {error}");
            print::failure(output, Exit::Failed, &message).into()
        }
    }
}

fn supervise(terms: &Terms, command: &[OsString], output: Output) -> io::Result<i32> {
    let waited_for: SigSet = FORWARDED.into_iter().chain([Signal::SIGCHLD]).collect();
    let mut before = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&waited_for), Some(&mut before))?;
    // SAFETY: no handler is given. If takt's parent ignored the signal, takt would inherit that,
    // and could not wait for the program.
    unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) }?;
    let signals = SignalFd::with_flags(&waited_for, SfdFlags::SFD_CLOEXEC)?;
    // SAFETY: takt has one thread at this time.
    let child = match unsafe { fork() }? {
        ForkResult::Child => {
            let failure = match enter(terms, &before) {
                Ok(()) => become_program(command),
                Err(refused) => refused,
            };
            process::exit(print::refused(output, failure) as i32)
        }
        ForkResult::Parent { child } => child,
    };
    let ended = wait(child, &signals);
    // Its number is not used again before it is waited for. Without root taktd finds out that it
    // has ended.
    if Uid::effective().is_root()
        && let Err(error) = reservations::leave(child.as_raw() as u32)
    {
        print::warning(&format!("giving its reservation on the beat back: {error}"));
    }
    ended?;
    match waitpid(child, None)? {
        WaitStatus::Exited(_, status) => Ok(status),
        WaitStatus::Signaled(_, signal, _) => Ok(128 + signal as i32),
        other => Err(io::Error::other(format!("{other:?} is no end"))),
    }
}

/// In the new process: take the reservation.
fn enter(terms: &Terms, mask: &SigSet) -> Result<(), Failure> {
    let failed = |errno| Failure::plain(Exit::Failed, format!("preparing the program: {errno}"));
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(mask), None).map_err(failed)?;
    // The program inherits it: its sleeps end on time.
    prctl::set_timerslack(1).map_err(failed)?;
    match ask(&Request::JoinBeat(request(terms))) {
        Ok(_) => Ok(()),
        Err(AskError::NotRunning) if Uid::effective().is_root() => {
            let wish = Wish::AdHoc(terms.clone());
            reservations::join(process::id(), &Caller::ROOT, &wish)
                .map(drop)
                .map_err(|error| (&error).into())
        }
        Err(error) => Err((&error).into()),
    }
}

fn request(terms: &Terms) -> JoinBeat {
    let (period_ns, period) = spelled(terms.period_ns);
    let (offset_ns, offset) = terms.offset_ns.map(spelled).unwrap_or_default();
    JoinBeat {
        period_ns,
        period,
        budget_ns: Some(terms.budget_ns),
        offset_ns,
        offset,
        lead_ns: (!terms.lead_auto).then_some(terms.lead_ns),
        lead: terms.lead_auto.then_some(LearnedLead::Auto),
        overrun: Some(terms.overrun),
        group: terms.group.as_ref().map(|name| GroupMember {
            name: name.clone(),
            member: terms.member + 1,
            of: terms.member_count,
            // An older taktd knows the order alone, and not the key.
            handoff: Some(terms.handoff).filter(|handoff| *handoff != Handoff::Order),
        }),
        ..JoinBeat::default()
    }
}

/// A number, or a text if it is a fraction: an older taktd takes the number, too.
fn spelled(time: ExactTime) -> (Option<u64>, Option<String>) {
    if time.is_fraction() {
        (None, Some(time.to_string()))
    } else {
        (Some(time.rounded_ns()), None)
    }
}

/// Waits until the child has ended, without reaping it.
fn wait(child: Pid, signals: &SignalFd) -> io::Result<()> {
    loop {
        let mut fds = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::NONE) {
            Err(Errno::EINTR) => continue,
            result => result?,
        };
        let Some(came) = signals.read_signal()? else {
            continue;
        };
        let came_as = Signal::try_from(came.ssi_signo as i32)?;
        if came_as == Signal::SIGCHLD {
            let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
            if waitid(Id::Pid(child), look)? != WaitStatus::StillAlive {
                return Ok(());
            }
        } else if came.ssi_code != SI_KERNEL {
            // It has not been reaped, so its number is valid.
            kill(child, came_as)?;
        }
    }
}
