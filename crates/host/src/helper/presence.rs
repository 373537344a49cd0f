//! One helper for each network namespace, and requests to it.
//!
//! The helper listens on a socket in a directory that root alone can enter. It holds a lock on
//! a file beside it, which ends with the process, however that ends: the lock shows that there
//! is a helper, and a socket without a lock is replaced. A process that connects asks the
//! helper to look at the links anew, and is answered when it has, and when their stocks are
//! full.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, ErrorKind, Read, Write},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::{
            fs::{OpenOptionsExt, PermissionsExt},
            net::{UnixListener, UnixStream},
            process::CommandExt,
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    fcntl::Flock,
    sys::socket::{
        AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, socket,
        sockopt::PeerCredentials,
    },
    unistd::Uid,
};

use super::is_needed;
use crate::{
    error::Error,
    helper::HelperError,
    os::{
        OsError,
        flock::{self, Mode},
        namespace::netns_cookie,
    },
    state::{
        lock,
        runtime_dir::{self, DIR},
    },
};

/// Below [`DIR`].
const PLACES: &str = "helper";
const LOCK: &str = "lock";
const SOCKET: &str = "socket";
const COMING: &str = "coming";
const SOCKET_MODE: u32 = 0o600;

/// A helper that takes longer than this for an answer is taken to be broken.
const PATIENCE: Duration = Duration::from_secs(10);
const BETWEEN_TRIES: Duration = Duration::from_millis(5);
/// How long a new helper waits for the lock, which a check of it holds for a moment.
const CLAIM_PATIENCE: Duration = Duration::from_millis(200);
/// How long an ending helper waits for a takt that uses the directory.
const LEAVE_PATIENCE: Duration = Duration::from_secs(1);
/// The previous helper may have been about to end when the new one started.
const STARTS_MAX: u32 = 3;
/// Askers accepted at once.
const ASKERS_MAX: usize = 64;
/// Of the helper's last output.
const WORDS_MAX_BYTES: u64 = 1024;

/// The helper's answer after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// There is no helper, or it has ended.
    Absent,
    Waiting,
    Helping,
}

const WAITING: u8 = b'w';
const HELPING: u8 = b'h';

/// The files of a network namespace's helper.
struct Place {
    lock: PathBuf,
    socket: PathBuf,
    /// Locked by processes that are about to start or ask the helper.
    coming: PathBuf,
}

/// While it is held, a helper counts as running: one is about to start.
pub(crate) struct Coming {
    place: Place,
    _lock: Flock<File>,
}

/// The helper's own end.
pub(super) struct Presence {
    listener: UnixListener,
    place: Place,
    _lock: Flock<File>,
}

/// A process that waits for the helper's next look.
pub(super) struct Asker(UnixStream);

impl Place {
    /// The files of this thread's namespace.
    fn own() -> Result<Self, Error> {
        let netns_cookie = netns_cookie()?;
        Ok(Self::at(&dir(), &netns_cookie.to_string()))
    }

    fn at(dir: &Path, name: &str) -> Self {
        Self {
            lock: dir.join(format!("{name}.{LOCK}")),
            socket: dir.join(format!("{name}.{SOCKET}")),
            coming: dir.join(format!("{name}.{COMING}")),
        }
    }

    /// Whether a helper holds the lock.
    fn is_taken(&self) -> Result<bool, Error> {
        is_held(&self.lock, Mode::Shared)
    }

    /// Whether a takt has announced a helper. Several may have.
    fn is_coming(&self) -> Result<bool, Error> {
        is_held(&self.coming, Mode::Exclusive)
    }

    fn claim(self) -> Result<Option<Presence>, Error> {
        let open = || {
            runtime_dir::private_dirs(self.lock.parent().unwrap_or(Path::new("/")))?;
            runtime_dir::private_file(&self.lock)
        };
        let Ok(lock) = flock::lock(&self.lock, open, Mode::Exclusive, CLAIM_PATIENCE)? else {
            return Ok(None);
        };
        runtime_dir::remove(&self.socket)?;
        let listen = || -> io::Result<UnixListener> {
            let listener = UnixListener::bind(&self.socket)?;
            fs::set_permissions(&self.socket, Permissions::from_mode(SOCKET_MODE))?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listener = listen().map_err(OsError::file(&self.socket))?;
        Ok(Some(Presence {
            listener,
            place: self,
            _lock: lock,
        }))
    }

    /// Remove it; the lock is held.
    fn clear(&self) {
        let _ = fs::remove_file(&self.socket);
        let _ = fs::remove_file(&self.lock);
    }

    /// Remove the directories that are empty by now.
    fn leave(&self) {
        if let Some(dir) = self.lock.parent()
            && fs::remove_dir(dir).is_ok()
        {
            lock::leave_empty(LEAVE_PATIENCE);
        }
    }

    /// Have the helper look. An error if there is a helper that does not answer in time.
    fn ask(&self, until: Instant) -> io::Result<Answer> {
        let Some(mut stream) = self.connect(until)? else {
            return Ok(Answer::Absent);
        };
        let mut answer = [0];
        match stream.read(&mut answer) {
            Ok(1) if answer[0] == HELPING => Ok(Answer::Helping),
            Ok(1) if answer[0] == WAITING => Ok(Answer::Waiting),
            // It ended because no link needs it.
            Ok(_) => Ok(Answer::Absent),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(Answer::Absent),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let pid = getsockopt(&stream, PeerCredentials)?.pid();
                Err(io::Error::new(
                    ErrorKind::TimedOut,
                    format!(
                        "process {pid} at {} does not answer; `kill {pid}` ends it",
                        self.socket.display()
                    ),
                ))
            }
            Err(error) => Err(error),
        }
    }

