//! taktd itself: one thread, which does a bounded amount of work for each source of events, in
//! this order: signals, timers, root, users. Work that may take longer is done by other
//! threads: [`crate::part`], [`crate::beats`].

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    os::{
        fd::AsFd,
        unix::net::{UnixListener, UnixStream},
    },
    path::Path,
    time::Duration,
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
    },
    time::{ClockId, clock_gettime},
};
use takt_host::{RUNTIME_DIR, background};
use takt_wlan::Bucket;
use tracing::{info, warn};

use crate::{
    SOCKET,
    activated::Activated,
    admission::{self, Admission},
    autorate::Autorate,
    beats,
    clients::{Client, Input},
    crowd::Crowd,
    devices::Devices,
    endpoint::Endpoint,
    error::Error,
    groups::Groups,
    limit::Limits,
    metrics, peer, privileges,
    protocol::{Code, Protocol, Refusal, too_long},
    radio::Radio,
    registry::Registry,
    reply::Reply,
    systemd::Manager,
    table::Table,
    trials::Trials,
    watch::Watch,
};

const NS_PER_MS: u64 = 1_000_000;
/// How often taktd looks at what changes by time, while there is any: registrations that end,
/// clients, control groups, threads with slots, and what could not be done.
pub(crate) const TICK_NS: u64 = 1000 * NS_PER_MS;
/// Connections that are accepted from one socket before anything else is looked at.
const ACCEPTS_PER_TURN: usize = 64;
/// After so many, further connections wait in the kernel for this time. A flood is delayed, and
/// takes no more of the processor than this.
const PAUSE_NS: u64 = 20 * NS_PER_MS;
/// Requests of one user before anything else is looked at. A connection has one.
const LINES_PER_TURN: usize = 4;
const LINES_OF_ROOT_PER_TURN: usize = 16;
/// No further request is begun after this.
const TURN_NS: u64 = 10 * NS_PER_MS;

/// What taktd does beside serving programs.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where Prometheus reads metrics; `None`: nowhere.
    pub metrics: Option<SocketAddr>,
}

/// Serve until SIGINT or SIGTERM. `ready` is called when clients may connect.
pub fn serve(options: &Options, ready: impl FnOnce()) -> Result<(), Error> {
    // First of all: it is about the numbers of descriptors.
    let activated = Activated::take()?;
    takt_host::require()?;
    let signals = signals()?;
    let dir = Path::new(SOCKET).parent().unwrap_or(Path::new("/"));
    let endpoint = Endpoint::claim(dir, activated)?;
    if let Some(at) = options.metrics {
        metrics::start(at)?;
    }
    privileges::drop_others()?;
    let netns_cookie = peer::netns_cookie(&endpoint.users).map_err(Error::file(SOCKET))?;
    let beats = beats::Worker::start().map_err(Error::system("starting a thread"))?;
    // Before the first look, so that no change is missed.
    let watch = Watch::new(Path::new(RUNTIME_DIR));
    let devices = Devices::start()?;
    let mut daemon = Daemon::new(netns_cookie, beats, devices, watch);
    // What a killed taktd left.
    daemon.follow();
    daemon.beats.sweep();
    if let Ok(left) = background::sweep() {
        daemon.groups.adopt(left);
    }
    ready();
    daemon.manager.ready();
    let ended = daemon.run(&endpoint, &signals);
    daemon.manager.stopping();
    daemon.end();
    ended
}

