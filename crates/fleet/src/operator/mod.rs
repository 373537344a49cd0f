//! The signer's part: it writes revisions, watches reports, and releases waves.

mod drive;
mod memory;
mod roster;
mod view;

use std::{path::Path, time::Duration};

use async_nats::jetstream::kv;
use futures_util::StreamExt;
use tokio::time::{sleep, timeout};

pub use self::{
    drive::{Ended, Progress, Reports, Rollout, Stage},
    memory::Memory,
    roster::{PRESENT_S, Roster, Seen, state},
    view::{AssignmentView, Doubt, HostView, View},
};
use crate::{
    digest::Digest,
    engine::{Access, EngineError, OperatorEngine, REVISION, policy_key},
    host::CALL_SPREAD,
    keys::{PublicKey, Signer},
    place::END,
    policy::POLICY_MAX_BYTES,
    random,
    revision::{Assignment, Content, Plan, Refused, Revision},
    selector::Selector,
};

/// Until all reports have come.
const READ: Duration = Duration::from_secs(60);

/// Why something is not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there, or does not do what it should.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No key is known here whose revisions are to be trusted.
    #[error(
        "the fleet's revision is signed, and no key is known here to check it by: give the one that \
         signs with --key FILE (TAKT_FLEET_KEY), or what hosts pin with --pin KEY"
    )]
    NoPins,
    /// The engine's revision is not to be trusted.
    #[error(
        "the engine's revision is not one of this fleet's: {0}; give its signer with --pin KEY"
    )]
    Untrusted(#[from] Refused),
    /// It lost revisions, or hides them.
    #[error(
        "the engine shows revision {shown}, and {signed} was signed before: it has lost \
         revisions, or hides them. Hosts would refuse what is signed now; restore the engine, or remove {file} to \
         begin again with hosts whose state was removed"
    )]
    Older {
        /// The number that it shows.
        shown: u64,
        /// The highest number that was seen.
        signed: u64,
        /// The operator's memory.
        file: String,
    },
    /// Another signer signed meanwhile, again and again.
    #[error("another operator signed a revision at the same time; try again")]
    Busy,
    /// There is no key to sign with.
    #[error(
        "a signing key is required: make one with `takt fleet key FILE`, and give it with --key FILE"
    )]
    NoKey,
    /// No such assignment.
    #[error("nothing was pushed to {0}; `takt fleet status` lists what was")]
    NotAssigned(Selector),
    /// The selector is missing.
    #[error("there are {0} assignments; name one with --to SELECTOR")]
    Ambiguous(usize),
    /// No host is known.
    #[error(
        "no host that {0} selects has reported, so none can try the policy first; start an agent, \
         or assign it to all future hosts at once with --unseen"
    )]
    NoHosts(Selector),
    /// There is nothing to go back to.
    #[error("{0}")]
    NoEarlier(String),
    /// A revision that hosts would refuse.
    #[error("hosts would not understand this: {0}")]
    Unsound(String),
    /// The operator's own files.
    #[error("the operator's files: {0}")]
    Files(#[from] std::io::Error),
}

/// What is assigned, and how it is rolled out.
#[derive(Debug, Clone)]
pub struct Push {
    /// The policy's text; without one, hosts end what the fleet had put in force.
    pub policy: Option<String>,
    /// The hosts.
    pub to: Selector,
    /// Each host tries it for so long.
    pub hold: Duration,
    /// What has to be true then.
    pub health: crate::health::Health,
    /// Waves.
    pub plan: Plan,
    /// Go on without a host that can try it.
    pub unseen: bool,
    /// For people.
    pub note: String,
}

/// A revision as the engine has it.
#[derive(Debug, Clone)]
pub struct Current {
    /// What was signed.
    pub revision: Revision,
    /// Of the key's value in the engine.
    entry: u64,
    /// When the engine got it, by its clock, in seconds of Unix time.
    pub at_s: i64,
    /// Who signed.
    pub signer: Option<PublicKey>,
}

/// An operator at the engine.
pub struct Operator {
    engine: OperatorEngine,
    fleet: String,
    signer: Option<Signer>,
    pins: Vec<PublicKey>,
    memory: Memory,
    directory: String,
}

