//! One link that is fed: a socket for each length of its stock.

use std::{
    io, mem,
    os::fd::AsFd,
    sync::Arc,
    time::{Duration, Instant},
};

use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};

use super::stock::{Demand, Shelf, Stock};
use crate::{
    helper::{Helped, Patience, Sent, TemplateSocket, gap_frame},
    link::{
        gap::longest_frame,
        memory::{LengthCounters, PortMemory},
    },
};

/// Learning reads the counters of all lengths.
const BETWEEN_LESSONS: Duration = Duration::from_millis(20);

/// If one of these changes, the link is fed anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    index: u32,
    ifindex: u32,
    /// Differs each time that a link is made.
    secret: u32,
    rate_bps: u64,
    overhead_bytes: u32,
    longest: u32,
}

impl Terms {
    pub fn new(link: &Helped) -> Self {
        Self {
            index: link.index,
            ifindex: link.device.index,
            secret: link.outline.secret,
            rate_bps: link.outline.rate_bps,
            overhead_bytes: link.outline.framing.overhead_bytes as u32,
            longest: longest_frame(&link.device),
        }
    }
}

pub(super) struct FedLink {
    number: u32,
    terms: Terms,
    source: [u8; 6],
    port: Arc<PortMemory>,
    stock: Stock,
    fed: Vec<Fed>,
    /// Of lengths that were of little use.
    useless: Vec<TemplateSocket>,
    /// By length, as of the last time of learning.
    counted: Vec<LengthCounters>,
    missed: u64,
    learned: Instant,
    patience: Patience,
}

/// A length and the socket that sends it.
struct Fed {
    shelf: Shelf,
    socket: TemplateSocket,
    /// Its stock was full once.
    filled: bool,
    /// The link's counter when the stock was last full.
    spent: u32,
}

impl Fed {
    fn note_full(&mut self, counters: LengthCounters) {
        self.filled = true;
        self.spent = counters.spent;
    }
}

impl FedLink {
    /// A link whose stock is full. The events of its sockets, which are added to this epoll,
    /// carry its number and the length.
    pub fn open(number: u32, link: Helped, epoll: &Epoll) -> io::Result<Self> {
        let terms = Terms::new(&link);
        let (source, port) = (link.device.address, link.port);
        let stock = Stock::new(terms.rate_bps, terms.longest, terms.overhead_bytes);
        let lengths = stock.learnable();
        let mut link = Self {
            number,
            terms,
            source,
            counted: lengths.map(|len| port.gap_counters(len)).collect(),
            missed: port.gap().missed,
            port,
            fed: Vec::new(),
            useless: Vec::new(),
            stock,
            learned: Instant::now(),
            patience: Patience::default(),
        };
        // Not before all lengths are in stock for the first time.
        link.port.set_gap_terms(terms.longest, 0);
        link.port.renew_gap();
        for shelf in link.stock.shelves().to_vec() {
            link.add(shelf, epoll)?;
        }
        link.refill_all();
        Ok(link)
    }

    pub fn terms(&self) -> Terms {
        self.terms
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    fn add(&mut self, shelf: Shelf, epoll: &Epoll) -> io::Result<()> {
        let frame = gap_frame(self.source, shelf.len);
        let socket = TemplateSocket::open(self.terms.ifindex, self.terms.secret, frame)?;
        socket.bound(shelf.target)?;
        // Edge-triggered: one event each time that half is used.
        let event = EpollEvent::new(
            EpollFlags::EPOLLOUT | EpollFlags::EPOLLET,
            u64::from(self.number) << 32 | u64::from(shelf.len),
        );
        epoll.add(socket.as_fd(), event)?;
        self.fed.push(Fed {
            shelf,
            socket,
            filled: false,
            spent: 0,
        });
        Ok(())
    }

    pub fn refill_all(&mut self) {
        self.patience.end();
        for at in 0..self.fed.len() {
            self.refill_at(at);
        }
    }

    /// When to retry, until the link keeps what it is sent.
    pub fn patience(&self) -> &Patience {
        &self.patience
    }

    pub fn refill(&mut self, len: u32) {
        if let Some(at) = self.fed.iter().position(|fed| fed.shelf.len == len) {
            self.refill_at(at);
        }
    }

    fn refill_at(&mut self, at: usize) {
        if self.patience.waits() {
            return;
        }
        let fed = &mut self.fed[at];
        let counters = self.port.gap_counters(fed.shelf.len);
        // At first there may be templates of another feeder, which do not count.
        let stocked = if fed.filled { counters.stocked } else { 0 };
        // Templates lost without a carrier are not used, and say nothing about the target.
        let spent = counters.spent.wrapping_sub(fed.spent);
        if fed.filled
            && counters.stocked < fed.shelf.target / 4
            && spent > fed.shelf.target / 2
            && let Some(target) = self.stock.ran_short(fed.shelf.len)
        {
            fed.shelf.target = target;
            // If the buffer cannot grow, the stock stays as it is.
            let _ = fed.socket.bound(target);
            self.port
                .set_gap_terms(self.terms.longest, self.stock.enough());
        }
        let short = fed.shelf.target.saturating_sub(stocked);
        let sent = fed.socket.send(short);
        let now = self.port.gap_counters(fed.shelf.len);
        // Without a carrier everything is accepted and nothing kept: it would be used up at
        // once, over and over.
        let kept_none = short > 0 && now.stocked <= stocked && now.spent == counters.spent;
        match sent {
            Ok(Sent::Full) => fed.note_full(now),
            Ok(Sent::All) if !kept_none => fed.note_full(now),
            // The device has no carrier, is down or gone.
            Ok(Sent::All | Sent::Refused) | Err(_) => return self.patience.wait(),
        }
        self.patience.succeed();
    }

    /// Learn from what the link missed.
    pub fn learn(&mut self, epoll: &Epoll) {
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
        let went = self.fed.extract_if(.., |fed| went.contains(&fed.shelf.len));
        self.useless.extend(went.map(|fed| fed.socket));
        for shelf in came {
            // Without its socket, gaps of this length are made up of two, as before.
            if self.add(shelf, epoll).is_ok() {
                self.refill(shelf.len);
            }
        }
        self.say_enough();
    }

    /// From now on the link may fill its gaps.
    pub fn say_enough(&self) {
        self.port
            .set_gap_terms(self.terms.longest, self.stock.enough());
    }

    /// Sockets to be closed by a thread that may block.
    pub fn take_useless(&mut self) -> Vec<TemplateSocket> {
        mem::take(&mut self.useless)
    }

    pub fn into_sockets(self) -> impl Iterator<Item = TemplateSocket> {
        let fed = self.fed.into_iter().map(|fed| fed.socket);
        fed.chain(self.useless)
    }
}
