//! The loop of an agent: it hears, checks, tries, judges and tells.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use takt_guard::{Bucket, Rate};
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, sleep, sleep_until},
};

use super::{
    applier::{Applier, Policy},
    journal::{Journal, Step},
    store::Store,
};
use crate::{
    digest::Digest,
    health::Sample,
    keys::{PublicKey, Signer},
    labels::Labels,
    log::{Level, Log},
    random,
    report::{Counts, Report, Sums},
    revision::{Content, Refused, Revision},
};

/// Revisions that are looked at: a burst, and then so many a second.
const LOOKS: Rate = Rate::per_second(4, 32);
/// Reports after changes.
const REPORTS: Rate = Rate::per_second(1, 4);
/// Reports that were asked for.
const CALLS: Rate = Rate::new(20_000_000_000, 2);
/// Within this they are sent: not all hosts at one moment.
pub const CALL_SPREAD: Duration = Duration::from_secs(2);
/// The revision is asked for so often, since a message may be lost.
const POLL: Duration = Duration::from_secs(300);
/// Within this, and a fifth of their hold, the hosts of a wave begin.
const BEGIN_SPREAD_MAX: Duration = Duration::from_secs(10);
/// Until what failed for want of the engine or of the host is tried again.
const RETRY: Duration = Duration::from_secs(5);
/// Beside the hold: takt's guard takes back after that, if this agent is gone.
const GUARD_BESIDE: Duration = Duration::from_secs(30);
/// A busy host or engine answers within this.
const SLACK: Duration = Duration::from_secs(1);
const PROBE_MIN: Duration = Duration::from_millis(250);
const PROBE_MAX: Duration = Duration::from_secs(10);

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

