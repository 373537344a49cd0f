//! The policy stays in force on its devices: one that comes back gets takt's qdisc again, and so does one
//! whose qdisc another program replaced, if the policy says so.
//!
//! A thread of its own sleeps until the kernel tells of a change. It may wait for the host's lock, and
//! reads the user database, so taktd's clients do not wait for it.

mod restores;

use std::{
    io::{self, Write},
    os::fd::AsFd,
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use takt_host::{Keeper, Kept, Undecided};

use self::restores::Restores;
use crate::error::Error;

/// From the first change to the look: changes that come together cause one.
const SETTLING: Duration = Duration::from_millis(100);
/// Between tries after a failure, for example while a policy waits to be confirmed.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_LAST: Duration = Duration::from_secs(60);

/// Start the thread, which ends with the process.
pub(crate) fn start() -> Result<(), Error> {
    let keeper = Keeper::open()?;
    thread::Builder::new()
        .name("taktd devices".to_owned())
        .spawn(move || keep(keeper))
        .map_err(Error::system("starting a thread"))?;
    Ok(())
}

/// The first look finds what changed while there was no taktd.
fn keep(mut keeper: Keeper) {
    let began = Instant::now();
    let mut restores = Restores::default();
    let mut retry = RETRY_FIRST;
    let mut said = None;
    loop {
        let looked = keeper.look(|lost| restores.allow(lost, began.elapsed()));
        let wait = match &looked {
            Ok(_) => None,
            Err(_) => Some(retry),
        };
        retry = match &looked {
            Ok(_) => RETRY_FIRST,
            Err(_) => (2 * retry).min(RETRY_LAST),
        };
        tell(looked, &mut said);
        if wait_for(&keeper, wait).is_err() {
            return say("devices that return are not served any more: waiting for them failed");
        }
        // At once, since the process that made the change may end.
        keeper.listen();
        thread::sleep(SETTLING);
        keeper.listen();
    }
}

/// Sleep until there is a change, at most this long.
fn wait_for(keeper: &Keeper, time: Option<Duration>) -> nix::Result<()> {
    let timeout = time.map_or(PollTimeout::NONE, |time| {
        PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX)
    });
    match poll(
        &mut [PollFd::new(keeper.as_fd(), PollFlags::POLLIN)],
        timeout,
    ) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// One line for each thing that happened. A failure that goes on is said once.
fn tell(looked: Result<Vec<Kept>, Undecided>, said: &mut Option<String>) {
    match looked {
        Ok(kept) => {
            kept.iter().for_each(|kept| say(&line(kept)));
            *said = None;
        }
        Err(problem) => {
            let problem = format!("a device could not be served again: {problem}");
            if said.as_ref() != Some(&problem) {
                say(&problem);
                *said = Some(problem);
            }
        }
    }
}

fn line(kept: &Kept) -> String {
    let by = |by: &Option<_>| match by {
        Some(by) => format!("{by}"),
        None => "a process that is not known".to_owned(),
    };
    match kept {
        Kept::Returned { device } => format!("{device} is back and carries takt again"),
        Kept::Restored {
            device,
            found,
            by: who,
        } => format!(
            "{device} carried {found}, put there by {}; it carries takt again",
            by(who)
        ),
        Kept::Conflict {
            device,
            found,
            by: who,
        } => format!(
            "{device} no longer carries takt but {found}, put there by {}",
            by(who)
        ),
    }
}

fn say(what: &str) {
    let _ = writeln!(io::stderr(), "taktd: {what}");
}
