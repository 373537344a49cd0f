//! Agents without a host, many in one process: for tests of whole fleets, and to measure them.
//!
//! Everything is an agent's own but its disk and its takt. A policy's text says what it does to a
//! stand-in: `# cuts off` takes the engine away while it is in force, `# drops` loses packets.

use std::{
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::Instant,
};

use crate::{
    digest::Digest,
    engine::{Access, EngineError, HostEngine},
    health::{Class, Sample},
    host::{Agent, Applier, Config, Engine, Heard, Memory, Policy},
    keys::Signer,
    log::Log,
};

const CUTS_OFF: &str = "# cuts off";
const DROPS: &str = "# drops";

/// A host that is not there.
pub struct StandIn {
    /// What is in force on it.
    pub host: Arc<Mutex<Host>>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// The state of such a host.
#[derive(Debug, Default)]
pub struct Host {
    in_force: Option<Policy>,
    before: Option<Option<Policy>>,
    guard: Option<Instant>,
    /// Every policy that was ever in force, by its digest, with when it began and how long it was.
    pub had: Vec<(Digest, Instant, Option<Duration>)>,
    sent: u64,
    dropped: u64,
}

impl Host {
    /// The policy in force.
    pub fn policy(&self) -> Option<Digest> {
        let policy = self.in_force.as_ref();
        policy.map(|policy| Digest::for_content(policy.text.as_bytes()))
    }

    /// How long this policy was in force here, if it ever was.
    pub fn duration(&self, digest: &Digest) -> Option<Duration> {
        let own = self.had.iter().filter(|(had, ..)| had == digest);
        own.map(|(_, began, time)| time.unwrap_or_else(|| began.elapsed()))
            .max()
    }

    fn put(&mut self, policy: Option<Policy>) {
        if let Some((_, began, time @ None)) = self.had.last_mut() {
            *time = Some(began.elapsed());
        }
        self.in_force = policy;
        if let Some(digest) = self.policy() {
            self.had.push((digest, Instant::now(), None));
        }
    }

    fn has(&self, line: &str) -> bool {
        let policy = self.in_force.as_ref();
        policy.is_some_and(|policy| policy.text.lines().any(|own| own == line))
    }

    /// What takt's guard does.
    fn guard(&mut self) {
        if self.guard.is_some_and(|end| end <= Instant::now()) {
            self.take_back();
        }
    }

    fn take_back(&mut self) {
        self.guard = None;
        if let Some(before) = self.before.take() {
            self.put(before);
        }
    }
}

impl StandIn {
    /// Begins one.
    pub async fn start(
        access: &Access,
        config: Config,
        signer: Signer,
    ) -> Result<Self, EngineError> {
        let (engine, mut heard) =
            HostEngine::connect(access, &config.fleet, &config.identity, true).await?;
        let host = Arc::new(Mutex::new(Host::default()));
        let cut = Arc::new(AtomicBool::new(false));
        let (tell, inner) = mpsc::channel(16);
        let is_cut = Arc::clone(&cut);
        tokio::spawn(async move {
            while let Some(heard) = heard.recv().await {
                if !is_cut.load(Ordering::Relaxed) && tell.send(heard).await.is_err() {
                    break;
                }
            }
        });
        let applier = InMemory {
            host: Arc::clone(&host),
            cut: Arc::clone(&cut),
        };
        let engine = Cuttable { engine, cut };
        let (stop, mut stopped) = watch::channel(false);
        let stopped = async move {
            let _ = stopped.changed().await;
        };
        let agent = Agent::new(
            config,
            engine,
            applier,
            Memory::default(),
            signer,
            Log::quiet(),
        );
        let agent = agent.map_err(EngineError::new)?;
        let task = tokio::spawn(run(agent, inner, stopped));
        Ok(Self { host, stop, task })
    }

    /// The state of the host.
    pub fn host(&self) -> MutexGuard<'_, Host> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}

async fn run(
    agent: Agent<Cuttable, InMemory, Memory>,
    heard: mpsc::Receiver<Heard>,
    stopped: impl Future<Output = ()>,
) {
    // Memory does not fail.
    let _ = agent.run(heard, stopped).await;
}

struct InMemory {
    host: Arc<Mutex<Host>>,
    cut: Arc<AtomicBool>,
}

impl InMemory {
    fn host(&self) -> MutexGuard<'_, Host> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Host)) {
        let mut host = self.host();
        change(&mut host);
        self.cut.store(host.has(CUTS_OFF), Ordering::Relaxed);
    }
}

impl Applier for InMemory {
    async fn begin(&mut self, policy: Option<&Policy>, patience: Duration) -> Result<(), String> {
        self.change(|host| {
            let before = host.in_force.clone();
            host.put(policy.cloned());
            if policy.is_some() {
                host.before = Some(before);
                host.guard = Some(Instant::now() + patience);
            }
        });
        Ok(())
    }

    async fn keep(&mut self) -> Result<(), String> {
        self.change(|host| {
            host.before = None;
            host.guard = None;
        });
        Ok(())
    }

    async fn keep_pending(&mut self) -> Result<(), String> {
        self.keep().await
    }

    async fn take_back(&mut self) -> Result<(), String> {
        self.change(Host::take_back);
        Ok(())
    }

    async fn restore(&mut self, policy: &Policy) -> Result<(), String> {
        self.change(|host| host.put(Some(policy.clone())));
        Ok(())
    }

    async fn sample(&mut self) -> Result<Sample, String> {
        self.change(Host::guard);
        let mut host = self.host();
        host.sent += 1_000;
        if host.has(DROPS) {
            host.dropped += 100;
        }
        let pending = host.before.is_some().then(|| host.in_force.as_ref());
        let file = |policy: &Policy| policy.file.to_string_lossy().into_owned();
        Ok(Sample {
            classes: vec![Class {
                device: "eth0".to_owned(),
                name: "voice".to_owned(),
                sent_packets: host.sent,
                dropped_packets: host.dropped,
                ..Class::default()
            }],
            problems: Vec::new(),
            policies: host.in_force.as_ref().map(file).into_iter().collect(),
            pending: pending.flatten().map(file),
        })
    }

    fn boot(&self) -> String {
        "one".to_owned()
    }
}

/// An engine that a policy can take away.
#[derive(Clone)]
struct Cuttable {
    engine: HostEngine,
    cut: Arc<AtomicBool>,
}

impl Cuttable {
    fn check(&self) -> Result<(), String> {
        if self.cut.load(Ordering::Relaxed) {
            Err("cut off".to_owned())
        } else {
            Ok(())
        }
    }
}

impl Engine for Cuttable {
    async fn latest(&self) -> Result<Option<Vec<u8>>, String> {
        self.check()?;
        self.engine.latest().await
    }

    async fn policy(&self, digest: &Digest) -> Result<Option<Vec<u8>>, String> {
        self.check()?;
        self.engine.policy(digest).await
    }

    async fn report(&self, bytes: Vec<u8>) -> Result<(), String> {
        self.check()?;
        self.engine.report(bytes).await
    }
}