    /// Waits until the helper has room for another asker, at most that long.
    fn connect(&self, until: Instant) -> io::Result<Option<UnixStream>> {
        let fd = socket(
            AddressFamily::Unix,
            SockType::Stream,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            None,
        )?;
        let address = UnixAddr::new(&self.socket)?;
        loop {
            match connect(fd.as_raw_fd(), &address) {
                Ok(()) => break,
                Err(Errno::ENOENT | Errno::ECONNREFUSED) => return Ok(None),
                Err(Errno::EAGAIN) if Instant::now() >= until => {
                    return Err(io::Error::new(
                        ErrorKind::TimedOut,
                        format!(
                            "the helper at {} accepts no connections",
                            self.socket.display()
                        ),
                    ));
                }
                Err(Errno::EAGAIN | Errno::EINTR) => thread::sleep(BETWEEN_TRIES),
                Err(errno) => return Err(errno.into()),
            }
        }
        self.check_peer(&fd)?;
        let stream = UnixStream::from(fd);
        stream.set_nonblocking(false)?;
        // Zero would mean no bound.
        let left = until.saturating_duration_since(Instant::now());
        stream.set_read_timeout(Some(left.max(BETWEEN_TRIES)))?;
        Ok(Some(stream))
    }

    fn check_peer(&self, fd: &OwnedFd) -> io::Result<()> {
        let peer = getsockopt(fd, PeerCredentials)?;
        if peer.uid() == 0 || peer.uid() == Uid::effective().as_raw() {
            Ok(())
        } else {
            Err(io::Error::other(format!(
                "process {} of user {} listens at {}",
                peer.pid(),
                peer.uid(),
                self.socket.display()
            )))
        }
    }
}

impl Presence {
    /// Become this namespace's helper; `None` if there is one.
    pub fn claim() -> Result<Option<Self>, Error> {
        Place::own()?.claim()
    }

    pub fn askers(&self) -> Vec<Asker> {
        let askers = std::iter::from_fn(|| self.listener.accept().ok());
        let askers = askers.take(ASKERS_MAX);
        askers.map(|(stream, _)| Asker(stream)).collect()
    }
}

/// The name is free then, and no directory is left that only the helper needed.
impl Drop for Presence {
    fn drop(&mut self) {
        self.place.clear();
        self.place.leave();
    }
}

/// Readable when a process asks.
impl AsFd for Presence {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Asker {
    /// An asker that has gone meanwhile is ignored, and so is one that reads no answer.
    pub fn answer(mut self, helps: bool) {
        let _ = self
            .0
            .set_nonblocking(true)
            .and_then(|()| self.0.write_all(&[if helps { HELPING } else { WAITING }]));
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.place.coming);
        self.place.leave();
    }
}

fn dir() -> PathBuf {
    Path::new(DIR).join(PLACES)
}

/// `None`: there is nothing to lock; the inner `None`: another process has it.
fn try_lock(path: &Path, mode: Mode) -> Result<Option<Option<Flock<File>>>, Error> {
    let open = || {
        OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
            .map_err(OsError::file(path))
    };
    match flock::lock(path, open, mode, Duration::ZERO) {
        Err(error) if error.is_missing() => Ok(None),
        locked => Ok(Some(locked?.ok())),
    }
}

/// Whether a lock in `mode` is refused.
fn is_held(path: &Path, mode: Mode) -> Result<bool, Error> {
    Ok(try_lock(path, mode)?.is_some_and(|lock| lock.is_none()))
}

/// Whether this namespace has a helper, or one was announced.
pub(crate) fn is_running() -> Result<bool, Error> {
    let place = Place::own()?;
    // In this order: the announcement is held until the helper has its lock.
    Ok(place.is_coming()? || place.is_taken()?)
}

/// Announce that [`tend`] will start a helper, while the host's lock is still held: a link that
/// waits for its helper counts as helped.
pub(crate) fn announce() -> Result<Option<Coming>, Error> {
    let place = Place::own()?;
    let open = || {
        runtime_dir::private_dirs(&dir())?;
        runtime_dir::private_file(&place.coming)
    };
    let lock = flock::lock(&place.coming, open, Mode::Shared, CLAIM_PATIENCE)?;
    Ok(lock.ok().map(|lock| Coming { place, _lock: lock }))
}

