//! The helper: a process that does for the links of this network namespace what
//! BPF cannot, for as long as any of them needs it.
//!
//! BPF cannot make frames, so the gap feeder ([`crate::gap`]) keeps links with
//! `pacing = "gap"` in stock of them. And a packet that the gate holds cannot be
//! carried to a processor that has nothing to do, so the [`opener`] comes from
//! there and fetches it.
//!
//! It sleeps until a link calls, and looks which links there are whenever takt asks.
//! While it feeds gaps it looks by itself as well, once a second; otherwise a host
//! that is idle stays so, but for a check every ten seconds whether a namespace of its
//! own is still anybody's. [`presence`] makes it one per namespace and lets
//! others speak to it.

mod frame;
mod opener;
mod presence;
mod socket;

use std::{
    io,
    rc::Rc,
    time::{Duration, Instant},
};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use self::{opener::Opener, presence::Presence};
use crate::{
    capability,
    error::Error,
    gap::Feeder,
    namespace,
    netlink::{Device, Netlink},
    port::{Outline, Port},
    program::Program,
    revert::{Ending, revert},
};

pub(crate) use frame::gap_frame;
pub(crate) use presence::{is_running, tend};
/// That packet sockets can be opened, which the helper needs.
pub(crate) use socket::try_open;
pub(crate) use socket::{Sent, TemplateSocket};

/// How long a helper lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// Until no link needs it.
    WhileNeeded,
    /// Until it is killed.
    Always,
}

const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// How long a namespace that nobody else is in may be kept.
const BETWEEN_CHECKS: Duration = Duration::from_secs(10);
/// Refilling comes before ordinary work, or idle wires would wait for it.
const NICE: libc::c_int = -20;

const OF_LISTENER: u64 = u64::MAX;

/// A link of this namespace that stands.
pub(crate) struct Helped {
    pub index: u32,
    pub device: Device,
    pub outline: Outline,
    pub port: Rc<Port>,
}

/// Help this namespace's links. Returns when there is nothing left to do, or
/// `false` at once if there is a helper.
pub fn feed(stay: Stay) -> Result<bool, Error> {
    capability::require()?;
    let doing = || Error::helper("helping links");
    let Some(presence) = Presence::claim().map_err(doing())? else {
        return Ok(false);
    };
    prepare_process();
    let mut helper = Helper::new(&presence).map_err(doing())?;
    let mut looked = Instant::now();
    let mut askers = presence.askers();
    helper.look()?;
    loop {
        let helps = helper.helps();
        // Where it cannot be told, the links decide.
        let abandoned = namespace::is_abandoned().unwrap_or(false);
        if abandoned || (!helps && stay == Stay::WhileNeeded) {
            // Its name is free before the askers are told, who may start another.
            drop(helper);
            drop(presence);
            if abandoned {
                // Frames that links keep have been sent by this process's sockets, which keep the
                // namespace as long, and that its links: so those go first.
                revert(Ending::Policy)?;
            }
            return Ok(true);
        }
        askers.drain(..).for_each(|asker| asker.answer(helps));
        loop {
            let between = helper.between_looks();
            let wait = between.map(|between| between.saturating_sub(looked.elapsed()));
            if helper.wait(wait).map_err(doing())? {
                askers = presence.askers();
            }
            if !askers.is_empty() || between.is_some_and(|between| looked.elapsed() >= between) {
                break;
            }
        }
        helper.look()?;
        looked = Instant::now();
    }
}

/// A socket for each length of each link takes more files than is usual.
fn prepare_process() {
    // SAFETY: plain system calls. Where they are refused, helping still works,
    // for fewer links and a little later.
    unsafe {
        let _ = libc::setsid();
        let _ = libc::setpriority(libc::PRIO_PROCESS, 0, NICE);
        let mut limit = std::mem::zeroed::<libc::rlimit>();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            let _ = libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

struct Helper {
    epoll: Rc<Epoll>,
    feeder: Feeder,
    opener: Opener,
}

impl Helper {
    fn new(presence: &Presence) -> io::Result<Self> {
        let epoll = Rc::new(Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?);
        epoll.add(
            presence.listener(),
            EpollEvent::new(EpollFlags::EPOLLIN, OF_LISTENER),
        )?;
        Ok(Self {
            feeder: Feeder::new(Rc::clone(&epoll)),
            epoll,
            opener: Opener::default(),
        })
    }

    fn helps(&self) -> bool {
        self.feeder.feeds() || self.opener.listens()
    }

    /// `None`: there is nothing to find out but what takt will tell.
    fn between_looks(&self) -> Option<Duration> {
        if self.feeder.feeds() {
            Some(BETWEEN_LOOKS)
        } else {
            (!namespace::is_initial()).then_some(BETWEEN_CHECKS)
        }
    }

    /// Sleep until a stock runs low, and refill it. Whether somebody asked.
    fn wait(&mut self, time: Option<Duration>) -> io::Result<bool> {
        let mut events = [EpollEvent::empty(); 256];
        let timeout = time.map_or(EpollTimeout::NONE, |time| {
            EpollTimeout::try_from(time + Duration::from_millis(1)).unwrap_or(EpollTimeout::MAX)
        });
        let ready = match self.epoll.wait(&mut events, timeout) {
            Err(nix::errno::Errno::EINTR) => 0,
            ready => ready?,
        };
        let mut asked = false;
        for event in &events[..ready] {
            match event.data() {
                OF_LISTENER => asked = true,
                event => self.feeder.refill(event),
            }
        }
        self.feeder.learn();
        Ok(asked)
    }

    fn look(&mut self) -> Result<(), Error> {
        let links = standing_links()?;
        self.feeder.look(&links)?;
        self.opener
            .look(&links)
            .map_err(Error::helper("listening for what the gate holds"))
    }
}

fn standing_links() -> Result<Vec<Helped>, Error> {
    let Some(program) = Program::open()? else {
        return Ok(Vec::new());
    };
    let mut netlink = Netlink::open().map_err(Error::netlink("opening a route socket"))?;
    let netns_cookie = netlink
        .netns_cookie()
        .map_err(Error::netlink("identifying the namespace"))?;
    let devices = Device::list(&mut netlink).map_err(Error::netlink("listing devices"))?;
    let mut standing = Vec::new();
    for index in program.links()? {
        let Some(port) = program.port(index)? else {
            continue;
        };
        let outline = port.outline();
        let device = devices
            .iter()
            .find(|device| device.index == outline.owner.ifindex);
        let Some(device) = device else { continue };
        if outline.owner.netns_cookie == netns_cookie && !outline.gone && outline.attached {
            standing.push(Helped {
                index,
                device: device.clone(),
                outline,
                port: Rc::new(port),
            });
        }
    }
    Ok(standing)
}
