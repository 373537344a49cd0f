//! `takt apply --confirm`: a policy on trial, seen from the takt that applied it.
//!
//! It waits for an answer at the terminal, or from another session, and takes the policy back
//! if there is none in time. Its guard ([`guard`]) does so if this process cannot.

mod answer;
mod guard;

use std::{
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd},
    time::Duration,
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
    },
};
use serde_json::json;
use takt_host::{
    Applied, Cause, Error, Options, Pending, Role, Source, Stage, Trial as Terms, TrialError, Turn,
    Undecided,
};
use takt_policy::Policy;

pub use self::guard::run as guard;
use self::{
    answer::{Answer, Terminal},
    guard::Guard,
};
use crate::{args::Output, exit::Exit, print};

/// The longest delay until another session's decision is seen.
const TICK: Duration = Duration::from_millis(200);

/// A policy whose time is over, and whose takt and guard are gone, is taken back before the host is
/// looked at or changed. What fails is tried again by the next takt, and `takt status` says it.
pub fn end_left_behind() {
    let left_behind = Pending::here().ok().flatten();
    let Some(mut pending) = left_behind.filter(Pending::is_left_behind) else {
        return;
    };
    let policy = pending.policy().to_owned();
    let note = match pending.take_back() {
        Ok(Stage::TakenBack { .. }) => {
            format!("policy {policy} was reverted: it was not confirmed, and its takt was gone")
        }
        Ok(_) => return,
        Err(error) => {
            format!("policy {policy} was not confirmed, and could not be reverted: {error}")
        }
    };
    let _ = writeln!(io::stderr(), "takt: {note}");
}

/// A policy on trial that this process has applied.
pub struct Trial {
    pending: Pending,
    guard: Guard,
    patience: Duration,
}

/// Apply the policy, with a guard that runs before anything is changed.
pub fn begin(
    policy: &Policy,
    source: &Source,
    options: Options,
    patience: Duration,
) -> Result<(Applied, Trial), Undecided> {
    let terms = Terms::new(patience);
    let mut guard =
        Guard::start(&terms.id).map_err(|source| Error::from(TrialError::Guard { source }))?;
    // If it fails there is nothing to guard: the guard ends with its handle.
    let (applied, pending) =
        takt_host::apply_on_trial(policy, source, options, &terms, guard.pid())?;
    guard.tell();
    let trial = Trial {
        pending,
        guard,
        patience,
    };
    Ok((applied, trial))
}

impl Trial {
    /// Wait until the trial is decided, and report the decision.
    pub fn decide(mut self, output: Output) -> Exit {
        let exit = match self.wait() {
            Err(error) => return print::refused(output, &error),
            Ok(Stage::Kept { by }) => {
                print::result(output, &json!({ "kept": true, "by": by }), |_| {
                    if by.pid == std::process::id() {
                        "kept".to_owned()
                    } else {
                        format!("kept: {by} confirmed it")
                    }
                });
                Exit::Done
            }
            Ok(Stage::TakenBack { left, .. }) => {
                print::refused(output, &Error::from(TrialError::NotConfirmed { left }))
            }
            // The trial was decided, and there was no room to record how.
            Ok(_) => print::refused(output, &Error::from(TrialError::NothingPending)),
        };
        self.guard.dismiss();
        exit
    }

    fn wait(&mut self) -> Result<Stage, Error> {
        let signals = Signals::open();
        let mut terminal = Terminal::open();
        self.ask(terminal.is_some());
        loop {
            let stage = self.pending.stage()?;
            let time = match stage.turn(Role::Takt) {
                Turn::End => return decided(stage),
                Turn::TakeBack => return self.pending.take_back(),
                Turn::Wait { time_ns } => Duration::from_nanos(time_ns).min(TICK),
            };
            let readable = terminal.as_ref().filter(|terminal| terminal.is_ours());
            let fds = signals
                .iter()
                .map(|signals| signals.0.as_fd())
                .chain(readable.map(|terminal| terminal.as_fd()));
            wait_for(&fds.collect::<Vec<_>>(), time);
            if signals.as_ref().is_some_and(Signals::interrupted) {
                return self.pending.take_back();
            }
            match terminal.as_mut().map_or(Answer::None, Terminal::read) {
                Answer::None => {}
                Answer::Keep => match self.pending.keep() {
                    Ok(_) => {}
                    // The next look finds its current state.
                    Err(error)
                        if matches!(
                            error.cause(),
                            Cause::Trial(
                                TrialError::NothingPending | TrialError::NotConfirmable(_)
                            )
                        ) => {}
                    Err(error) => return Err(error),
                },
                Answer::TakeBack => return self.pending.take_back(),
                // An administrator who comes back may confirm it from another session.
                Answer::Closed => terminal = None,
            }
        }
    }

    fn ask(&self, at_terminal: bool) {
        let time_s = self.patience.as_secs();
        let _ = if at_terminal {
            writeln!(
                io::stderr(),
                "Press Enter or type yes within {time_s} s to keep this policy; \
                 anything else reverts it.\n(`takt confirm` in another session keeps it, too.)"
            )
        } else {
            writeln!(
                io::stderr(),
                "`takt confirm` within {time_s} s keeps this policy, `takt cancel` reverts it."
            )
        };
    }
}

/// The meaning of a final stage for this process.
fn decided(stage: Stage) -> Result<Stage, Error> {
    match stage {
        Stage::Failed { reason, .. } => Err(TrialError::NotRestorable { reason }.into()),
        decided => Ok(decided),
    }
}

/// Sleep until one of these can be read, at most so long.
fn wait_for(fds: &[BorrowedFd], time: Duration) {
    let mut fds: Vec<PollFd> = fds
        .iter()
        .map(|fd| PollFd::new(*fd, PollFlags::POLLIN))
        .collect();
    let timeout = PollTimeout::try_from(time + Duration::from_millis(1));
    // If polling fails the next look does no harm, and time goes on.
    let _ = poll(&mut fds, timeout.unwrap_or(PollTimeout::MAX));
}

/// Signals that would end this process are read from now on.
struct Signals(SignalFd);

impl Signals {
    fn open() -> Option<Self> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            set.add(signal);
        }
        let file = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC);
        // Without them a signal ends this process, and the guard takes over.
        let signals = Self(file.ok()?);
        set.thread_block().ok()?;
        Some(signals)
    }

    /// Whether one of them ends the trial. Loss of the terminal (SIGHUP) does not: a trial is for
    /// broken connections.
    fn interrupted(&self) -> bool {
        while let Ok(Some(signal)) = self.0.read_signal() {
            if signal.ssi_signo != Signal::SIGHUP as u32 {
                return true;
            }
        }
        false
    }
}