fn signals() -> Result<SignalFd, Error> {
    let served = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
    served
        .thread_block()
        .map_err(Error::system("blocking signals"))?;
    SignalFd::with_flags(&served, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .map_err(Error::system("waiting for signals"))
}

pub(crate) struct Daemon {
    pub(crate) registry: Registry,
    table: Table,
    clients: Vec<Client>,
    /// By user: the rate of new connections.
    arrivals: BTreeMap<u32, Bucket>,
    /// Counts clients' turns.
    turns: u64,
    /// Counts connections, for their ids.
    connections: u64,
    pub(crate) groups: Groups,
    /// The last problem that was logged.
    pub(crate) problem: Option<String>,
    /// Namespaces with a class for registered traffic, and when that was last checked.
    pub(crate) asked_for: BTreeMap<u64, u64>,
    pub(crate) beats: beats::Worker,
    pub(crate) radio: Radio,
    pub(crate) crowd: Crowd,
    autorate: Autorate,
    trials: Trials,
    devices: Devices,
    watch: Watch,
    manager: Manager,
    /// A policy has changed: takt may not be done with it yet.
    is_settling: bool,
    /// Of the network namespace that this is done in.
    pub(crate) netns_cookie: u64,
}

/// A listening socket.
struct Listener<'a> {
    socket: &'a UnixListener,
    speaks: Protocol,
    /// Until then new connections wait in the kernel.
    paused_until_ns: u64,
    is_ready: bool,
}

impl<'a> Listener<'a> {
    fn new(socket: &'a UnixListener, speaks: Protocol) -> Self {
        Self {
            socket,
            speaks,
            paused_until_ns: 0,
            is_ready: false,
        }
    }

    fn wants(&self, now_ns: u64) -> PollFlags {
        if now_ns < self.paused_until_ns {
            PollFlags::empty()
        } else {
            PollFlags::POLLIN
        }
    }
}

impl Daemon {
    fn new(netns_cookie: u64, beats: beats::Worker, devices: Devices, watch: Watch) -> Self {
        Self {
            registry: Registry::default(),
            table: Table::default(),
            clients: Vec::new(),
            arrivals: BTreeMap::new(),
            turns: 0,
            connections: 0,
            groups: Groups::default(),
            problem: None,
            asked_for: BTreeMap::new(),
            beats,
            radio: Radio::default(),
            crowd: Crowd::default(),
            autorate: Autorate::default(),
            trials: Trials::default(),
            devices,
            watch,
            manager: Manager::of_this_service(now_ns()),
            is_settling: false,
            netns_cookie,
        }
    }

    fn run(&mut self, endpoint: &Endpoint, signals: &SignalFd) -> Result<(), Error> {
        let mut root = Listener::new(&endpoint.root, Protocol::Lines);
        let mut users = Listener::new(&endpoint.users, Protocol::Lines);
        let mut varlink = Listener::new(&endpoint.varlink, Protocol::Varlink);
        let mut ticked_ns = now_ns();
        loop {
            let tick_ns = self.needs_ticks().then_some(ticked_ns + TICK_NS);
            let due_ns = [tick_ns, self.manager.due_ns()];
            let listeners = [&mut root, &mut users, &mut varlink];
            let is_signalled = self.wait(signals, listeners, due_ns)?;
            if is_signalled && self.obey(signals) {
                return Ok(());
            }
            let now_ns = now_ns();
            self.manager.go_on(now_ns, self.devices.is_well(now_ns));
            if tick_ns.is_none() {
                // What changes by time has just begun to.
                ticked_ns = now_ns;
            }
            let has_changed = self.watch.read();
            if tick_ns.is_some_and(|tick_ns| now_ns >= tick_ns) {
                ticked_ns = now_ns;
                self.tick(now_ns);
                self.is_settling = false;
            } else if has_changed || is_signalled {
                self.follow();
            }
            self.is_settling |= has_changed;
            self.hand_out();
            self.accept(&mut root);
            self.serve(true);
            self.serve(false);
            self.accept(&mut users);
            self.accept(&mut varlink);
        }
    }

    /// Whether anything changes by time. Otherwise taktd sleeps until there is an event.
    fn needs_ticks(&self) -> bool {
        self.is_settling
            || self.watch.is_blind()
            || self.problem.is_some()
            || !self.clients.is_empty()
            || !self.arrivals.is_empty()
            || self.registry.is_waiting()
            || self.trials.is_waiting()
            || !self.groups.is_empty()
            || self.beats.has_ad_hoc()
    }

    /// Act on the signals that have come; return whether to end.
    fn obey(&self, signals: &SignalFd) -> bool {
        while let Ok(Some(signal)) = signals.read_signal() {
            if signal.ssi_signo != Signal::SIGHUP as u32 {
                return true;
            }
            info!("looking at the policy and its devices again, as asked by SIGHUP");
            self.manager.reloading();
            self.devices.look();
            self.manager.ready();
        }
        false
    }

