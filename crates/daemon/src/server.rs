//! taktd itself: one thread that answers one line at a time.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, Permissions},
    io::{self, Read, Write},
    os::{
        fd::AsFd,
        unix::{
            fs::{MetadataExt, PermissionsExt},
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
    time::Duration,
};

use nix::{
    fcntl::{Flock, FlockArg},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
    },
    time::{ClockId, clock_gettime},
};
use takt_kernel::{background, places};

use crate::{
    SOCKET, beats,
    crowd::Crowd,
    error::Error,
    peer,
    protocol::{
        Added, Answer, Code, Done, Joined, LINE_MAX_BYTES, ListedCrowd, ListedRadio, Refusal,
        Removed, Request, parse, too_long,
    },
    radio::Radio,
    registry::{Caller, Registry},
    reply::Reply,
    table::Table,
};

const CLIENTS_MAX: usize = 64;
/// The rest is root's.
const CLIENTS_OF_USERS_MAX: usize = 56;
const CLIENTS_OF_ONE_MAX: usize = 16;
const IDLE_NS: u64 = 30_000_000_000;
/// How often it looks for links that have come, and for what has had its time.
const TICK_MS: u16 = 1000;
const TICK_NS: u64 = TICK_MS as u64 * 1_000_000;
const CHUNK_BYTES: usize = 4096;

/// Serve until SIGINT or SIGTERM. `ready` is called when clients may come.
pub fn serve(ready: impl FnOnce()) -> Result<(), Error> {
    takt_kernel::require()?;
    let signals = signals()?;
    let place = Place::claim(Path::new(SOCKET))?;
    let mut daemon = Daemon {
        netns_cookie: peer::netns_cookie(&place.listener)
            .map_err(Error::file(Path::new(SOCKET)))?,
        ..Daemon::default()
    };
    // What a taktd left that was killed.
    daemon.follow();
    daemon.ad_hoc = true;
    daemon.sweep_beats();
    if let Ok(left) = background::sweep() {
        daemon.groups.extend(left);
    }
    ready();
    let ended = daemon.run(&place.listener, &signals);
    daemon.end();
    ended
}

fn signals() -> Result<SignalFd, Error> {
    let ending = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]);
    ending
        .thread_block()
        .map_err(Error::system("blocking signals"))?;
    SignalFd::with_flags(&ending, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .map_err(Error::system("waiting for signals"))
}

/// The socket, and the lock that says whose it is.
struct Place {
    path: PathBuf,
    listener: UnixListener,
    _dir: Flock<File>,
}

impl Place {
    fn claim(path: &Path) -> Result<Self, Error> {
        let dir = path.parent().unwrap_or(Path::new("/"));
        let lock = lock(dir)?;
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::file(path)(error));
            }
            _ => {}
        }
        let listener = UnixListener::bind(path).map_err(Error::file(path))?;
        fs::set_permissions(path, Permissions::from_mode(0o666)).map_err(Error::file(path))?;
        listener
            .set_nonblocking(true)
            .map_err(Error::system("listening"))?;
        Ok(Self {
            path: path.to_owned(),
            listener,
            _dir: lock,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        if let Some(dir) = self.path.parent() {
            let _ = fs::remove_dir(dir);
        }
    }
}

/// The directory's lock goes with the process, however that ends.
fn lock(path: &Path) -> Result<Flock<File>, Error> {
    loop {
        fs::create_dir_all(path)
            .and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o755)))
            .map_err(Error::file(path))?;
        let dir = File::open(path).map_err(Error::file(path))?;
        let own = dir.metadata().map_err(Error::file(path))?.ino();
        let lock = Flock::lock(dir, FlockArg::LockExclusiveNonblock).map_err(|_| Error::Running)?;
        // Another taktd may just have ended, and taken the directory with it.
        if fs::metadata(path).is_ok_and(|found| found.ino() == own) {
            return Ok(lock);
        }
    }
}

struct Client {
    stream: UnixStream,
    caller: Caller,
    input: Vec<u8>,
    heard_ns: u64,
}

#[derive(Default)]
struct Daemon {
    registry: Registry,
    table: Table,
    clients: Vec<Client>,
    /// Of the background, that had programs in them.
    groups: BTreeSet<PathBuf>,
    /// What was complained about last.
    problem: Option<String>,
    /// Namespaces with a class for registered traffic, and when that was seen last.
    asked_for: BTreeMap<u64, u64>,
    /// Whether there may be threads on the beat on their own terms.
    ad_hoc: bool,
    radio: Radio,
    crowd: Crowd,
    /// Of the network namespace that this is done in.
    netns_cookie: u64,
}

