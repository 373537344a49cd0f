//! Requests for time slots, handled in a thread of their own. A new table waits for the end of
//! the frame in force, and another takt may hold the host's lock: up to 20 s in all. taktd goes
//! on serving meanwhile.

use std::{
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use takt_host::reservations;

use super::{Host, job_pages, join, leave, list, turns::Turns};
use crate::{
    peer::Process,
    protocol::{Done, JoinBeat, LeaveBeat, Refusal},
    reply::Reply,
};

/// What a client asks for.
pub(crate) enum Wanted {
    Join(Box<JoinBeat>),
    Leave(LeaveBeat),
    List,
}

/// A request, and the process that made it.
pub(crate) struct Request {
    /// The number of the connection that waits for the reply.
    pub connection: u64,
    pub uid: u32,
    pub asker: Process,
    pub wanted: Wanted,
}

/// The thread's other end. The thread ends with the process.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    wakes: UnixStream,
}

struct Shared {
    queue: Mutex<Queue>,
    bell: Condvar,
    finished: Mutex<Vec<(u64, Reply)>>,
    wake: UnixStream,
    /// Whether threads may hold time slots on terms of their own.
    ad_hoc: AtomicBool,
}

#[derive(Default)]
struct Queue {
    requests: Turns<Request>,
    /// Whether to look for threads that have ended.
    sweep: bool,
}

impl Worker {
    pub fn start() -> io::Result<Self> {
        let (wake, wakes) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        wakes.set_nonblocking(true)?;
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            bell: Condvar::new(),
            finished: Mutex::default(),
            wake,
            // An earlier taktd may have left reservations.
            ad_hoc: AtomicBool::new(true),
        });
        let its = Arc::clone(&shared);
        thread::Builder::new()
            .name("taktd beats".to_owned())
            .spawn(move || its.run())?;
        Ok(Self { shared, wakes })
    }

    pub fn request(&self, request: Request) {
        let mut queue = lock(&self.shared.queue);
        queue.requests.push(request.uid, request);
        self.shared.bell.notify_one();
    }

    /// Whether slots may have to be freed.
    pub fn has_ad_hoc(&self) -> bool {
        self.shared.ad_hoc.load(Ordering::Relaxed)
    }

    /// Free the slots of threads that have ended, if there may be any.
    pub fn sweep(&self) {
        if self.has_ad_hoc() {
            lock(&self.shared.queue).sweep = true;
            self.shared.bell.notify_one();
        }
    }

    /// Results since the last call, by connection.
    pub fn finished(&mut self) -> Vec<(u64, Reply)> {
        // The bytes only wake the reader; their values mean nothing.
        let _ = self.wakes.read(&mut [0; 256]);
        std::mem::take(&mut *lock(&self.shared.finished))
    }
}

/// Readable when a request is finished.
impl AsFd for Worker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wakes.as_fd()
    }
}

impl Shared {
    fn run(&self) {
        loop {
            let mut queue = lock(&self.queue);
            let request = loop {
                // Goes first, so that a flood of requests does not keep slots from being freed.
                // At most once a second.
                if std::mem::take(&mut queue.sweep) {
                    break None;
                }
                if let Some(request) = queue.requests.pop() {
                    break Some(request);
                }
                queue = self
                    .bell
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
            };
            drop(queue);
            match request {
                Some(request) => self.serve(&request),
                None => self.free(),
            }
        }
    }

    fn serve(&self, request: &Request) {
        let done = self.done(request);
        let pages = match &done {
            Ok(Done::JoinedBeat(_)) => job_pages(),
            _ => None,
        };
        lock(&self.finished).push((request.connection, Reply::with(done.into(), pages)));
        // If the pipe is full, it holds enough bytes to wake the reader.
        let _ = (&self.wake).write(&[0]);
    }

    fn done(&self, request: &Request) -> Result<Done, Refusal> {
        let asker = &request.asker;
        match &request.wanted {
            Wanted::Join(wanted) => {
                let joined = join(&mut Host, asker, request.uid, wanted)?;
                if joined.place.user.is_some() {
                    self.ad_hoc.store(true, Ordering::Relaxed);
                }
                Ok(Done::JoinedBeat(joined))
            }
            Wanted::Leave(wanted) => leave(&mut Host, asker, wanted).map(Done::LeftBeat),
            Wanted::List => list(&Host).map(Done::ListedBeats),
        }
    }

    /// Frees the reservations of threads that have ended. The time of ad hoc tasks is free
    /// again.
    fn free(&self) {
        let left = reservations::sweep().and_then(|()| reservations::list());
        // A failure is retried later.
        let ad_hoc = left.map_or(true, |reservations| {
            reservations.iter().any(|own| own.ad_hoc.is_some())
        });
        self.ad_hoc.store(ad_hoc, Ordering::Relaxed);
    }
}

/// The data is consistent wherever a thread may panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
