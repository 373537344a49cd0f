//! The gap feeder: BPF cannot make frames, so this keeps a stock of gap frames in each link of
//! this network namespace that has `pacing = "gap"`. It is woken when a link has used half of
//! its templates of some length. [`stock`] decides which lengths and how many of each, [`link`]
//! holds a link's.
//!
//! A stock lasts some milliseconds, but listing links, filling a new link's stock and closing
//! sockets all take longer. So this thread only refills, and the helper's main thread prepares
//! the links to be fed.

mod link;
mod stock;

use std::{io, time::Instant};

use nix::sys::epoll::{Epoll, EpollEvent};
use takt_algo::sys::TAKT_PACING_TIMER;

use self::link::{FedLink, Terms};
use super::{Helped, Listener, Listening, Patience, close_together, unless_gone};
use crate::{error::Error, helper::HelperError};

/// Refilling comes before ordinary work, including the helper's looks and the closing of
/// sockets: otherwise idle wires would wait for it.
const NICE: libc::c_int = -20;

#[derive(Default)]
pub(crate) struct Feeder {
    thread: Option<Listening<FedLinks>>,
    /// Counts the links that were ever fed.
    numbered: u32,
}

/// The links that are fed. Without events for used templates, they are refilled at each look.
#[derive(Default)]
struct FedLinks(Vec<FedLink>);

impl Feeder {
    pub fn feeds(&self) -> bool {
        let links = self.thread.as_ref().map(Listening::lock);
        links.is_some_and(|links| !links.0.is_empty())
    }

    /// Feed each link of these that paces with gap frames, and no others, and fill their
    /// stocks.
    pub fn look(&mut self, links: Vec<Helped>) -> Result<(), Error> {
        self.feed(links)
            .map_err(HelperError::of("feeding links with gap frames"))
    }

    fn feed(&mut self, links: Vec<Helped>) -> io::Result<()> {
        let wants = |link: &Helped| link.outline.pacing != TAKT_PACING_TIMER;
        let wanted: Vec<Helped> = links.into_iter().filter(wants).collect();
        if self.thread.is_none() && !wanted.is_empty() {
            self.thread = Some(Listening::start("takt-feeder", be_important)?);
        }
        let Some(thread) = &self.thread else {
            return Ok(());
        };
        let wanted_terms: Vec<Terms> = wanted.iter().map(Terms::new).collect();
        give_up(thread, |link| !wanted_terms.contains(&link.terms()));
        let fed: Vec<Terms> = thread.lock().0.iter().map(FedLink::terms).collect();
        for link in wanted {
            if !fed.contains(&Terms::new(&link)) {
                self.numbered += 1;
                let open = FedLink::open(self.numbered, link, thread.epoll());
                thread.lock().0.extend(unless_gone(open)?);
            }
        }
        for link in &mut thread.lock().0 {
            link.refill_all();
            link.say_enough();
        }
        Ok(())
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        if let Some(thread) = &self.thread {
            give_up(thread, |_| true);
        }
    }
}

/// Returns when the sockets of these links and the unused sockets are closed.
fn give_up(thread: &Listening<FedLinks>, unwanted: impl Fn(&FedLink) -> bool) {
    let mut links = thread.lock();
    let mut sockets: Vec<_> = links
        .0
        .extract_if(.., |link| unwanted(link))
        .flat_map(FedLink::into_sockets)
        .collect();
    sockets.extend(links.0.iter_mut().flat_map(FedLink::take_useless));
    drop(links);
    close_together(sockets);
}

impl Listener for FedLinks {
    fn hear(&mut self, events: &[EpollEvent], epoll: &Epoll, now: Instant) {
        for event in events {
            let (number, len) = (event.data() >> 32, event.data() as u32);
            let mut links = self.0.iter_mut();
            if let Some(link) = links.find(|link| u64::from(link.number()) == number) {
                link.refill(len);
            }
        }
        for link in &mut self.0 {
            if link.patience().is_over(now) {
                link.refill_all();
            }
            link.learn(epoll);
        }
    }

    fn patiences(&self) -> impl Iterator<Item = &Patience> {
        self.0.iter().map(FedLink::patience)
    }
}

fn be_important() {
    // SAFETY: a plain system call, for this thread alone. If it is refused, feeding works a
    // little later.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
}
