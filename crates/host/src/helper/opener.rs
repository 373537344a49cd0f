//! The opener: fetches what a gate holds, on a processor that has nothing better
//! to do.
//!
//! A link whose gate is closed looks again every millisecond, but always on the
//! same processor: a qdisc's timer does not move. If that one stays busy, nothing
//! in the background leaves, though others may be idle. So each gated link gets a
//! bell: a frame that the qdisc keeps, and frees when somebody has been held for a
//! millisecond. That wakes this thread, which is less important than any other, so
//! the scheduler runs it on an idle processor if there is one. There it sends the
//! next bell, and by that asks the qdisc for packets: the gate is open for it, and
//! the timer goes along. If there is none, the qdisc refuses the bell, and the thread
//! tries again a little later.

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

/// Those of gated links, by their links.
#[derive(Default)]
struct Bells(BTreeMap<u32, Bell>);

struct Bell {
    /// What must stay the same.
    ifindex: u32,
    secret: u32,
    socket: TemplateSocket,
    /// Until it can be hung. Meanwhile it is not heard.
    patience: Patience,
}

impl Opener {
    pub fn listens(&self) -> bool {
        let bells = self.thread.as_ref().map(Listening::lock);
        bells.is_some_and(|bells| !bells.0.is_empty())
    }

    /// Give those of these links a bell that are gated, and no others.
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
                // A socket that can be written to is an event at once: the first bell.
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
            // One that was refused or lost is freed, which is heard at once.
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
            // Rung at once, which happens, or lost without a carrier, over and over; or the
            // device is down.
            Ok(Sent::All | Sent::Full) | Err(_) => self.patience.wait(),
        }
    }
}

fn be_least_important() {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: a valid struct. Any task may make itself less important.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &param) };
}