impl Operator {
    /// Connects. Keys that are pinned, and the operator's own, are believed.
    pub async fn connect(
        access: &Access,
        fleet: &str,
        signer: Option<Signer>,
        pins: &[PublicKey],
        directory: &Path,
        make: bool,
    ) -> Result<Self, Error> {
        let engine = OperatorEngine::connect(access, fleet, make).await?;
        let own = signer.as_ref().map(Signer::public);
        Ok(Self {
            engine,
            fleet: fleet.to_owned(),
            pins: pins.iter().copied().chain(own).collect(),
            signer,
            memory: Memory::open(directory, fleet)?,
            directory: directory.display().to_string(),
        })
    }

    /// The fleet's name.
    pub fn fleet(&self) -> &str {
        &self.fleet
    }

    /// The engine's last revision, if it is to be trusted.
    pub async fn current(&mut self) -> Result<Current, Error> {
        let entry = self.engine.revisions().entry(REVISION).await;
        let entry = entry.map_err(EngineError::new)?;
        let current = match entry.filter(|entry| entry.operation == kv::Operation::Put) {
            None => Current {
                revision: Revision::none(&self.fleet),
                entry: 0,
                at_s: 0,
                signer: None,
            },
            Some(_) if self.pins.is_empty() => return Err(Error::NoPins),
            Some(entry) => self.read(&entry)?,
        };
        let (shown, signed) = (current.revision.number, self.memory.number());
        if shown < signed {
            let file = format!("{}/{}.json", self.directory, self.fleet);
            return Err(Error::Older {
                shown,
                signed,
                file,
            });
        }
        self.memory.saw(shown)?;
        Ok(current)
    }

    fn read(&self, entry: &kv::Entry) -> Result<Current, Error> {
        let revision = Revision::open(&entry.value, &self.pins, &self.fleet)?;
        let kind = crate::envelope::Kind::Revision;
        Ok(Current {
            revision,
            entry: entry.revision,
            at_s: entry.created.unix_timestamp(),
            signer: crate::envelope::claimed(kind, &entry.value).ok(),
        })
    }

    /// Signs the next revision: the current one, changed. Another signer's is never overwritten.
    async fn sign(
        &mut self,
        mut change: impl FnMut(&mut Revision) -> Result<(), Error>,
    ) -> Result<Current, Error> {
        let signer = self.signer.clone().ok_or(Error::NoKey)?;
        for _ in 0..5 {
            let current = self.current().await?;
            let mut next = current.revision.clone();
            next.number += 1;
            next.note.clear();
            change(&mut next)?;
            next.check().map_err(Error::Unsound)?;
            let bytes = next.seal(&signer);
            if bytes.len() > crate::envelope::Kind::Revision.max_bytes() {
                return Err(Error::Unsound("too many assignments".to_owned()));
            }
            let store = self.engine.revisions();
            // Remembered first: a number is never signed twice, even if this is killed now.
            let put = store.update(REVISION, bytes.into(), current.entry).await;
            match put {
                Ok(_) => {
                    self.memory.saw(next.number)?;
                    return self.current().await;
                }
                Err(error) if error.kind() == kv::UpdateErrorKind::WrongLastRevision => {}
                Err(error) => return Err(EngineError::new(error).into()),
            }
        }
        Err(Error::Busy)
    }

    /// All hosts that reported.
    pub async fn roster(&mut self) -> Result<Roster, Error> {
        let mut roster = Roster::default();
        let Some(last) = self.engine.last_report().await? else {
            return Ok(roster);
        };
        let watch = self.engine.hosts().watch_with_history(">").await;
        let mut watch = watch.map_err(EngineError::new)?;
        let all = async {
            while let Some(entry) = watch.next().await {
                let entry = entry.map_err(EngineError::new)?;
                if entry.operation == kv::Operation::Put {
                    roster.take(&entry, &self.fleet, &mut self.memory);
                }
                if entry.revision >= last {
                    break;
                }
            }
            Ok::<_, EngineError>(())
        };
        timeout(READ, all)
            .await
            .map_err(|_| EngineError("no reports arrive".to_owned()))??;
        self.memory.save()?;
        Ok(roster)
    }

    /// The same, once all that are there have been asked to report.
    pub async fn fresh_roster(&mut self) -> Result<Roster, Error> {
        self.engine.call().await?;
        sleep(CALL_SPREAD + Duration::from_millis(500)).await;
        self.roster().await
    }

