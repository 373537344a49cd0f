//! The feeder: keeps the stocks of this namespace's links full. It is called when
//! a link has spent half of its templates of some length.
//!
//! A stock lasts some milliseconds, and finding out which links there are, filling
//! a new one's stock and closing sockets all take longer. So a thread does nothing
//! but refill, and whoever looks prepares for it what there is to be fed.

use std::{
    io,
    sync::{Arc, Mutex},
    thread,
    time::Instant,
};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollTimeout};
use takt_algo::sys::TAKT_PACING_GAP;

use super::link::{FedLink, Terms};
use crate::{
    error::Error,
    helper::{Helped, Patience, close_together, lock},
};

/// Refilling comes before ordinary work, looking and closing sockets included, or idle
/// wires would wait for it.
const NICE: libc::c_int = -20;

#[derive(Default)]
pub(crate) struct Feeder {
    thread: Option<Thread>,
    /// Counts the links that were ever fed.
    numbered: u32,
}

struct Thread {
    epoll: Arc<Epoll>,
    links: Links,
}

type Links = Arc<Mutex<Vec<FedLink>>>;

impl Feeder {
    pub fn feeds(&self) -> bool {
        let links = self.thread.as_ref().map(|thread| lock(&thread.links));
        links.is_some_and(|links| !links.is_empty())
    }

    /// Feed those of these links that want it, and no others, and fill their stocks.
    pub fn look(&mut self, links: Vec<Helped>) -> Result<(), Error> {
        self.feed(links)
            .map_err(Error::helper("feeding links with gap frames"))
    }

    fn feed(&mut self, links: Vec<Helped>) -> io::Result<()> {
        let wants = |link: &Helped| link.outline.pacing == TAKT_PACING_GAP;
        let wanted: Vec<Helped> = links.into_iter().filter(wants).collect();
        if self.thread.is_none() && !wanted.is_empty() {
            self.thread = Some(Thread::start()?);
        }
        let Some(thread) = &self.thread else {
            return Ok(());
        };
        let wanted_terms: Vec<Terms> = wanted.iter().map(Terms::of).collect();
        thread.give_up(|link| !wanted_terms.contains(&link.terms()));
        let fed: Vec<Terms> = lock(&thread.links).iter().map(FedLink::terms).collect();
        for link in wanted {
            if !fed.contains(&Terms::of(&link)) {
                self.numbered += 1;
                let link = FedLink::open(self.numbered, link, &thread.epoll)?;
                lock(&thread.links).push(link);
            }
        }
        for link in &mut *lock(&thread.links) {
            link.refill_all();
            link.say_enough();
        }
        Ok(())
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        if let Some(thread) = &self.thread {
            thread.give_up(|_| true);
        }
    }
}

impl Thread {
    fn start() -> io::Result<Self> {
        let epoll = Arc::new(Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?);
        let links = Links::default();
        let (its_epoll, its_links) = (Arc::clone(&epoll), Arc::clone(&links));
        thread::Builder::new()
            .name("takt-feeder".to_owned())
            .spawn(move || {
                be_important();
                refill(&its_epoll, &its_links);
            })?;
        Ok(Self { epoll, links })
    }

    /// Returns when the sockets of these links, and those that nobody uses, are closed.
    fn give_up(&self, unwanted: impl Fn(&FedLink) -> bool) {
        let mut links = lock(&self.links);
        let mut sockets: Vec<_> = links
            .extract_if(.., |link| unwanted(link))
            .flat_map(FedLink::into_sockets)
            .collect();
        sockets.extend(links.iter_mut().flat_map(FedLink::take_useless));
        drop(links);
        close_together(sockets);
    }
}

fn be_important() {
    // SAFETY: a plain system call, for this thread alone. Refused, feeding works a little later.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
}

/// Without a way to hear what is spent, links are refilled as often as somebody looks.
fn refill(epoll: &Epoll, links: &Links) {
    let mut events = [EpollEvent::empty(); 256];
    let mut patience = EpollTimeout::NONE;
    loop {
        let ready = match epoll.wait(&mut events, patience) {
            Err(nix::errno::Errno::EINTR) => continue,
            Err(_) => return,
            Ok(ready) => ready,
        };
        let mut links = lock(links);
        for event in &events[..ready] {
            let (number, len) = (event.data() >> 32, event.data() as u32);
            let mut links = links.iter_mut();
            if let Some(link) = links.find(|link| u64::from(link.number()) == number) {
                link.refill(len);
            }
        }
        let now = Instant::now();
        for link in &mut *links {
            if link.patience().is_over(now) {
                link.refill_all();
            }
            link.learn(epoll);
        }
        patience = Patience::of_all(links.iter().map(FedLink::patience), now);
    }
}
