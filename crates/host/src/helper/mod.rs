//! The helper: a process that does what BPF cannot for the links of this network namespace, for
//! as long as any of them needs it.
//!
//! BPF cannot make frames, so the gap feeder ([`gap`]) sends templates of them to
//! links with `pacing = "gap"`. And BPF cannot move a packet that the gate blocks to an idle
//! processor, so the [`opener`] runs there and asks the qdisc for it.
//!
//! It sleeps until a link needs it, and reads the list of links when takt asks and when a
//! device or a qdisc has changed. An idle host stays idle, but for a check every ten seconds
//! whether a namespace other than the initial one is still in use. [`presence`] makes it one
//! per namespace and lets other processes talk to it.

mod error;
mod frame;
mod gap;
mod listening;
mod opener;
mod patience;
mod presence;
mod socket;

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use takt_algo::sys::TAKT_PACING_TIMER;

use self::{gap::Feeder, opener::Opener, presence::Presence};
use crate::{
    error::Error,
    link::{
        memory::{Outline, PortMemory},
        program::Program,
    },
    os::{
        OsError, capability, files, namespace,
        netlink::{Changes, Device, Netlink},
    },
};

pub use error::HelperError;
pub(crate) use frame::gap_frame;
pub(crate) use listening::{Listener, Listening};
pub(crate) use patience::Patience;
pub(crate) use presence::{Coming, announce, is_running, sweep, tend};
/// Fails if packet sockets, which the helper needs, cannot be opened.
pub(crate) use socket::try_open;
pub(crate) use socket::{Sent, TemplateSocket, close_together, unless_gone};

/// How long a helper lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// Until no link needs it.
    WhileNeeded,
    /// Until it is killed.
    Always,
}

/// From the notification of a change to the look: what has begun is done by then, and changes
/// that come together, or all the time, cause one look.
const SETTLING: Duration = Duration::from_secs(1);
/// How often to check whether other processes use the namespace.
const BETWEEN_CHECKS: Duration = Duration::from_secs(10);

/// A link of this namespace whose qdisc is attached.
pub(crate) struct Helped {
    pub index: u32,
    pub device: Device,
    pub outline: Outline,
    pub port: Arc<PortMemory>,
}

/// Why a helper ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// There was one already.
    Superfluous,
    /// No link needs it any more.
    NotNeeded,
    /// No other process uses the namespace. Packets that links hold were sent by this process's
    /// sockets: they keep the namespace alive, and the namespace its links, so these are to be
    /// removed.
    Abandoned,
}

/// Help this namespace's links, until there is nothing left to do.
pub(crate) fn feed(stay: Stay) -> Result<Ended, Error> {
    capability::require()?;
    let doing = || HelperError::of("helping links");
    let Some(presence) = Presence::claim()? else {
        return Ok(Ended::Superfluous);
    };
    prepare_process();
    let mut helper = Helper::default();
    // Before the first look, so that no change meanwhile is missed.
    let changes = Changes::open().map_err(doing())?;
    let mut askers = presence.askers();
    helper.look()?;
    let mut changed = None;
    loop {
        let helps = helper.helps();
        // If that is unknown, the links decide.
        let abandoned = namespace::is_abandoned().unwrap_or(false);
        if abandoned || (!helps && stay == Stay::WhileNeeded) {
            // Release the name before the askers are answered: they may start another helper.
            drop(helper);
            drop(presence);
            return Ok(if abandoned {
                Ended::Abandoned
            } else {
                Ended::NotNeeded
            });
        }
        askers.drain(..).for_each(|asker| asker.answer(helps));
        let looked = Instant::now();
        askers = loop {
            let due = match changed {
                Some(changed) => Some(changed + SETTLING),
                // In the initial namespace there is nothing to check periodically.
                None => (!namespace::is_initial()).then_some(looked + BETWEEN_CHECKS),
            };
            let wait = due.map(|due| due.saturating_duration_since(Instant::now()));
            if wait == Some(Duration::ZERO) {
                // Changes that came meanwhile may not be settled.
                changed = changes.take().then(Instant::now);
                break Vec::new();
            }
            // A further change need not wake the helper.
            let fds = [presence.as_fd(), changes.as_fd()];
            wait_for(&fds[..2 - usize::from(changed.is_some())], wait).map_err(doing())?;
            if changed.is_none() && changes.take() {
                changed = Some(Instant::now());
            }
            let askers = presence.askers();
            if !askers.is_empty() {
                break askers;
            }
        };
        helper.look()?;
    }
}

/// Sleep until one of these is readable, at most this long.
fn wait_for(fds: &[BorrowedFd], time: Option<Duration>) -> io::Result<()> {
    let read = fds.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN));
    let mut fds: Vec<PollFd> = read.collect();
    let timeout = time.map_or(PollTimeout::NONE, |time| {
        PollTimeout::try_from(time + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
    });
    match poll(&mut fds, timeout) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// A socket for each length of each link takes more files than usual.
fn prepare_process() {
    // SAFETY: a plain system call.
    unsafe {
        let _ = libc::setsid();
    }
    files::raise_limit();
}

#[derive(Default)]
struct Helper {
    feeder: Feeder,
    opener: Opener,
    /// A link that needs help has lost its device, and may get it back from taktd, which lacks the privileges
    /// to start a helper.
    waits: bool,
}

impl Helper {
    fn helps(&self) -> bool {
        self.feeder.feeds() || self.opener.listens() || self.waits
    }

    fn look(&mut self) -> Result<(), Error> {
        let Links { standing, lost } = links()?;
        self.waits = lost;
        let opens = self.opener.look(&standing);
        self.feeder.look(standing)?;
        opens.map_err(HelperError::of("listening for what the gate holds"))
    }
}

/// Whether any link of this namespace needs a helper.
fn is_needed() -> Result<bool, Error> {
    let links = links()?;
    let mut standing = links.standing.iter();
    Ok(links.lost || standing.any(|link| wants_help(&link.outline)))
}

fn wants_help(link: &Outline) -> bool {
    link.gated || link.pacing != TAKT_PACING_TIMER
}

/// The links of this namespace.
#[derive(Default)]
struct Links {
    standing: Vec<Helped>,
    /// Whether a link that wants help is not attached now.
    lost: bool,
}

fn links() -> Result<Links, Error> {
    let mut links = Links::default();
    let Some(program) = Program::open()? else {
        return Ok(links);
    };
    let mut netlink = Netlink::open().map_err(OsError::netlink("opening a route socket"))?;
    let netns_cookie = netlink
        .netns_cookie()
        .map_err(OsError::netlink("identifying the namespace"))?;
    let devices = Device::list(&mut netlink).map_err(OsError::netlink("listing devices"))?;
    for index in program.links()? {
        let Some(port) = program.port(index)? else {
            continue;
        };
        let outline = port.outline();
        if outline.owner.netns_cookie != netns_cookie {
            continue;
        }
        let device = devices
            .iter()
            .find(|device| device.index == outline.owner.ifindex);
        match device {
            Some(device) if !outline.gone && port.is_attached() => links.standing.push(Helped {
                index,
                device: device.clone(),
                outline,
                port,
            }),
            _ => links.lost |= outline.attached && !outline.receives && wants_help(&outline),
        }
    }
    Ok(links)
}
