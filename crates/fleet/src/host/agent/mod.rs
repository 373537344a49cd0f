//! The loop of an agent: it hears, checks, tries, judges and tells.

mod hearing;
mod policies;
mod resuming;
mod telling;
mod trial;

use std::{future::Future, time::Duration};

use takt_keys::Bucket;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, sleep_until},
};

use self::trial::Running;
use super::{
    applier::Applier,
    journal::{Journal, Step},
    store::Store,
};
use crate::{
    digest::Digest,
    keys::{PublicKey, Signer},
    labels::Labels,
    log::{Level, Log},
    random,
    report::Counts,
    revision::{Content, Revision},
};

/// Within this they are sent: not all hosts at one moment.
pub const CALL_SPREAD: Duration = Duration::from_secs(2);
/// Within this, and a fifth of their hold, the hosts of a wave begin.
const BEGIN_SPREAD_MAX: Duration = Duration::from_secs(10);
/// Until what failed for want of the engine or of the host is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// What an agent hears of the engine.
#[derive(Debug)]
pub enum Heard {
    /// It may be the new revision.
    Revision(Vec<u8>),
    /// A report of this identity, by another.
    Own(Vec<u8>),
    /// An operator asks for a report.
    Call,
    /// The engine is there.
    Connected,
    /// It is gone.
    Disconnected,
    /// It refuses something, such as this host's password.
    Trouble(String),
}

/// What an agent asks the engine for. It trusts no answer.
pub trait Engine: Clone + Send + Sync + 'static {
    /// The last revision.
    fn latest(&self) -> impl Future<Output = Result<Option<Vec<u8>>, String>> + Send;
    /// The text of a policy.
    fn policy(
        &self,
        digest: &Digest,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, String>> + Send;
    /// Tells of this host.
    fn report(&self, bytes: Vec<u8>) -> impl Future<Output = Result<(), String>> + Send;
}

/// What an administrator says of a host.
#[derive(Debug, Clone)]
pub struct Config {
    /// The fleet's name.
    pub fleet: String,
    /// The host's name in it.
    pub identity: String,
    /// What selectors ask for.
    pub labels: Labels,
    /// The keys that it obeys.
    pub pins: Vec<PublicKey>,
    /// Between two reports at rest.
    pub period: Duration,
}

/// A host's agent.
pub struct Agent<E, A, S> {
    config: Config,
    engine: E,
    applier: A,
    store: S,
    signer: Signer,
    log: Log,
    instance: String,
    began: Instant,
    /// What is obeyed, with its bytes.
    revision: Option<(Revision, Vec<u8>)>,
    journal: Journal,
    running: Option<Running>,
    /// The policy of the content in force is to be applied, as after a boot.
    restores: bool,
    looks: Bucket,
    report_bucket: Bucket,
    call_bucket: Bucket,
    refused: Counts,
    seq: u64,
    /// Why what is wanted cannot be tried now.
    why: String,
    report_at: Instant,
    poll_at: Instant,
    retry_at: Option<Instant>,
    /// When to begin with the content of this number.
    turn: Option<(u64, Instant)>,
    polling: Option<JoinHandle<()>>,
    tell_self: mpsc::Sender<Vec<u8>>,
    polled: Option<mpsc::Receiver<Vec<u8>>>,
}

impl<E: Engine, A: Applier, S: Store> Agent<E, A, S> {
    /// Reads what the host remembers.
    pub fn new(
        config: Config,
        engine: E,
        applier: A,
        store: S,
        signer: Signer,
        log: Log,
    ) -> std::io::Result<Self> {
        let journal = store.journal()?;
        let now = Instant::now();
        let (tell_self, polled) = mpsc::channel(4);
        let mut agent = Self {
            instance: random::word(),
            began: now,
            revision: None,
            running: None,
            restores: false,
            looks: Bucket::default(),
            report_bucket: Bucket::default(),
            call_bucket: Bucket::default(),
            refused: Counts::default(),
            seq: 0,
            why: String::new(),
            report_at: now + spread(config.period.min(Duration::from_secs(2))),
            poll_at: now,
            retry_at: None,
            turn: None,
            polling: None,
            tell_self,
            polled: Some(polled),
            config,
            engine,
            applier,
            store,
            signer,
            log,
            journal,
        };
        let kept = agent.store.revision()?;
        if let Some(bytes) = kept {
            match Revision::open(&bytes, &agent.config.pins, &agent.config.fleet) {
                Ok(revision) => agent.revision = Some((revision, bytes)),
                // As after a change of the pins.
                Err(refused) => agent.tell(
                    Level::Warning,
                    &format!("the revision on disk is no longer valid: {refused}"),
                ),
            }
        }
        Ok(agent)
    }

