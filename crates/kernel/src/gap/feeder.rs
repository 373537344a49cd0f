//! The feeder: keeps the stocks of this namespace's links full.
//!
//! It sleeps until a link has spent half of its templates of some length. Once
//! a second, and whenever takt asks, it looks which links there are.

use std::{
    io,
    os::fd::AsFd,
    thread,
    time::{Duration, Instant},
};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use takt_algo::sys::TAKT_PACING_GAP;

use super::{
    frame::gap_frame,
    presence::Presence,
    refusal::longest_frame,
    socket::{Sent, TemplateSocket},
    stock::{Demand, Shelf, Stock},
};
use crate::{
    capability,
    error::Error,
    netlink::{Device, Netlink},
    port::{LengthCounters, Port},
    program::Program,
};

/// How long a feeder lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// Until no link needs it.
    WhileNeeded,
    /// Until it is killed.
    Always,
}

const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// Learning takes a walk through all lengths.
const BETWEEN_LESSONS: Duration = Duration::from_millis(20);
/// After the link has taken no template, none is sent for so long.
const AFTER_A_REFUSAL: Duration = Duration::from_millis(100);
/// Refilling comes before ordinary work, or idle wires would wait for it.
const NICE: libc::c_int = -20;

const OF_LISTENER: u64 = u64::MAX;

/// Feed this namespace's links. Returns when there is nothing left to feed, or
/// `false` at once if there is a feeder.
pub fn feed(stay: Stay) -> Result<bool, Error> {
    capability::require()?;
    let doing = || Error::feeder("feeding links");
    let Some(presence) = Presence::claim().map_err(doing())? else {
        return Ok(false);
    };
    prepare_process();
    let mut feeder = Feeder::new(&presence).map_err(doing())?;
    let mut looked = Instant::now();
    let mut askers = presence.askers();
    feeder.look()?;
    loop {
        let feeds = !feeder.links.is_empty();
        if !feeds && stay == Stay::WhileNeeded {
            // Its name is free before the askers are told, who may start another.
            drop(feeder);
            drop(presence);
            return Ok(true);
        }
        askers.drain(..).for_each(|asker| asker.answer(feeds));
        let wait = BETWEEN_LOOKS.saturating_sub(looked.elapsed());
        if feeder.wait(wait).map_err(doing())? {
            askers = presence.askers();
        }
        if !askers.is_empty() || looked.elapsed() >= BETWEEN_LOOKS {
            feeder.look()?;
            looked = Instant::now();
        }
    }
}

/// A socket for each length of each link takes more files than is usual.
fn prepare_process() {
    // SAFETY: plain system calls. Where they are refused, feeding still works,
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

struct Feeder {
    epoll: Epoll,
    links: Vec<Link>,
    /// Counts the links that were ever fed; tells their events apart.
    numbered: u32,
}

/// What must stay the same for a link to be fed as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Terms {
    index: u32,
    ifindex: u32,
    /// Another each time that a link is made.
    secret: u32,
    rate_bps: u64,
    overhead_bytes: u32,
    longest: u32,
}

struct Link {
    number: u32,
    terms: Terms,
    source: [u8; 6],
    port: Port,
    stock: Stock,
    fed: Vec<Fed>,
    /// By length, as of the last lesson.
    counted: Vec<LengthCounters>,
    missed: u64,
    learned: Instant,
    refused: Option<Instant>,
}

/// A length and who sends it.
struct Fed {
    shelf: Shelf,
    socket: TemplateSocket,
    /// Its stock was full once: if it is found short, the target is too low.
    filled: bool,
}

impl Feeder {
    fn new(presence: &Presence) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(
            presence.listener(),
            EpollEvent::new(EpollFlags::EPOLLIN, OF_LISTENER),
        )?;
        Ok(Self {
            epoll,
            links: Vec::new(),
            numbered: 0,
        })
    }

    /// Sleep until a stock runs low, and refill it. Whether somebody asked.
    fn wait(&mut self, time: Duration) -> io::Result<bool> {
        let mut events = [EpollEvent::empty(); 256];
        let timeout =
            EpollTimeout::try_from(time + Duration::from_millis(1)).unwrap_or(EpollTimeout::MAX);
        let ready = match self.epoll.wait(&mut events, timeout) {
            Err(nix::errno::Errno::EINTR) => 0,
            ready => ready?,
        };
        let mut asked = false;
        for event in &events[..ready] {
            if event.data() == OF_LISTENER {
                asked = true;
                continue;
            }
            let (number, len) = (event.data() >> 32, event.data() as u32);
            let link = self
                .links
                .iter_mut()
                .find(|link| u64::from(link.number) == number);
            if let Some(link) = link {
                link.refill(len);
            }
        }
        for link in &mut self.links {
            link.learn(&self.epoll);
        }
        Ok(asked)
    }

    /// Look which links there are to feed, and fill their stocks.
    fn look(&mut self) -> Result<(), Error> {
        let wanted = wanted_links()?;
        self.links
            .retain(|link| wanted.iter().any(|(terms, ..)| *terms == link.terms));
        for (terms, source, port) in wanted {
            if !self.links.iter().any(|link| link.terms == terms) {
                self.numbered += 1;
                let link = Link::open(self.numbered, terms, source, port, &self.epoll)
                    .map_err(Error::feeder("opening packet sockets"))?;
                self.links.push(link);
            }
        }
        for link in &mut self.links {
            link.refused = None;
            link.refill_all();
            link.say_enough();
        }
        Ok(())
    }
}

