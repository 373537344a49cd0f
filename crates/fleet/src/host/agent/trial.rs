//! A revision on trial: it is confirmed, judged, or taken back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::{Agent, Engine, hold};
use crate::{
    health::Sample,
    host::{applier::Applier, store::Store},
    log::Level,
    revision::Content,
};

/// Beside the hold: takt's guard takes back after that, if this agent is gone.
const GUARD_BESIDE: Duration = Duration::from_secs(30);
/// A busy host or engine answers within this.
const SLACK: Duration = Duration::from_secs(1);
const PROBE_MIN: Duration = Duration::from_millis(250);
const PROBE_MAX: Duration = Duration::from_secs(10);

/// A trial.
pub(super) struct Running {
    pub(super) content: Content,
    pub(super) began: Instant,
    first: Sample,
    /// When the engine last answered, in milliseconds since the trial's begin.
    reached_ms: Arc<AtomicU64>,
    probe: JoinHandle<()>,
    pub(super) every: Duration,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.probe.abort();
    }
}

impl<E: Engine, A: Applier, S: Store> Agent<E, A, S> {
    pub(super) async fn begin(&mut self, content: Content) -> std::io::Result<()> {
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
    pub(super) async fn judge(&mut self) -> std::io::Result<()> {
        let Some(running) = &self.running else {
            return Ok(());
        };
        let age = running.began.elapsed();
        let hold = hold(&running.content);
        let reached = Duration::from_millis(running.reached_ms.load(Ordering::Relaxed));
        let silence = age.saturating_sub(reached);
        let is_over = age >= hold;
        // Halfway without an answer is enough, and so is a missing last one.
        let bound = if is_over {
            (hold / 4).max(running.every * 2).max(SLACK)
        } else {
            (hold / 2).max(SLACK * 2)
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

    pub(super) async fn cancel(&mut self, why: &str) -> std::io::Result<()> {
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
