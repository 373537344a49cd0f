//! A real nats-server on the loopback, with a directory of its own, and what tests do with it.
#![allow(dead_code, reason = "the tests of takt-kubernetes use some of it")]

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use nix::sys::statvfs::statvfs;
use takt_fleet::{
    engine::Access,
    host::Config,
    keys::Signer,
    labels::Labels,
    operator::{Operator, Push},
    revision::Plan,
    stand_in::StandIn,
};
use tempfile::TempDir;

pub const FLEET: &str = "test";
/// The secret of the key that is pinned.
pub const SECRET: [u8; 32] = [42; 32];

/// Long enough for a busy machine; nothing waits for all of it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Below those that the kernel gives to connections: one of these could have a server's port before
/// it listens, or while it is killed, and a client that tries such a port may meet itself.
const PORTS: std::ops::Range<u16> = 10_000..30_000;

/// That no server of this process has had, nor of one that was started a little before or after.
fn free_port() -> u16 {
    const FOR_EACH_PROCESS: u32 = 64;
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(FOR_EACH_PROCESS);
    let port = |nth: u32| {
        PORTS.start + (first.wrapping_add(nth) % u32::from(PORTS.end - PORTS.start)) as u16
    };
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let next = || port(TAKEN.fetch_add(1, Ordering::Relaxed));
    let found = std::iter::repeat_with(next).take(PORTS.len()).find(is_free);
    found.expect("a port is free")
}

/// A nats-server, which ends with this.
pub struct Server {
    pub folder: TempDir,
    store: TempDir,
    pub port: u16,
    process: Option<Child>,
}

impl Server {
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// With more lines of configuration.
    pub fn start_with(more: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder is made");
        let store = store().expect("a folder is made");
        let port = free_port();
        let config = format!(
            "host: \"127.0.0.1\"\nport: {port}\nmax_connections: 20000\n\
             jetstream {{ store_dir: \"{}\" }}\n{more}\n",
            store.path().display()
        );
        fs::write(folder.path().join("nats.conf"), config).expect("it is written");
        let mut server = Self {
            folder,
            store,
            port,
            process: None,
        };
        server.go_on();
        server
    }

    /// After [`Server::kill`]: with the same directory and port.
    pub fn go_on(&mut self) {
        // Debian's place, which an ordinary user's path lacks.
        let debian = Path::new("/usr/sbin/nats-server");
        let program = debian.exists().then_some(debian);
        let process = Command::new(program.unwrap_or(Path::new("nats-server")))
            .arg("-c")
            .arg(self.folder.path().join("nats.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(self.folder.path().join("log")).expect("it is made"))
            .spawn()
            .expect("there is a nats-server; scripts/deps installs it");
        self.process = Some(process);
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let process = self.process.as_mut().expect("just started");
            let ended = process.try_wait().expect("it is a child");
            assert!(ended.is_none(), "nats-server: {}", self.log());
            assert!(began.elapsed() < PATIENCE, "nats-server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it is killed");
            process.wait().expect("it ends");
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, Child::id)
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn access(&self) -> Access {
        self.access_of("")
    }

    /// Of a user, as `NAME:PASSWORD@`.
    fn access_of(&self, user: &str) -> Access {
        Access {
            urls: self.url().replacen("nats://", &format!("nats://{user}"), 1),
            ..Access::default()
        }
    }

    /// An operator with the pinned key.
    pub async fn operator(&self) -> Operator {
        self.operator_of("").await
    }

    pub async fn operator_of(&self, user: &str) -> Operator {
        let directory = self.folder.path().join("operator");
        let signer = Some(Signer::new(&SECRET));
        let access = self.access_of(user);
        let operator = Operator::connect(&access, FLEET, signer, &[], &directory, true).await;
        operator.expect("the engine is there")
    }

    /// Hosts of two sites.
    pub async fn hosts(&self, count: usize, period: Duration) -> Vec<StandIn> {
        let mut hosts = Vec::new();
        for host in 0..count {
            hosts.push(self.host(host, period).await);
        }
        hosts
    }

    pub async fn host(&self, host: usize, period: Duration) -> StandIn {
        self.host_of("", host, period).await
    }

    pub async fn host_of(&self, user: &str, host: usize, period: Duration) -> StandIn {
        let mut secret = [1; 32];
        secret[..8].copy_from_slice(&(host as u64).to_le_bytes());
        let site = ["berlin", "hamburg"][host % 2];
        let pairs = [("site", site), ("kernel", "6.18.15"), ("arch", "x86_64")];
        let labels = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let config = Config {
            fleet: FLEET.to_owned(),
            identity: format!("host-{host}"),
            labels: Labels::from(labels),
            pins: vec![Signer::new(&SECRET).public()],
            period,
        };
        let access = self.access_of(user);
        let started = StandIn::start(&access, config, Signer::new(&secret)).await;
        started.expect("the engine is there")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// In memory, if there is room: an engine on a disk stands still for seconds while compilers write,
/// and hosts take back what seems to have cut it off.
fn store() -> std::io::Result<TempDir> {
    // The buckets may become half as large, and the server takes three quarters of what is free.
    const ROOM_BYTES: u64 = 1 << 30;
    const MEMORY: &str = "/dev/shm";
    let free = statvfs(MEMORY).map_or(0, |found| found.blocks_available() * found.fragment_size());
    if free >= ROOM_BYTES {
        tempfile::tempdir_in(MEMORY)
    } else {
        tempfile::tempdir()
    }
}

/// A push with short times.
pub fn push(policy: &str, to: &str) -> Push {
    Push {
        policy: Some(policy.to_owned()),
        to: to.parse().expect("a selector"),
        hold: Duration::from_secs(5),
        health: "problems == 0".parse().expect("a condition"),
        plan: Plan {
            canary_ppm: 50_000,
            step_ppm: 500_000,
            grace_ms: 15_000,
            tolerated_ppm: 0,
        },
        unseen: false,
        note: String::new(),
    }
}

/// Waits until it holds.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// How late timers are on this machine: what is over later than it should be is no fault of ours.
pub struct Lateness(Arc<AtomicU64>);

impl Lateness {
    pub fn watch() -> Self {
        const TICK: Duration = Duration::from_millis(50);
        let worst_ms = Arc::new(AtomicU64::new(0));
        let own = Arc::clone(&worst_ms);
        tokio::spawn(async move {
            loop {
                let began = Instant::now();
                tokio::time::sleep(TICK).await;
                let late = began.elapsed().saturating_sub(TICK);
                own.fetch_max(late.as_millis() as u64, Ordering::Relaxed);
            }
        });
        Self(worst_ms)
    }

    pub fn worst(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// The stand-in for takt beside these tests.
pub fn stand_in_takt() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand-in-takt")
}