/// The links of this namespace that are to be fed.
fn wanted_links() -> Result<Vec<(Terms, [u8; 6], Port)>, Error> {
    let Some(program) = Program::open()? else {
        return Ok(Vec::new());
    };
    let mut netlink = Netlink::open().map_err(Error::netlink("opening a route socket"))?;
    let netns_cookie = netlink
        .netns_cookie()
        .map_err(Error::netlink("identifying the namespace"))?;
    let devices = Device::list(&mut netlink).map_err(Error::netlink("listing devices"))?;
    let mut wanted = Vec::new();
    for index in program.links()? {
        let Some(port) = program.port(index)? else {
            continue;
        };
        let state = port.outline();
        let device = devices
            .iter()
            .find(|device| device.index == state.owner.ifindex);
        let Some(device) = device else { continue };
        if state.owner.netns_cookie != netns_cookie
            || state.gone
            || !state.attached
            || state.pacing != TAKT_PACING_GAP
        {
            continue;
        }
        let terms = Terms {
            index,
            ifindex: device.index,
            secret: state.secret,
            rate_bps: state.rate_bps,
            overhead_bytes: state.overhead_bytes,
            longest: longest_frame(device),
        };
        wanted.push((terms, device.address, port));
    }
    Ok(wanted)
}

/// Closing a packet socket waits until no processor uses it any more. All of a
/// link's wait together, or it would take seconds.
impl Drop for Link {
    fn drop(&mut self) {
        thread::scope(|scope| {
            for fed in self.fed.drain(..) {
                // Without a thread to be had, it is closed here.
                let _ = thread::Builder::new().spawn_scoped(scope, move || drop(fed));
            }
        });
    }
}

impl Link {
    fn open(
        number: u32,
        terms: Terms,
        source: [u8; 6],
        port: Port,
        epoll: &Epoll,
    ) -> io::Result<Self> {
        let stock = Stock::new(terms.rate_bps, terms.longest, terms.overhead_bytes);
        let mut link = Self {
            number,
            terms,
            source,
            counted: stock
                .learnable()
                .map(|len| port.gap_counters(len))
                .collect(),
            missed: port.gap().missed,
            port,
            fed: Vec::new(),
            stock,
            learned: Instant::now(),
            refused: None,
        };
        // Not before all shelves are full for the first time.
        link.port.set_gap_terms(terms.longest, 0);
        link.port.renew_gap();
        for shelf in link.stock.shelves().to_vec() {
            link.add(shelf, epoll)?;
        }
        Ok(link)
    }

    fn add(&mut self, shelf: Shelf, epoll: &Epoll) -> io::Result<()> {
        let frame = gap_frame(self.source, shelf.len);
        let socket = TemplateSocket::open(self.terms.ifindex, self.terms.secret, frame)?;
        socket.bound(shelf.target)?;
        // Edges: one event each time that half is gone.
        let event = EpollEvent::new(
            EpollFlags::EPOLLOUT | EpollFlags::EPOLLET,
            u64::from(self.number) << 32 | u64::from(shelf.len),
        );
        epoll.add(socket.as_fd(), event)?;
        self.fed.push(Fed {
            shelf,
            socket,
            filled: false,
        });
        Ok(())
    }

    fn refill_all(&mut self) {
        for at in 0..self.fed.len() {
            self.refill_at(at);
        }
    }

    fn refill(&mut self, len: u32) {
        if let Some(at) = self.fed.iter().position(|fed| fed.shelf.len == len) {
            self.refill_at(at);
        }
    }

    fn refill_at(&mut self, at: usize) {
        if self
            .refused
            .is_some_and(|refused| refused.elapsed() < AFTER_A_REFUSAL)
        {
            return;
        }
        let fed = &mut self.fed[at];
        let counters = self.port.gap_counters(fed.shelf.len);
        // At first there may be those of another feeder, which do not count.
        let stocked = if fed.filled { counters.stocked } else { 0 };
        if fed.filled
            && counters.stocked < fed.shelf.target / 4
            && let Some(target) = self.stock.ran_short(fed.shelf.len)
        {
            fed.shelf.target = target;
            // Where the buffer cannot grow, the stock stays as it is.
            let _ = fed.socket.bound(target);
            self.port
                .set_gap_terms(self.terms.longest, self.stock.enough());
        }
        let short = fed.shelf.target.saturating_sub(stocked);
        match fed.socket.send(short) {
            Ok(Sent::All | Sent::Full) => fed.filled = true,
            // The device is down or gone, which the next look will see.
            Ok(Sent::Refused) | Err(_) => self.refused = Some(Instant::now()),
        }
    }

    /// Learn from what the link missed.
    fn learn(&mut self, epoll: &Epoll) {
        let missed = self.port.gap().missed;
        if missed == self.missed || self.learned.elapsed() < BETWEEN_LESSONS {
            return;
        }
        self.missed = missed;
        self.learned = Instant::now();
        let now: Vec<LengthCounters> = self
            .stock
            .learnable()
            .map(|len| self.port.gap_counters(len))
            .collect();
        let first = self.stock.learnable().start;
        let (came, went) = self.stock.learn(|len| {
            let at = (len - first) as usize;
            Demand {
                spent: now[at].spent.wrapping_sub(self.counted[at].spent),
                missed: now[at].missed.wrapping_sub(self.counted[at].missed),
            }
        });
        self.counted = now;
        self.fed.retain(|fed| !went.contains(&fed.shelf.len));
        for shelf in came {
            // Without its socket the length is made up of two, as before.
            if self.add(shelf, epoll).is_ok() {
                self.refill(shelf.len);
            }
        }
        self.say_enough();
    }

    fn say_enough(&self) {
        self.port
            .set_gap_terms(self.terms.longest, self.stock.enough());
    }
}
