//! The feeder: keeps the stocks of this namespace's links full. It is called when
//! a link has spent half of its templates of some length.

use std::{
    io,
    os::fd::AsFd,
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use takt_algo::sys::TAKT_PACING_GAP;

use super::{
    refusal::longest_frame,
    stock::{Demand, Shelf, Stock},
};
use crate::{
    error::Error,
    helper::{Helped, Sent, TemplateSocket, gap_frame},
    port::{LengthCounters, Port},
};

/// Learning takes a walk through all lengths.
const BETWEEN_LESSONS: Duration = Duration::from_millis(20);
/// After the link has taken no template, none is sent for so long.
const AFTER_A_REFUSAL: Duration = Duration::from_millis(100);
pub(crate) struct Feeder {
    epoll: Rc<Epoll>,
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
    port: Rc<Port>,
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
    /// Its sockets' events are added to this epoll.
    pub fn new(epoll: Rc<Epoll>) -> Self {
        Self {
            epoll,
            links: Vec::new(),
            numbered: 0,
        }
    }

    pub fn feeds(&self) -> bool {
        !self.links.is_empty()
    }

    /// A stock runs low: the event of one of its sockets has come.
    pub fn refill(&mut self, event: u64) {
        let (number, len) = (event >> 32, event as u32);
        let link = self
            .links
            .iter_mut()
            .find(|link| u64::from(link.number) == number);
        if let Some(link) = link {
            link.refill(len);
        }
    }

    pub fn learn(&mut self) {
        for link in &mut self.links {
            link.learn(&self.epoll);
        }
    }

    /// Feed those of these links that want it, and no others, and fill their stocks.
    pub fn look(&mut self, links: &[Helped]) -> Result<(), Error> {
        let wanted = || {
            let wants = |link: &&Helped| link.outline.pacing == TAKT_PACING_GAP;
            links.iter().filter(wants).map(|link| (terms(link), link))
        };
        self.links
            .retain(|link| wanted().any(|(terms, _)| terms == link.terms));
        for (terms, link) in wanted() {
            if !self.links.iter().any(|link| link.terms == terms) {
                self.numbered += 1;
                let (source, port) = (link.device.address, link.port.clone());
                let link = Link::open(self.numbered, terms, source, port, &self.epoll)
                    .map_err(Error::helper("opening packet sockets"))?;
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

fn terms(link: &Helped) -> Terms {
    Terms {
        index: link.index,
        ifindex: link.device.index,
        secret: link.outline.secret,
        rate_bps: link.outline.rate_bps,
        overhead_bytes: link.outline.overhead_bytes,
        longest: longest_frame(&link.device),
    }
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
        port: Rc<Port>,
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