    /// Signs a push to these hosts, and releases its first wave.
    pub async fn push(
        &mut self,
        push: &Push,
        roster: &Roster,
    ) -> Result<(Current, Selector), Error> {
        if self.signer.is_none() {
            return Err(Error::NoKey);
        }
        let digest = match &push.policy {
            None => None,
            Some(text) if text.len() > POLICY_MAX_BYTES => {
                return Err(Error::Unsound(format!(
                    "a policy of more than {POLICY_MAX_BYTES} bytes"
                )));
            }
            Some(text) => Some(self.keep_policy(text).await?),
        };
        // After the reports were read: an engine that makes hosts up cannot choose their places.
        let salt = random::word() + &random::word();
        let current = self
            .sign(|next| {
                let earlier = next.assignments.iter().position(|a| a.to == push.to);
                let before = earlier.and_then(|at| {
                    let earlier = next.assignments.remove(at);
                    if earlier.is_complete() {
                        Some(earlier.target)
                    } else {
                        // What it replaces has not arrived; what was there before has.
                        earlier.before
                    }
                });
                next.note.clone_from(&push.note);
                next.assignments.push(Assignment {
                    to: push.to.clone(),
                    target: Content {
                        since: next.number,
                        policy: digest,
                        hold_ms: push.hold.as_millis() as u64,
                        health: push.health.clone(),
                    },
                    before,
                    salt: salt.clone(),
                    released: 0,
                    paused: false,
                    plan: push.plan,
                });
                let assignment = next.assignments.last().cloned();
                let members = assignment.map(|own| roster.members(next, &own, i64::MIN / 2));
                let present = members.unwrap_or_default();
                let mut places: Vec<u64> = present.iter().map(|member| member.place).collect();
                let released = match (places.is_empty(), push.unseen) {
                    (true, false) => return Err(Error::NoHosts(push.to.clone())),
                    (true, true) => END,
                    (false, _) => crate::place::below(&mut places, push.plan.canary_ppm),
                };
                if let Some(own) = next.assignments.last_mut() {
                    own.released = released;
                }
                Ok(())
            })
            .await?;
        Ok((current, push.to.clone()))
    }

    async fn keep_policy(&self, text: &str) -> Result<Digest, Error> {
        let digest = Digest::for_content(text.as_bytes());
        let store = self.engine.revisions();
        let key = policy_key(&digest);
        let kept = store.get(key.clone()).await.map_err(EngineError::new)?;
        if kept.is_none_or(|kept| Digest::for_content(&kept) != digest) {
            let put = store.put(key, text.as_bytes().to_vec().into()).await;
            put.map_err(EngineError::new)?;
        }
        Ok(digest)
    }

    /// The text of a policy.
    pub async fn policy(&self, digest: &Digest) -> Result<String, Error> {
        let found = self.engine.revisions().get(policy_key(digest)).await;
        let found = found.map_err(EngineError::new)?;
        let whole = found.filter(|bytes| Digest::for_content(bytes) == *digest);
        let text = whole.and_then(|bytes| String::from_utf8(bytes.into()).ok());
        text.ok_or_else(|| {
            EngineError(format!("it has no policy {}, or another", digest.short())).into()
        })
    }

    /// The only assignment, or the one to these hosts.
    pub fn named(revision: &Revision, to: Option<&Selector>) -> Result<Selector, Error> {
        match (to, &revision.assignments[..]) {
            (Some(to), all) if all.iter().any(|a| a.to == *to) => Ok(to.clone()),
            (Some(to), _) => Err(Error::NotAssigned(to.clone())),
            (None, [only]) => Ok(only.to.clone()),
            (None, []) => Err(Error::NotAssigned(Selector::ALL)),
            (None, all) => Err(Error::Ambiguous(all.len())),
        }
    }

    /// Lets no host begin, or lets them again.
    pub async fn pause(&mut self, to: &Selector, paused: bool) -> Result<Current, Error> {
        self.change(to, |own, _| {
            own.paused = paused;
            Ok(())
        })
        .await
    }

    /// Signs the current revision with one assignment changed.
    async fn change(
        &mut self,
        to: &Selector,
        mut change: impl FnMut(&mut Assignment, u64) -> Result<(), Error>,
    ) -> Result<Current, Error> {
        self.sign(|next| {
            let number = next.number;
            let own = next.assignments.iter_mut().find(|a| a.to == *to);
            change(own.ok_or_else(|| Error::NotAssigned(to.clone()))?, number)
        })
        .await
    }

