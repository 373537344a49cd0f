//! The opener: gets packets that a gate blocks sent from an idle processor.
//!
//! A link whose gate is closed tries again every millisecond, but always on the same processor:
//! a qdisc's timer does not move. If that processor stays busy, no background packet leaves,
//! although others may be idle. So each gated link gets a bell: a frame that the qdisc keeps,
//! and frees when packets have been blocked for a millisecond. That wakes this thread, which
//! has the lowest priority, so the scheduler runs it on an idle processor if there is one.
//! There it sends the next bell, which makes the qdisc dequeue: the gate is open on this
//! processor, and the timer moves to it. If no processor is idle, the qdisc refuses the bell,
//! and the thread retries a little later.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    io,
    os::fd::AsFd,
    time::Instant,
};

use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};

use super::{
    Helped,
    frame::bell,
    listening::{Listener, Listening},
    patience::Patience,
    socket::{Sent, TemplateSocket, unless_gone},
};

#[derive(Default)]
pub(super) struct Opener {
    thread: Option<Listening<Bells>>,
}

/// The bells of gated links, by link.
#[derive(Default)]
struct Bells(BTreeMap<u32, Bell>);

struct Bell {
    /// A bell is replaced if one of these changes.
    ifindex: u32,
    secret: u32,
    socket: TemplateSocket,
    /// When to retry sending the bell. Until it is sent, its events are ignored.
    patience: Patience,
}

impl Opener {
    pub fn listens(&self) -> bool {
        let bells = self.thread.as_ref().map(Listening::lock);
        bells.is_some_and(|bells| !bells.0.is_empty())
    }

    /// Give a bell to each gated link of these, and to no others.
    pub fn look(&mut self, links: &[Helped]) -> io::Result<()> {
        let gated: Vec<&Helped> = links.iter().filter(|link| link.outline.gated).collect();
        if self.thread.is_none() && !gated.is_empty() {
            self.thread = Some(Listening::start("takt-opener", be_least_important)?);
        }
        let Some(thread) = &self.thread else {
            return Ok(());
        };
        let bells = &mut thread.lock().0;
        bells.retain(|index, bell| {
            let same = |link: &&&Helped| {
                let (ifindex, secret) = (link.device.index, link.outline.secret);
                link.index == *index && ifindex == bell.ifindex && secret == bell.secret
            };
            gated.iter().any(|link| same(&link))
        });
        for link in gated {
            if let Entry::Vacant(entry) = bells.entry(link.index) {
                let Some(bell) = unless_gone(Bell::new(link))? else {
                    continue;
                };
                let event = EpollEvent::new(
                    EpollFlags::EPOLLOUT | EpollFlags::EPOLLET,
                    link.index.into(),
                );
                // A writable socket raises an event at once, which sends the first bell.
                thread.epoll().add(bell.socket.as_fd(), event)?;
                entry.insert(bell);
            }
        }
        Ok(())
    }
}

impl Listener for Bells {
    fn hear(&mut self, events: &[EpollEvent], _: &Epoll, now: Instant) {
        for event in events {
            let bell = self.0.get_mut(&(event.data() as u32));
            // A bell that was refused or lost is freed, which raises an event at once.
            if let Some(bell) = bell.filter(|bell| !bell.patience.waits()) {
                bell.hang();
            }
        }
        for bell in self.0.values_mut() {
            if bell.patience.is_over(now) {
                bell.hang();
            }
        }
    }

    fn patiences(&self) -> impl Iterator<Item = &Patience> {
        self.0.values().map(|bell| &bell.patience)
    }
}

impl Bell {
    fn new(link: &Helped) -> io::Result<Self> {
        let (ifindex, secret) = (link.device.index, link.outline.secret);
        let socket = TemplateSocket::open(ifindex, secret, bell(link.device.address))?;
        Ok(Self {
            ifindex,
            secret,
            socket,
            patience: Patience::default(),
        })
    }

    fn hang(&mut self) {
        match self.socket.send(1) {
            Ok(Sent::All | Sent::Full) if self.socket.is_charged() => self.patience.succeed(),
            // No processor is idle.
            Ok(Sent::Refused) => self.patience.wait_shortly(),
            // The bell was rung at once, which happens, or lost over and over without a
            // carrier; or the device is down.
            Ok(Sent::All | Sent::Full) | Err(_) => self.patience.wait(),
        }
    }
}

fn be_least_important() {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: a valid struct. Any task may lower its own priority.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &param) };
}