/// Have the helper look at the links, which have changed. If any of them is to be helped
/// (`wanted`) and there is no helper, start one. Call it without the host's lock, which must
/// not be held while waiting for the helper.
pub(crate) fn tend(wanted: bool) -> Result<(), Error> {
    let place = Place::own()?;
    if !wanted && !place.is_taken()? {
        return Ok(());
    }
    match (place.ask(Instant::now() + PATIENCE), wanted) {
        (Ok(Answer::Helping), _) | (Ok(_), false) => Ok(()),
        (Ok(_), true) => start(&place).map_err(HelperError::of(
            "the policy is in force, but its helper did not start",
        )),
        (Err(source), true) => Err(HelperError::of(
            "the policy is in force, but its helper does not work",
        )(source)),
        (Err(source), false) => Err(HelperError::HelperStays { source }.into()),
    }
}

/// Remove what killed helpers left. Needs the lock.
pub(crate) fn sweep() {
    let Ok(entries) = fs::read_dir(dir()) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_stem().and_then(|name| name.to_str());
        let kind = path.extension().and_then(|kind| kind.to_str());
        let (Some(name), Some(LOCK | COMING)) = (name, kind) else {
            continue;
        };
        if let Ok(Some(Some(_lock))) = try_lock(&path, Mode::Exclusive) {
            if kind == Some(LOCK) {
                Place::at(&dir(), name).clear();
            }
            let _ = fs::remove_file(&path);
        }
    }
    // Another process may still use it.
    let _ = fs::remove_dir(dir());
}

fn start(place: &Place) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    let mut child = spawn()?;
    let mut starts = 1;
    while Instant::now() < until {
        if place.ask(until)? == Answer::Helping {
            return Ok(());
        }
        if let Some(status) = child.try_wait()? {
            // A takt that reverted meanwhile has left the helper nothing to do.
            if !is_needed().map_err(io::Error::other)? {
                return Ok(());
            }
            if starts == STARTS_MAX {
                let words = last_words(&mut child);
                return Err(io::Error::other(format!(
                    "it ended at once ({status}){words}"
                )));
            }
            starts += 1;
            child = spawn()?;
        }
        thread::sleep(BETWEEN_TRIES);
    }
    Err(io::Error::other(format!(
        "process {} does not answer",
        child.id()
    )))
}

fn spawn() -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["feed", "--while-needed"])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        // It must not receive a terminal's signals.
        .process_group(0)
        .spawn()
}

/// The last output of a helper that has ended.
fn last_words(child: &mut Child) -> String {
    let mut words = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(WORDS_MAX_BYTES).read_to_end(&mut words);
    }
    let words = String::from_utf8_lossy(&words);
    match words.lines().next() {
        Some(line) => format!(": {line}"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }

    fn place() -> (tempfile::TempDir, impl Fn() -> Place) {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join(PLACES);
        (root, move || Place::at(&dir, "7"))
    }

    #[test]
    fn one_at_a_time_and_the_name_is_free_again() {
        let (_root, place) = place();
        assert_eq!(place().ask(soon()).unwrap(), Answer::Absent);
        assert!(!place().is_taken().unwrap());
        let first = place().claim().unwrap().expect("the name is free");
        assert!(place().is_taken().unwrap());
        assert!(place().claim().unwrap().is_none());
        drop(first);
        assert!(!place().is_taken().unwrap());
        assert!(!place().lock.parent().unwrap().exists());
    }

    #[test]
    fn what_a_killed_helper_left_is_replaced() {
        let (_root, place) = place();
        let killed = place().claim().unwrap().expect("the name is free");
        let Presence {
            listener, _lock, ..
        } = &killed;
        let files = (listener.as_raw_fd(), _lock.as_raw_fd());
        std::mem::forget(killed);
        // SAFETY: the two are open, and their owners are forgotten.
        unsafe { (libc::close(files.0), libc::close(files.1)) };
        assert!(place().socket.exists());
        assert!(!place().is_taken().unwrap());
        assert_eq!(place().ask(soon()).unwrap(), Answer::Absent);
        assert!(place().claim().unwrap().is_some());
    }

    #[test]
    fn a_helper_that_hangs_is_named_in_time() {
        let (_root, place) = place();
        let helper = place().claim().unwrap().expect("the name is free");
        let error = place().ask(soon()).expect_err("it does not answer");
        let own = format!("process {} ", std::process::id());
        assert!(error.to_string().contains(&own), "{error}");
        let askers = || helper.askers().into_iter();
        askers().for_each(drop);
        let asked = thread::spawn({
            let place = place();
            move || place.ask(Instant::now() + PATIENCE)
        });
        let until = Instant::now() + PATIENCE;
        while !asked.is_finished() && Instant::now() < until {
            askers().for_each(|asker| asker.answer(true));
            thread::sleep(BETWEEN_TRIES);
        }
        assert_eq!(asked.join().unwrap().unwrap(), Answer::Helping);
    }
}