    /// Wait until there is something to do, or one of these times has come; return whether there
    /// was a signal.
    fn wait<const N: usize>(
        &mut self,
        signals: &SignalFd,
        listeners: [&mut Listener; N],
        due_ns: [Option<u64>; 2],
    ) -> Result<bool, Error> {
        let now_ns = now_ns();
        let pauses = listeners.iter().map(|listener| listener.paused_until_ns);
        let pauses = pauses.filter(|ns| *ns > now_ns);
        let wake_ns = due_ns.into_iter().flatten().chain(pauses).min();
        // Input that was read and not answered yet raises no event, so do not wait.
        let timeout = if self.clients.iter().any(Client::has_line) {
            PollTimeout::ZERO
        } else {
            wake_ns.map_or(PollTimeout::NONE, |wake_ns| {
                let patience_ms = wake_ns.saturating_sub(now_ns).div_ceil(NS_PER_MS);
                PollTimeout::try_from(patience_ms).unwrap_or(PollTimeout::MAX)
            })
        };
        let mut fds = vec![
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.beats.as_fd(), PollFlags::POLLIN),
        ];
        fds.extend(
            listeners
                .iter()
                .map(|listener| PollFd::new(listener.socket.as_fd(), listener.wants(now_ns))),
        );
        let clients = self.clients.iter();
        fds.extend(clients.map(|client| PollFd::new(client.fd(), client.wants())));
        // Looked at in any case, and so last.
        fds.extend(self.watch.fd().map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        match poll(&mut fds, timeout) {
            Err(Errno::EINTR) => return Ok(false),
            result => result.map_err(Error::system("waiting for clients"))?,
        };
        let mut is_ready = fds.iter().map(|fd| fd.any() != Some(false));
        let is_signalled = is_ready.next() == Some(true);
        // Looked at in any case.
        let _beats = is_ready.next();
        let ready: Vec<bool> = is_ready.collect();
        let (at_listeners, at_clients) = ready.split_at(N);
        for (listener, is_ready) in listeners.into_iter().zip(at_listeners) {
            listener.is_ready = *is_ready;
        }
        for (client, is_ready) in self.clients.iter_mut().zip(at_clients) {
            client.is_ready = *is_ready || client.has_line();
        }
        Ok(is_signalled)
    }

    fn tick(&mut self, now_ns: u64) {
        self.registry.tick(now_ns);
        self.follow();
        self.groups.tick();
        self.beats.sweep();
        self.arrivals.retain(|_, bucket| !bucket.is_full(now_ns));
        self.clients.retain(|client| !client.is_overdue(now_ns));
    }

    /// Bring the kernel up to date; a failure is retried.
    pub(crate) fn follow(&mut self) {
        let result = self.table.follow(&mut self.registry, now_ns());
        let result = result.and(self.radio.follow());
        let result = result.and(self.crowd.follow());
        let result = result.and(self.autorate.follow());
        let result = result.and(self.trials.follow());
        let problem = result.err().map(|error| error.to_string());
        if problem != self.problem {
            match &problem {
                Some(problem) => warn!("{problem}"),
                None => info!("the policy is followed again"),
            }
            self.manager
                .status(problem.as_deref().unwrap_or("all is well"));
            self.problem = problem;
        }
    }

    /// Take everything back, and stop following the policy.
    fn end(&mut self) {
        self.radio.end();
        self.crowd.end();
        self.autorate.end();
        self.registry.clear(now_ns());
        let cleared = self.table.follow(&mut self.registry, now_ns());
        self.registry.forget_all();
        let forgotten = self.table.follow(&mut self.registry, now_ns());
        if let Err(problem) = cleared.and(forgotten) {
            warn!("{problem}");
        }
        self.groups.end();
    }

    fn accept(&mut self, listener: &mut Listener) {
        if !listener.is_ready {
            return;
        }
        for _ in 0..ACCEPTS_PER_TURN {
            match listener.socket.accept() {
                Ok((stream, _)) => self.admit(stream, listener.speaks),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // There may be no descriptor left, for example.
                Err(_) => break,
            }
        }
        listener.paused_until_ns = now_ns() + PAUSE_NS;
    }