    /// Goes on until it is told to stop. Only the store's failure ends it otherwise.
    pub async fn run(
        mut self,
        mut heard: mpsc::Receiver<Heard>,
        stop: impl Future<Output = ()>,
    ) -> std::io::Result<()> {
        tokio::pin!(stop);
        self.take_up().await?;
        let Some(mut polled) = self.polled.take() else {
            return Ok(());
        };
        loop {
            self.advance().await?;
            let wake = self.wake();
            tokio::select! {
                () = &mut stop => break,
                Some(heard) = heard.recv() => self.hear(heard).await?,
                Some(bytes) = polled.recv() => self.offer(bytes).await?,
                () = sleep_until(wake) => self.tick().await?,
            }
        }
        if let Some(polling) = self.polling.take() {
            polling.abort();
        }
        if self.running.is_some() {
            // No process would judge it.
            self.cancel("the agent exits").await?;
        }
        Ok(())
    }

    fn wake(&self) -> Instant {
        let due = [Some(self.report_at), Some(self.poll_at), self.retry_at];
        let trial = self.running.as_ref().map(|running| {
            let end = running.began + hold(&running.content);
            end.min(Instant::now() + running.every)
        });
        let turn = self.turn.map(|(_, at)| at);
        let due = due
            .into_iter()
            .chain([turn.filter(|at| *at > Instant::now())]);
        let soonest = due.chain([trial]).flatten().min();
        soonest.unwrap_or(self.report_at)
    }

    /// The number of the revision that is obeyed.
    fn number(&self) -> u64 {
        self.revision.as_ref().map_or(0, |(own, _)| own.number)
    }

    async fn tick(&mut self) -> std::io::Result<()> {
        let now = Instant::now();
        if self.retry_at.is_some_and(|at| at <= now) {
            self.retry_at = None;
        }
        if self.poll_at <= now {
            self.poll();
        }
        if self.running.is_some() {
            self.judge().await?;
        }
        if self.report_at <= Instant::now() {
            self.report().await;
        }
        Ok(())
    }

    /// Does what the revision asks for, as far as that is possible now.
    async fn advance(&mut self) -> std::io::Result<()> {
        if self.retry_at.is_some() {
            return Ok(());
        }
        if self.restores {
            self.restore().await?;
            return Ok(());
        }
        let Some((revision, _)) = &self.revision else {
            return Ok(());
        };
        let wanted = revision.wanted(&self.config.identity, &self.config.labels);
        let running = self.running.as_ref().map(|running| running.content.since);
        match self.journal.step(wanted, running) {
            Step::Rest => Ok(()),
            Step::Adopt(content) => {
                let content = content.clone();
                self.journal.keeps(&content);
                self.journal.boot = self.applier.boot();
                self.save()?;
                self.report_soon();
                Ok(())
            }
            Step::Begin(content) => {
                let content = content.clone();
                if self.turn(&content) {
                    self.begin(content).await
                } else {
                    Ok(())
                }
            }
            Step::Cancel => self.cancel("it is not wanted any more").await,
        }
    }

    /// Whether to begin now: the hosts of a wave do not ask for its policy all at one moment.
    fn turn(&mut self, content: &Content) -> bool {
        let since = content.since;
        if self.turn.is_none_or(|(own, _)| own != since) {
            let most = (hold(content) / 5).min(BEGIN_SPREAD_MAX);
            self.turn = Some((since, Instant::now() + spread(most)));
        }
        self.turn.is_some_and(|(_, at)| at <= Instant::now())
    }

    /// Says why what is wanted has to wait, and tries again later.
    fn postpone(&mut self, why: &str) {
        if self.why != why {
            self.tell(Level::Warning, why);
            self.why = why.chars().take(160).collect();
            self.report_soon();
        }
        self.retry_at = Some(Instant::now() + RETRY + spread(RETRY));
    }

    fn save(&mut self) -> std::io::Result<()> {
        self.store.keep_journal(&self.journal)
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

fn hold(content: &Content) -> Duration {
    Duration::from_millis(content.hold_ms)
}

/// From nothing to this.
fn spread(most: Duration) -> Duration {
    let most = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(random::below(most.max(1)))
}