impl Daemon {
    fn run(&mut self, listener: &UnixListener, signals: &SignalFd) -> Result<(), Error> {
        let mut ticked_ns = now_ns();
        loop {
            let streams = self.clients.iter().map(|client| client.stream.as_fd());
            let mut fds: Vec<_> = [signals.as_fd(), listener.as_fd()]
                .into_iter()
                .chain(streams)
                .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
                .collect();
            match poll(&mut fds, PollTimeout::from(TICK_MS)) {
                Err(nix::errno::Errno::EINTR) => continue,
                result => result.map_err(Error::system("waiting for clients"))?,
            };
            let is_ready: Vec<bool> = fds.iter().map(|fd| fd.any() != Some(false)).collect();
            if is_ready[0] {
                return Ok(());
            }
            let mut spoke = is_ready[2..].iter();
            let mut clients = std::mem::take(&mut self.clients);
            clients.retain_mut(|client| {
                !spoke.next().is_some_and(|spoke| *spoke) || self.hear(client)
            });
            self.clients = clients;
            if is_ready[1] {
                self.welcome(listener);
            }
            if now_ns() - ticked_ns >= u64::from(TICK_MS) * 1_000_000 {
                ticked_ns = now_ns();
                self.tick(ticked_ns);
            }
        }
    }

    fn tick(&mut self, now_ns: u64) {
        self.registry.tick(now_ns);
        self.follow();
        self.groups.retain(|group| !background::leave_empty(group));
        self.sweep_beats();
        self.clients
            .retain(|client| now_ns - client.heard_ns < IDLE_NS);
    }

    /// Bring the kernel up to date; what it refuses is tried again.
    fn follow(&mut self) {
        let result = self.table.follow(&mut self.registry, now_ns());
        let result = result.and(self.radio.follow());
        let result = result.and(self.crowd.follow());
        let problem = result.err().map(|error| error.to_string());
        if problem != self.problem {
            if let Some(problem) = &problem {
                let _ = writeln!(io::stderr(), "taktd: {problem}");
            }
            self.problem = problem;
        }
    }

    /// Take everything back.
    fn end(&mut self) {
        self.radio.end();
        self.crowd.end();
        self.registry.clear(now_ns());
        self.follow();
        self.registry.forget_all();
        self.follow();
        let _ = background::sweep();
    }

    fn welcome(&mut self, listener: &UnixListener) {
        while let Ok((mut stream, _)) = listener.accept() {
            let Ok(caller) = stream
                .set_nonblocking(true)
                .and_then(|()| peer::caller(&stream))
            else {
                continue;
            };
            let of_one = self
                .clients
                .iter()
                .filter(|client| client.caller.uid == caller.uid)
                .count();
            let is_full = match caller.uid {
                0 => self.clients.len() >= CLIENTS_MAX,
                _ => of_one >= CLIENTS_OF_ONE_MAX || self.clients.len() >= CLIENTS_OF_USERS_MAX,
            };
            if is_full {
                let refusal = Refusal::new(
                    Code::Busy,
                    "taktd has as many clients as it takes",
                    "close connections after use, and try again",
                );
                let _ = stream.write_all(&Answer::Error(refusal).line());
                continue;
            }
            self.clients.push(Client {
                stream,
                caller,
                input: Vec::new(),
                heard_ns: now_ns(),
            });
        }
    }

    /// Answer what a client has said; whether it stays.
    fn hear(&mut self, client: &mut Client) -> bool {
        let mut chunk = [0; CHUNK_BYTES];
        let read = match client.stream.read(&mut chunk) {
            Ok(0) => return false,
            Ok(read) => read,
            Err(error) => return is_for_later(&error),
        };
        client.heard_ns = now_ns();
        client.input.extend_from_slice(&chunk[..read]);
        let input = std::mem::take(&mut client.input);
        let mut lines = input.split(|byte| *byte == b'\n');
        let rest = lines.next_back().unwrap_or_default();
        for line in lines {
            // Who does not listen to answers need not ask.
            if self.answer(client, line).send(&mut client.stream).is_err() {
                return false;
            }
        }
        if rest.len() > LINE_MAX_BYTES {
            let _ = client.stream.write_all(&Answer::Error(too_long()).line());
            return false;
        }
        client.input = rest.to_vec();
        true
    }

    fn answer(&mut self, client: &Client, line: &[u8]) -> Reply {
        let result = self.done(client, line);
        let pages = match &result {
            Ok(Done::JoinedBeat(_)) => beats::job_pages(),
            _ => None,
        };
        Reply::with(result.into(), pages)
    }

