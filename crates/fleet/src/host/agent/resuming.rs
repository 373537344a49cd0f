//! After a start of the agent or of the host.

use super::{Agent, Engine};
use crate::{
    host::{applier::Applier, store::Store},
    log::Level,
    revision::Content,
};

impl<E: Engine, A: Applier, S: Store> Agent<E, A, S> {
    /// After a start: trials of an agent before this one are ended, and after a boot the policy
    /// comes back.
    pub(super) async fn take_up(&mut self) -> std::io::Result<()> {
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
            if is_own(in_force, self) && self.applier.keep_pending().await.is_ok() {
                self.journal.unsure = false;
                self.save()?;
            } else {
                self.restores = true;
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

    pub(super) async fn restore(&mut self) -> std::io::Result<()> {
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
}