    /// Accept a connection, if there is room for it.
    fn admit(&mut self, mut stream: UnixStream, speaks: Protocol) {
        let Ok(caller) = stream
            .set_nonblocking(true)
            .and_then(|()| peer::caller(&stream))
        else {
            return;
        };
        let now_ns = now_ns();
        if let Some(rate) = Limits::for_user(caller.uid).connections
            && !{ self.arrivals.entry(caller.uid).or_default() }.take(&rate, now_ns)
        {
            return refuse(&mut stream, speaks, too_many_connections(caller.uid));
        }
        let open: Vec<_> = self.clients.iter().map(Client::connection).collect();
        match admission::admit(&open, caller.uid) {
            Admission::Accept => {}
            Admission::Evict(at) => {
                let mut evicted = self.clients.remove(at);
                refuse(&mut evicted.stream, evicted.speaks, busy());
            }
            Admission::Refuse => return refuse(&mut stream, speaks, busy()),
        }
        self.connections += 1;
        let stream = (stream, speaks);
        let client = Client::new(self.connections, stream, caller, now_ns, self.turns);
        self.clients.push(client);
    }

    /// Give the waiting clients the replies that have come.
    fn hand_out(&mut self) {
        let now_ns = now_ns();
        for (connection, reply) in self.beats.finished() {
            let clients = &mut self.clients;
            let Some(at) = clients.iter().position(|client| client.id == connection) else {
                continue;
            };
            clients[at].waits = false;
            if clients[at].answer(&reply, now_ns).is_err() {
                clients.remove(at);
            }
        }
    }

    /// Answer clients' requests, root's or users', the longest waiting first.
    fn serve(&mut self, are_roots: bool) {
        let began_ns = now_ns();
        let lines_max = if are_roots {
            LINES_OF_ROOT_PER_TURN
        } else {
            LINES_PER_TURN
        };
        let mut lines: BTreeMap<u32, usize> = BTreeMap::new();
        let mut clients = std::mem::take(&mut self.clients);
        clients.sort_by_key(|client| client.turn);
        clients.retain_mut(|client| {
            let uid = client.caller.uid;
            let lines = lines.entry(uid).or_default();
            let has_turn = (uid == 0) == are_roots && client.is_ready && *lines < lines_max;
            if !has_turn || now_ns() > began_ns + TURN_NS {
                return true;
            }
            *lines += 1;
            self.turns += 1;
            client.turn = self.turns;
            self.serve_one(client)
        });
        self.clients = clients;
    }

    /// Handle one request of a client; return whether the client stays.
    fn serve_one(&mut self, client: &mut Client) -> bool {
        // From a waiting client only a hang-up is noticed.
        if client.waits {
            return false;
        }
        match client.next(now_ns()) {
            Input::Line(line) => {
                let Some(reply) = self.answer(client, &line) else {
                    client.waits = true;
                    return true;
                };
                // A client that does not read answers is closed.
                client.answer(&reply, now_ns()).is_ok()
            }
            Input::Incomplete => true,
            Input::TooLong => {
                refuse(&mut client.stream, client.speaks, too_long());
                false
            }
            Input::Closed => false,
        }
    }
}

/// The last answer to this client. Its delivery is not waited for.
fn refuse(stream: &mut UnixStream, speaks: Protocol, refusal: Refusal) {
    let _ = Reply::from(Err(refusal)).send(stream, speaks);
}

fn busy() -> Refusal {
    Refusal::new(
        Code::Busy,
        "taktd has too many clients",
        "close connections after use, and try again",
    )
}

fn too_many_connections(uid: u32) -> Refusal {
    Refusal::new(
        Code::TooFast,
        format!("user {uid} connects too often"),
        "keep a connection for several requests, or wait a second",
    )
}

/// A clock that runs on during suspend and across restarts of taktd.
pub(crate) fn now_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(0, |now| Duration::from(now).as_nanos() as u64)
}