    fn done(&mut self, client: &Client, line: &[u8]) -> Result<Done, Refusal> {
        let (now_ns, caller) = (now_ns(), client.caller);
        // First of all, so that asking too often costs little.
        self.registry.admit(now_ns, caller.uid)?;
        if line.len() > LINE_MAX_BYTES {
            return Err(too_long());
        }
        match parse(line)? {
            Request::Add(add) => {
                let added = self.registry.add(now_ns, caller, &add)?;
                self.follow();
                let warning = self.warning(now_ns, caller);
                Ok(Done::Added(Added { added, warning }))
            }
            Request::Remove(remove) => {
                self.registry.remove(now_ns, caller, &remove)?;
                self.follow();
                Ok(Done::Removed(Removed { removed: true }))
            }
            Request::List(_) => Ok(Done::Listed(self.registry.list(now_ns, caller))),
            Request::Join(_) => {
                let group = join(&client.stream).map_err(|reason| {
                    Refusal::new(
                        Code::Failed,
                        reason,
                        "root may look at what taktd can do there",
                    )
                })?;
                self.groups.insert(group.clone());
                let group = group.display().to_string();
                Ok(Done::Joined(Joined { group }))
            }
            Request::JoinBeat(request) => {
                let asker = asker(&client.stream)?;
                let joined = beats::join(&mut beats::Host, &asker, caller.uid, &request)?;
                self.ad_hoc |= joined.place.user.is_some();
                Ok(Done::JoinedBeat(joined))
            }
            Request::LeaveBeat(request) => {
                let asker = asker(&client.stream)?;
                beats::leave(&mut beats::Host, &asker, &request).map(Done::LeftBeat)
            }
            Request::ListBeats(_) => beats::list(&beats::Host).map(Done::ListedBeats),
            Request::ListRadio(_) => {
                let is_ours = caller.netns_cookie == self.netns_cookie;
                let sources = if is_ours {
                    self.radio.heard()
                } else {
                    Vec::new()
                };
                Ok(Done::ListedRadio(ListedRadio { sources }))
            }
            Request::ListCrowd(_) => {
                let is_ours = caller.netns_cookie == self.netns_cookie;
                let neighbourhoods = if is_ours {
                    self.crowd.neighbourhoods()
                } else {
                    Vec::new()
                };
                Ok(Done::ListedCrowd(ListedCrowd { neighbourhoods }))
            }
        }
    }

    /// Threads that have ended leave their places; the time of those that came on their own
    /// terms is free again.
    fn sweep_beats(&mut self) {
        if !self.ad_hoc {
            return;
        }
        let is_ad_hoc = |place: &places::Place| place.ad_hoc.is_some();
        let left = places::sweep().and_then(|()| places::list());
        // What fails is tried again.
        self.ad_hoc = left.map_or(true, |places| places.iter().any(is_ad_hoc));
    }

    /// Why a registration may be without effect.
    fn warning(&mut self, now_ns: u64, caller: Caller) -> Option<String> {
        if let Some(problem) = &self.problem {
            return Some(format!("it is not in force yet: {problem}"));
        }
        // Looking at every link takes its time, so not for each of many requests.
        let last = self.asked_for.get(&caller.netns_cookie);
        if last.is_some_and(|last_ns| now_ns < last_ns + TICK_NS) {
            return None;
        }
        match takt_kernel::asked_for(caller.netns_cookie) {
            Ok(Some(true)) => {
                self.asked_for
                    .retain(|_, last_ns| now_ns < *last_ns + TICK_NS);
                self.asked_for.insert(caller.netns_cookie, now_ns);
                None
            }
            Ok(Some(false)) => Some(
                "no class of the policy in force has match = [{ registered = true }], so this \
                 changes nothing"
                    .to_owned(),
            ),
            Ok(None) => Some(
                "no link of this network namespace is managed; this takes effect when `takt \
                 apply` has put a policy in force"
                    .to_owned(),
            ),
            Err(error) => Some(format!(
                "whether a policy asks for it is not known: {error}"
            )),
        }
    }
}

fn asker(stream: &UnixStream) -> Result<peer::Process, Refusal> {
    peer::Process::of(stream).map_err(|error| {
        Refusal::new(
            Code::Failed,
            format!("the process that asks is not known: {error}"),
            "root may look at what taktd can do there",
        )
    })
}

/// Move exactly the process that connected: as long as it lives, its number is
/// its own.
fn join(stream: &UnixStream) -> Result<PathBuf, String> {
    let process = peer::Process::of(stream).map_err(|error| error.to_string())?;
    if !process.is_alive() {
        return Err("the process that asked for it cannot be seen from here".to_owned());
    }
    let group = background::join(process.pid).map_err(|error| error.to_string())?;
    match process.is_alive() {
        true => Ok(group),
        false => Err("the process that asked for it has ended".to_owned()),
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Goes on while the host sleeps, and from one taktd to the next.
pub(crate) fn now_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(0, |now| Duration::from(now).as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_whatever_was_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("taktd/socket");
        let first = Place::claim(&path).unwrap();
        assert!(matches!(Place::claim(&path), Err(Error::Running)));
        // As if it had been killed: the socket stays, the lock does not.
        fs::hard_link(&path, path.with_file_name("left")).unwrap();
        drop(first);
        fs::rename(path.with_file_name("left"), &path).unwrap();
        let second = Place::claim(&path).unwrap();
        assert!(UnixStream::connect(&path).is_ok());
        drop(second);
        assert!(!path.parent().unwrap().exists());
    }
}