/// A trial.
struct Running {
    content: Content,
    began: Instant,
    first: Sample,
    /// When the engine last answered, in milliseconds since the trial's begin.
    reached_ms: Arc<AtomicU64>,
    probe: JoinHandle<()>,
    every: Duration,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.probe.abort();
    }
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
                    &format!("the revision on disk is obeyed no more: {refused}"),
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
            self.cancel("the agent ends").await?;
        }
        Ok(())
    }

    /// After a start: trials of an agent before this one are ended, and after a boot the policy
    /// comes back.
    async fn take_up(&mut self) -> std::io::Result<()> {
        let boot = self.applier.boot();
        let pending = self.applier.sample().await.ok();
        let pending = pending.and_then(|sample| sample.pending);
        let is_own = |since: u64, agent: &Self| {
            let policy = agent.content(since).and_then(|content| content.policy);
            policy.is_some_and(|digest| {
                let file = agent.store.policy_file(&digest);
                pending.as_deref() == Some(&*file.to_string_lossy())
            })
        };
        if self.journal.unsure {
            let in_force = self.journal.in_force.map_or(0, |own| own.since);
            match is_own(in_force, self) && self.applier.keep_pending().await.is_ok() {
                true => {
                    self.journal.unsure = false;
                    self.save()?;
                }
                false => self.restores = true,
            }
        } else if let Some(attempt) = self.journal.trial {
            if is_own(attempt.since, self) {
                self.tell(
                    Level::Warning,
                    "an agent before this one ended during a trial: it is taken back",
                );
                let _ = self.applier.take_back().await;
            }
            if self.journal.resumes() {
                self.tell(Level::Error, "gives the policy up after three attempts");
            }
            self.save()?;
        }
        self.restores |= self.journal.in_force.is_some() && self.journal.boot != boot;
        Ok(())
    }

    /// The content of this number, as far as the revision has it.
    fn content(&self, since: u64) -> Option<&Content> {
        let (revision, _) = self.revision.as_ref()?;
        let all = revision.assignments.iter();
        all.flat_map(|a| [Some(&a.target), a.before.as_ref()])
            .flatten()
            .find(|content| content.since == since)
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

    async fn hear(&mut self, heard: Heard) -> std::io::Result<()> {
        match heard {
            Heard::Revision(bytes) => self.offer(bytes).await,
            Heard::Own(bytes) => {
                self.hear_own(&bytes);
                Ok(())
            }
            Heard::Call => {
                if self.call_bucket.take(&CALLS, self.now_ns()) {
                    let soon = Instant::now() + spread(CALL_SPREAD);
                    self.report_at = self.report_at.min(soon);
                }
                Ok(())
            }
            Heard::Connected => {
                self.tell(Level::Info, "connected to the engine");
                // Not all hosts at one moment, if the engine comes back.
                self.poll_at = Instant::now() + spread(Duration::from_secs(2));
                self.report_at = self
                    .report_at
                    .min(Instant::now() + spread(Duration::from_secs(5)));
                Ok(())
            }
            Heard::Trouble(text) => {
                self.tell(Level::Warning, &format!("the engine: {text}"));
                Ok(())
            }
            Heard::Disconnected => {
                let told = "the engine is gone; this host goes on with what it has";
                self.tell(Level::Warning, told);
                Ok(())
            }
        }
    }

    /// A report of this identity that another sent.
    fn hear_own(&mut self, bytes: &[u8]) {
        if !self.looks.take(&LOOKS, self.now_ns()) {
            self.refused.flooded += 1;
            return;
        }
        let told = match Report::open(bytes, &self.config.fleet) {
            // Its own, which the engine plays again.
            Ok((key, report))
                if key == self.signer.public() && report.instance == self.instance =>
            {
                return;
            }
            Ok((key, _)) if key == self.signer.public() => {
                "another agent has this host's identity and key: was its disk copied?".to_owned()
            }
            Ok((key, _)) => format!("another host has this identity, and key {key}"),
            Err(untrusted) => {
                format!("a report in this host's name is not by its key: {untrusted}")
            }
        };
        self.refused.duplicate += 1;
        self.tell(Level::Error, &told);
    }

    /// Bytes that may be a revision.
    async fn offer(&mut self, bytes: Vec<u8>) -> std::io::Result<()> {
        let own = self.revision.as_ref();
        if own.is_some_and(|(_, own)| *own == bytes) {
            return Ok(());
        }
        if !self.looks.take(&LOOKS, self.now_ns()) {
            self.refused.flooded += 1;
            // One of those might have been good.
            self.poll_at = self.poll_at.min(Instant::now() + RETRY);
            return Ok(());
        }
        match self.examine(&bytes) {
            Ok(revision) => {
                // On disk before anything follows from it.
                self.store.keep_revision(&bytes)?;
                let number = revision.number;
                self.revision = Some((revision, bytes));
                self.tell(Level::Info, &format!("obeys revision {number}"));
                // What could not be tried may be another thing now.
                self.retry_at = None;
                self.why.clear();
                // It reports what it does about that: ten thousand need not say that they heard.
            }
            Err(refused) => {
                match &refused {
                    forged if forged.is_forged() => self.refused.forged += 1,
                    Refused::Replayed { .. } | Refused::Twice(_) => self.refused.replayed += 1,
                    _ => self.refused.foreign += 1,
                }
                self.tell(Level::Error, &format!("refuses a revision: {refused}"));
            }
        }
        Ok(())
    }

    fn examine(&self, bytes: &[u8]) -> Result<Revision, Refused> {
        let revision = Revision::open(bytes, &self.config.pins, &self.config.fleet)?;
        let floor = self.number();
        match revision.number {
            number if number > floor => Ok(revision),
            number if number == floor && floor > 0 => Err(Refused::Twice(number)),
            number => Err(Refused::Replayed { number, floor }),
        }
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
            self.poll_at = now + POLL + spread(POLL / 4);
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

    /// Asks for the last revision; what comes is heard. An engine that does not answer keeps nothing
    /// waiting.
    fn poll(&mut self) {
        if let Some(earlier) = self.polling.take() {
            earlier.abort();
        }
        let (engine, tell) = (self.engine.clone(), self.tell_self.clone());
        self.polling = Some(tokio::spawn(async move {
            while engine
                .latest()
                .await
                .map(|found| found.map(|own| tell.try_send(own)))
                .is_err()
            {
                sleep(RETRY * 6).await;
            }
        }));
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
                match self.turn(&content) {
                    true => self.begin(content).await,
                    false => Ok(()),
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

    async fn restore(&mut self) -> std::io::Result<()> {
        let policy = self.journal.in_force.and_then(|own| own.policy);
        if let Some(digest) = policy {
            let restored = match self.text(&digest).await {
                Ok(policy) => self.applier.restore(&policy).await,
                Err(error) => Err(error),
            };
            if let Err(error) = restored {
                self.postpone(&format!("the policy cannot be put in force again: {error}"));
                return Ok(());
            }
            self.tell(Level::Info, "the policy is in force again");
        }
        self.restores = false;
        self.journal.unsure = false;
        self.journal.boot = self.applier.boot();
        self.why.clear();
        self.save()
    }

    /// The text of a policy, from the disk or the engine: its digest is signed.
    async fn text(&mut self, digest: &Digest) -> Result<Policy, String> {
        let file = self.store.policy_file(digest);
        if let Some(text) = self.store.policy(digest) {
            return Ok(Policy { file, text });
        }
        let bytes = self.engine.policy(digest).await?;
        let bytes = bytes.ok_or_else(|| format!("the engine has no policy {}", digest.short()))?;
        let text = match Digest::of(&bytes) == *digest {
            true => String::from_utf8(bytes).map_err(|error| error.to_string())?,
            false => {
                self.refused.forged += 1;
                return Err(format!("the engine's policy {} is another", digest.short()));
            }
        };
        let kept = self.store.keep_policy(digest, &text);
        kept.map_err(|error| format!("keeping the policy: {error}"))?;
        Ok(Policy { file, text })
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

    async fn begin(&mut self, content: Content) -> std::io::Result<()> {
        let policy = match content.policy {
            None => None,
            Some(digest) => match self.text(&digest).await {
                Ok(policy) => Some(policy),
                Err(error) => {
                    self.postpone(&error);
                    return Ok(());
                }
            },
        };
        let sample = self.applier.sample().await;
        match &sample {
            Err(error) => {
                self.postpone(error);
                return Ok(());
            }
            Ok(Sample {
                pending: Some(other),
                ..
            }) => {
                self.postpone(&format!("an administrator has policy {other} on trial"));
                return Ok(());
            }
            Ok(_) => {}
        }
        // A trial without the engine could only fail.
        if let Err(error) = self.engine.latest().await {
            self.postpone(&error);
            return Ok(());
        }
        let since = content.since;
        self.journal.begins(since);
        self.save()?;
        let name = content.policy.map_or("none".to_owned(), |own| own.short());
        self.tell(
            Level::Info,
            &format!(
                "tries policy {name} of revision {since} for {} s",
                content.hold_ms / 1_000
            ),
        );
        let patience = hold(&content) + GUARD_BESIDE;
        if let Err(error) = self.applier.begin(policy.as_ref(), patience).await {
            return self.fail(since, &error);
        }
        self.why.clear();
        let first = self.applier.sample().await.unwrap_or_default();
        let every = (hold(&content) / 5).clamp(PROBE_MIN, PROBE_MAX);
        let reached_ms = Arc::new(AtomicU64::new(0));
        let began = Instant::now();
        let probe = tokio::spawn(probe(
            self.engine.clone(),
            began,
            every,
            Arc::clone(&reached_ms),
        ));
        self.running = Some(Running {
            content,
            began,
            first,
            reached_ms,
            probe,
            every,
        });
        self.report_soon();
        Ok(())
    }

    /// Looks at the policy on trial: at its end, and whether the engine is cut off before.
    async fn judge(&mut self) -> std::io::Result<()> {
        let Some(running) = &self.running else {
            return Ok(());
        };
        let age = running.began.elapsed();
        let hold = hold(&running.content);
        let reached = Duration::from_millis(running.reached_ms.load(Ordering::Relaxed));
        let silence = age.saturating_sub(reached);
        let is_over = age >= hold;
        // Halfway without an answer is enough, and so is a missing last one.
        let bound = match is_over {
            true => (hold / 4).max(running.every * 2).max(SLACK),
            false => (hold / 2).max(SLACK * 2),
        };
        let since = running.content.since;
        if silence > bound {
            let why = format!(
                "it cut off the engine: no answer for {} ms",
                silence.as_millis()
            );
            return self.take_back(since, &why).await;
        }
        if !is_over {
            return Ok(());
        }
        let last = self.applier.sample().await;
        let Some(running) = &self.running else {
            return Ok(());
        };
        let health = &running.content.health;
        let ill = match last {
            Err(error) => Some(error),
            Ok(last) => match health.holds(&running.first, &last) {
                Ok(true) => None,
                Ok(false) => Some(match last.problems.first() {
                    Some(problem) => format!("not healthy: {health} ({problem})"),
                    None => format!("not healthy: {health}"),
                }),
                Err(missing) => Some(format!("not healthy: {missing}")),
            },
        };
        match ill {
            Some(why) => self.take_back(since, &why).await,
            None => self.keep().await,
        }
    }

    async fn keep(&mut self) -> std::io::Result<()> {
        let Some(running) = self.running.take() else {
            return Ok(());
        };
        let content = running.content.clone();
        drop(running);
        // On disk first: if this agent is killed now, the next one knows that it may stay.
        let before = self.journal.clone();
        self.journal.keeps(&content);
        self.journal.unsure = true;
        self.journal.boot = self.applier.boot();
        self.save()?;
        if let Err(error) = self.applier.keep().await {
            self.journal = before;
            let _ = self.applier.take_back().await;
            // takt may have kept it all the same, and only its word was lost.
            self.restores = self.journal.in_force.is_some();
            return self.fail(content.since, &error);
        }
        self.journal.unsure = false;
        self.save()?;
        self.tell(
            Level::Info,
            &format!("keeps the policy of revision {}", content.since),
        );
        self.forget_policies();
        self.report_soon();
        Ok(())
    }

    /// For good.
    async fn take_back(&mut self, since: u64, why: &str) -> std::io::Result<()> {
        self.running = None;
        if let Err(error) = self.applier.take_back().await {
            self.tell(Level::Error, &error);
        }
        self.fail(since, why)
    }

    async fn cancel(&mut self, why: &str) -> std::io::Result<()> {
        let since = self.running.take().map_or(0, |own| own.content.since);
        self.tell(
            Level::Info,
            &format!("takes back the policy of revision {since}: {why}"),
        );
        if let Err(error) = self.applier.take_back().await {
            self.tell(Level::Error, &error);
        }
        self.journal.gives_up();
        self.report_soon();
        self.save()
    }

    fn fail(&mut self, since: u64, why: &str) -> std::io::Result<()> {
        self.tell(
            Level::Error,
            &format!("took back the policy of revision {since}: {why}"),
        );
        self.journal.fails(since, why);
        self.report_soon();
        self.save()
    }

    fn save(&mut self) -> std::io::Result<()> {
        self.store.keep_journal(&self.journal)
    }

    /// Policies that neither the revision nor the host needs.
    fn forget_policies(&mut self) {
        let own = self.journal.in_force.and_then(|own| own.policy);
        let revision = self.revision.iter();
        let assigned = revision.flat_map(|(revision, _)| &revision.assignments);
        let assigned = assigned.flat_map(|a| [Some(&a.target), a.before.as_ref()]);
        let assigned = assigned.flatten().filter_map(|content| content.policy);
        let needed: Vec<Digest> = assigned.chain(own).collect();
        self.store.keep_only(&needed);
    }

    fn report_soon(&mut self) {
        let soon = Instant::now() + Duration::from_millis(random::below(200));
        self.report_at = self.report_at.min(soon);
    }

    async fn report(&mut self) {
        let now = Instant::now();
        if !self.report_bucket.take(&REPORTS, self.now_ns()) {
            self.report_at = now + Duration::from_secs(1);
            return;
        }
        let period = self.config.period;
        self.report_at = now + period - period / 10 + spread(period / 5);
        let sample = self.applier.sample().await;
        let report = self.describe(sample.ok().as_ref());
        // Without the engine the next one tells.
        let _ = self.engine.report(report.seal(&self.signer)).await;
    }

    fn describe(&mut self, sample: Option<&Sample>) -> Report {
        self.seq += 1;
        let own = self.journal.in_force;
        let policy = own.and_then(|own| own.policy);
        let file = policy.map(|digest| self.store.policy_file(&digest));
        let running = self.running.as_ref();
        let drifted = sample.filter(|sample| sample.pending.is_none() && running.is_none());
        let drifted = drifted.zip(file).is_some_and(|(sample, file)| {
            let is_other = |policy: &String| *policy != file.to_string_lossy();
            sample.policies.iter().any(is_other)
        });
        let wanted = self
            .revision
            .as_ref()
            .and_then(|(revision, _)| revision.wanted(&self.config.identity, &self.config.labels));
        let failed = wanted.and_then(|wanted| self.journal.failure(wanted.content.since));
        Report {
            fleet: self.config.fleet.clone(),
            id: self.config.identity.clone(),
            instance: self.instance.clone(),
            seq: self.seq,
            labels: self.config.labels.clone(),
            number: self.number(),
            in_force: own.map_or(0, |own| own.since),
            policy: policy.map_or_else(String::new, |digest| digest.short()),
            trial: running.map_or(0, |running| running.content.since),
            failed: failed.map_or(0, |failed| failed.since),
            why: failed.map_or_else(|| self.why.clone(), |failed| failed.why.clone()),
            drifted,
            refused: self.refused,
            sums: sample.map_or_else(Sums::default, sums),
        }
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn tell(&mut self, level: Level, text: &str) {
        self.log.tell(level, text);
    }
}

/// Digest of a sample, for reports.
fn sums(sample: &Sample) -> Sums {
    let worst = sample
        .classes
        .iter()
        .max_by_key(|class| class.dropped_packets);
    let worst = worst.filter(|class| class.dropped_packets > 0);
    let total = |of: fn(&crate::health::Class) -> u64| {
        let all = sample.classes.iter().map(of);
        all.fold(0, u64::saturating_add)
    };
    Sums {
        sent: total(|class| class.sent_packets),
        dropped: total(|class| class.dropped_packets),
        worst: worst.map_or_else(String::new, |class| {
            let name = format!("{}/{}", class.device, class.name);
            name.chars().take(64).collect()
        }),
        problems: u32::try_from(sample.problems.len()).unwrap_or(u32::MAX),
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

/// Asks the engine again and again, and notes its answers.
async fn probe<E: Engine>(engine: E, began: Instant, every: Duration, reached_ms: Arc<AtomicU64>) {
    loop {
        if engine.latest().await.is_ok() {
            let now_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            reached_ms.store(now_ms, Ordering::Relaxed);
        }
        sleep(every).await;
    }
}
