//! A thread that sleeps until a socket has an event or a retry is due.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Instant,
};

use nix::{
    errno::Errno,
    sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollTimeout},
};

use super::patience::Patience;

/// What such a thread maintains. Other threads change it while the thread sleeps.
pub(crate) trait Listener: Default + Send + 'static {
    /// Handle these events. Without events, a retry is due.
    fn hear(&mut self, events: &[EpollEvent], epoll: &Epoll, now: Instant);

    fn patiences(&self) -> impl Iterator<Item = &Patience>;
}

pub(crate) struct Listening<L> {
    epoll: Arc<Epoll>,
    listener: Arc<Mutex<L>>,
}

impl<L: Listener> Listening<L> {
    /// The thread calls `prepare` first, and lives as long as the process.
    pub fn start(name: &str, prepare: fn()) -> io::Result<Self> {
        let epoll = Arc::new(Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?);
        let listener = Arc::<Mutex<L>>::default();
        let (its_epoll, its_listener) = (Arc::clone(&epoll), Arc::clone(&listener));
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                prepare();
                listen(&its_epoll, &its_listener);
            })?;
        Ok(Self { epoll, listener })
    }

    /// The epoll for its events.
    pub fn epoll(&self) -> &Epoll {
        &self.epoll
    }

    pub fn lock(&self) -> MutexGuard<'_, L> {
        lock(&self.listener)
    }
}

/// If epoll fails, the thread ends.
fn listen<L: Listener>(epoll: &Epoll, listener: &Mutex<L>) {
    let mut events = [EpollEvent::empty(); 256];
    let mut wait = EpollTimeout::NONE;
    loop {
        let ready = match epoll.wait(&mut events, wait) {
            Err(Errno::EINTR) => continue,
            Err(_) => return,
            Ok(ready) => ready,
        };
        let mut listener = lock(listener);
        let now = Instant::now();
        listener.hear(&events[..ready], epoll, now);
        wait = Patience::of_all(listener.patiences(), now);
    }
}

/// The data is consistent wherever a thread of the helper may panic.
fn lock<L>(listener: &Mutex<L>) -> MutexGuard<'_, L> {
    listener.lock().unwrap_or_else(PoisonError::into_inner)
}