    /// All hosts go back to what was there before this content.
    async fn halt(&mut self, to: &Selector, since: u64, why: &str) -> Result<Current, Error> {
        let note = note_of_halt(to, why);
        self.sign(|next| {
            let number = next.number;
            let own = next.assignments.iter_mut().find(|a| a.to == *to);
            let own = own.filter(|own| own.target.since == since);
            let own = own.ok_or_else(|| Error::NotAssigned(to.clone()))?;
            match own.before.take() {
                Some(before) => {
                    own.target = before;
                    own.released = END;
                }
                // Those that have it end it; the others never had anything of the fleet's.
                None => {
                    own.target.since = number;
                    own.target.policy = None;
                    own.target.health = crate::health::Health::sound();
                }
            }
            let end = note.char_indices().map(|(at, one)| at + one.len_utf8());
            let end = end.take_while(|end| *end <= 200).last().unwrap_or(0);
            next.note = note[..end].to_owned();
            Ok(())
        })
        .await
    }

    /// Assigns what was there before, or at an earlier revision, to all hosts at once.
    pub async fn rollback(
        &mut self,
        to: &Selector,
        number: Option<u64>,
    ) -> Result<(Current, u64), Error> {
        let current = self.current().await?;
        let own = current.revision.assignments.iter().find(|a| a.to == *to);
        let own = own.ok_or_else(|| Error::NotAssigned(to.clone()))?;
        let mut earlier = None;
        if number.is_none() {
            earlier = own.before.clone();
        }
        if earlier.is_none() {
            let history = self.history().await?;
            let is_meant = |at: &&Current| match number {
                Some(number) => at.revision.number == number,
                None => at.revision.number < own.target.since,
            };
            let found = history.iter().filter(is_meant).find_map(|at| {
                let then = at.revision.assignments.iter().find(|a| a.to == *to)?;
                if then.is_complete() || number.is_some() {
                    Some(then.target.clone())
                } else {
                    then.before.clone()
                }
            });
            earlier = found;
        }
        let earlier = earlier.ok_or_else(|| {
            Error::NoEarlier(match number {
                Some(number) => format!(
                    "the engine's history has no revision {number} with a policy for {to}; see \
                     takt fleet history"
                ),
                None => format!(
                    "{to} had no policy of the fleet's before this one; `takt fleet push --none` \
                     ends it"
                ),
            })
        })?;
        let from = earlier.since;
        let current = self
            .change(to, |own, number| {
                own.target = Content {
                    since: number,
                    ..earlier.clone()
                };
                own.before = None;
                own.released = END;
                own.paused = false;
                Ok(())
            })
            .await?;
        Ok((current, from))
    }

    /// All revisions that the engine keeps, the newest first. Those that no pinned key signed
    /// are left out.
    pub async fn history(&mut self) -> Result<Vec<Current>, Error> {
        let last = self.engine.revisions().entry(REVISION).await;
        if last.map_err(EngineError::new)?.is_none() {
            return Ok(Vec::new());
        }
        let entries = self.engine.revisions().history(REVISION).await;
        let mut entries = entries.map_err(EngineError::new)?;
        let mut found = Vec::new();
        let all = async {
            while let Some(entry) = entries.next().await {
                let entry = entry.map_err(EngineError::new)?;
                found.extend(self.read(&entry).ok());
            }
            Ok::<_, EngineError>(())
        };
        timeout(READ, all)
            .await
            .map_err(|_| EngineError("no history arrives".to_owned()))??;
        found.sort_by_key(|at| std::cmp::Reverse(at.revision.number));
        Ok(found)
    }

    /// Forgets a host's key and last report.
    pub async fn forget(&mut self, id: &str) -> Result<bool, Error> {
        let purged = self.engine.hosts().purge(id).await;
        purged.map_err(EngineError::new)?;
        Ok(self.memory.forget(id)?)
    }
}
/// What a revision says that takes a policy back. Of a long reason the first words.
fn note_of_halt(to: &Selector, why: &str) -> String {
    const NOTE_MAX_BYTES: usize = 180;
    let note = format!("halted at {to}: {why}");
    if note.len() <= NOTE_MAX_BYTES {
        return note;
    }
    let whole_words = note.match_indices(' ').map(|(at, _)| at);
    let end = whole_words.take_while(|at| *at <= NOTE_MAX_BYTES - " ...".len());
    format!("{} ...", &note[..end.last().unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_ends_between_words() {
        let to: Selector = "all".parse().expect("a selector");
        let note = |why: &str| note_of_halt(&to, why);
        assert_eq!(note("a host is gone"), "halted at all: a host is gone");
        let long = note(&"hosts ".repeat(60));
        assert!(long.len() <= 180 && long.ends_with(" hosts ..."), "{long}");
        assert_eq!(note(&"é".repeat(200)), "halted at all: ...");
    }
}
