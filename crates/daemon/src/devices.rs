//! The policy stays in force on its devices: one that comes back gets takt's qdisc again, and so
//! does one whose qdisc another program replaced, if the policy says so.
//!
//! A thread of its own sleeps until the kernel tells of a change. It may wait for the host's lock,
//! and reads the user database, so taktd's clients do not wait for it.

mod restores;

use std::{
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use takt_host::{Keeper, Kept, Undecided};
use tracing::{error, info, warn};

use self::restores::Restores;
use crate::{error::Error, server::now_ns};

/// From the first change to the look: changes that come together cause one.
const SETTLING: Duration = Duration::from_millis(100);
/// Between tries after a failure, for example while a policy waits to be confirmed.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_LAST: Duration = Duration::from_secs(60);

/// A look that takes longer than this hangs, in the kernel or in a file system: it waits 2 s for
/// the host's lock, and a link is attached within a second.
const HANGS_NS: u64 = 60_000_000_000;

/// The thread's other end. The thread ends with the process.
pub(crate) struct Devices {
    wakes: UnixStream,
    busy: Arc<Busy>,
}

/// Since when the thread is looking; 0: it sleeps.
#[derive(Default)]
struct Busy(AtomicU64);

impl Devices {
    pub fn start() -> Result<Self, Error> {
        let keeper = Keeper::open()?;
        let pair = || -> io::Result<_> {
            let (wakes, woken) = UnixStream::pair()?;
            wakes.set_nonblocking(true)?;
            woken.set_nonblocking(true)?;
            Ok((wakes, woken))
        };
        let (wakes, woken) = pair().map_err(Error::system("starting a thread"))?;
        let busy = Arc::new(Busy::default());
        let its = Arc::clone(&busy);
        thread::Builder::new()
            .name("taktd devices".to_owned())
            .spawn(move || keep(keeper, &woken, &its))
            .map_err(Error::system("starting a thread"))?;
        Ok(Self { wakes, busy })
    }

    /// Look at the devices now.
    pub fn look(&self) {
        // A full pipe wakes the thread as well.
        let _ = (&self.wakes).write(&[0]);
    }

    /// Whether the thread does its work.
    pub fn is_well(&self, now_ns: u64) -> bool {
        let since_ns = self.busy.0.load(Ordering::Relaxed);
        since_ns == 0 || now_ns.saturating_sub(since_ns) < HANGS_NS
    }
}

/// The first look finds what changed while there was no taktd.
fn keep(mut keeper: Keeper, woken: &UnixStream, busy: &Busy) {
    let began = Instant::now();
    let mut restores = Restores::default();
    let mut retry = RETRY_FIRST;
    let mut said = None;
    loop {
        busy.0.store(now_ns(), Ordering::Relaxed);
        let looked = keeper.look(|lost| restores.allow(lost, began.elapsed()));
        busy.0.store(0, Ordering::Relaxed);
        let wait = match &looked {
            Ok(_) => None,
            Err(_) => Some(retry),
        };
        retry = match &looked {
            Ok(_) => RETRY_FIRST,
            Err(_) => (2 * retry).min(RETRY_LAST),
        };
        tell(looked, &mut said);
        if let Err(errno) = wait_for(keeper.fds().chain([woken.as_fd()]), wait) {
            error!("devices that return are not served any more: waiting for them: {errno}");
            return;
        }
        // The bytes only wake the reader; their values mean nothing.
        let _ = (&*woken).read(&mut [0; 64]);
        // At once, since the process that made the change may end.
        keeper.listen();
        thread::sleep(SETTLING);
        keeper.listen();
    }
}

/// Sleep until there is a change, at most this long.
fn wait_for<'a>(
    changes: impl Iterator<Item = BorrowedFd<'a>>,
    time: Option<Duration>,
) -> nix::Result<()> {
    let timeout = time.map_or(PollTimeout::NONE, |time| {
        PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX)
    });
    let mut fds: Vec<_> = changes
        .map(|change| PollFd::new(change, PollFlags::POLLIN))
        .collect();
    match poll(&mut fds, timeout) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// One line for each thing that happened. A failure that goes on is said once.
fn tell(looked: Result<Vec<Kept>, Undecided>, said: &mut Option<String>) {
    match looked {
        Ok(kept) => {
            kept.iter().for_each(log);
            if said.take().is_some() {
                info!("all devices are served again");
            }
        }
        Err(problem) => {
            let problem = format!("a device could not be served again: {problem}");
            if said.as_ref() != Some(&problem) {
                warn!("{problem}");
                *said = Some(problem);
            }
        }
    }
}

fn log(kept: &Kept) {
    match kept {
        Kept::Returned { device } | Kept::Restored { device, .. } => {
            info!(device, "{}", line(kept));
        }
        Kept::Resized { device } | Kept::Redirected { device } => {
            info!(device, "{}", line(kept));
        }
        Kept::BeatsMoved { .. } => info!("{}", line(kept)),
        Kept::Conflict { device, found, .. } => warn!(device, found, "{}", line(kept)),
        Kept::BeatsEnded { .. } => warn!("{}", line(kept)),
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
        Kept::Resized { device } => {
            format!("{device} has another MTU, and the limit of its segments follows it")
        }
        Kept::Redirected { device } => {
            format!(
                "{device}: another program had removed takt's filter or device, and packets come here again"
            )
        }
        Kept::BeatsMoved { by_ns } => {
            format!("CLOCK_TAI was set forward by {by_ns} ns, and beats follow it")
        }
        Kept::BeatsEnded { by, reason } => format!(
            "beats do not run any more: {by} ended their scheduler: {reason}; takt apply starts \
             them again"
        ),
    }
}
