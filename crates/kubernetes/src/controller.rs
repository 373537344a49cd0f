//! The controller: objects of Kubernetes on one side, the fleet's operator on the other. One loop
//! does one thing after the other; what it does is decided in [`crate::decide`].

use std::{
    collections::BTreeMap,
    future::Future,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::{StreamExt, pin_mut};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use serde_json::json;
use takt_fleet::{
    check::{self, Unfit},
    operator::{Ended, Error, Operator, Push, Reports, Rollout, Roster, Stage},
    revision::Revision,
    selector::Selector,
};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::{
    decide::{Step, rival, step},
    health::Pulse,
    resource::{FINALIZER, PolicyStatus, TaktPolicy},
    status::{Outcome, after},
};

/// Between two looks at all objects.
const TICK: Duration = Duration::from_secs(1);
/// Until what failed for want of the engine, of hosts or of the API is tried again.
const RETRY: Duration = Duration::from_secs(10);
/// Objects that are looked at; a revision has no room for more.
const OBJECTS_MAX: usize = takt_fleet::revision::ASSIGNMENTS_MAX;

/// Objects, and what the fleet has of them.
pub struct Controller {
    api: Api<TaktPolicy>,
    operator: Operator,
    reports: Option<Reports>,
    objects: BTreeMap<String, Object>,
    /// Names of a list that is being read.
    listed: Vec<String>,
    /// The program that checks policies, and a directory for their texts.
    takt: PathBuf,
    directory: PathBuf,
    pulse: Pulse,
}

/// An object, and what is known besides.
struct Object {
    policy: TaktPolicy,
    /// What was decided last: the API may show an older one.
    said: PolicyStatus,
    /// The API has it.
    is_told: bool,
    rollout: Option<Rollout>,
    retry_at: Option<Instant>,
}

impl Controller {
    /// With a takt that checks policies, and a directory of its own.
    pub fn new(
        client: Client,
        operator: Operator,
        takt: PathBuf,
        directory: &Path,
        pulse: Pulse,
    ) -> Self {
        Self {
            api: Api::all(client),
            operator,
            reports: None,
            objects: BTreeMap::new(),
            listed: Vec::new(),
            takt,
            directory: directory.to_owned(),
            pulse,
        }
    }

    /// Goes on until it is told to stop.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let watch = watcher(self.api.clone(), watcher::Config::default()).default_backoff();
        pin_mut!(watch, stop);
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reports = self.reports.take();
        loop {
            // Between ticks, so that a flood of reports or events holds up nothing.
            let heard = async {
                match &mut reports {
                    Some(reports) => self.operator.hear(reports).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = &mut stop => return Ok(()),
                event = watch.next() => match event {
                    Some(Ok(event)) => self.take(event),
                    Some(Err(error)) => eprintln!("takt-kubernetes: the API: {error}"),
                    None => return Err(io::Error::other("the API's watch has ended")),
                },
                heard = heard => {
                    if let Err(error) = heard {
                        eprintln!("takt-kubernetes: {error}");
                        reports = None;
                    }
                },
                _ = ticks.tick() => {
                    if reports.is_none() {
                        reports = self.operator.reports().await.ok();
                    }
                    self.look(reports.as_ref().and_then(Reports::roster)).await;
                    self.pulse.beat();
                }
            }
        }
    }

    fn take(&mut self, event: Event<TaktPolicy>) {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(policy) => {
                self.listed.push(policy.name_any());
                self.know(policy);
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                self.objects.retain(|name, _| listed.contains(name));
            }
            Event::Apply(policy) => self.know(policy),
            Event::Delete(policy) => {
                self.objects.remove(&policy.name_any());
            }
        }
    }

    fn know(&mut self, policy: TaktPolicy) {
        let name = policy.name_any();
        let known = self.objects.get_mut(&name);
        if let Some(own) = known.filter(|own| own.policy.uid() == policy.uid()) {
            if own.policy.metadata.generation != policy.metadata.generation {
                own.retry_at = None;
            }
            own.policy = policy;
            return;
        }
        if self.objects.len() >= OBJECTS_MAX && !self.objects.contains_key(&name) {
            eprintln!("takt-kubernetes: {name} is one of more than {OBJECTS_MAX}");
            return;
        }
        let object = Object {
            said: policy.status.clone().unwrap_or_default(),
            policy,
            is_told: true,
            rollout: None,
            retry_at: None,
        };
        self.objects.insert(name, object);
    }

    async fn look(&mut self, roster: Option<&Roster>) {
        let now = Instant::now();
        let names: Vec<String> = self.objects.keys().cloned().collect();
        let mut revision = None;
        for name in names {
            let waits = self.objects.get(&name).and_then(|own| own.retry_at);
            if waits.is_some_and(|at| at > now) {
                self.tell(&name).await;
                continue;
            }
            let looked = match &revision {
                Some(_) => Ok(()),
                None => self.operator.current().await.map(|current| {
                    revision = Some(current.revision);
                }),
            };
            let done = match (looked, &revision) {
                (Err(error), _) => Err(error),
                (Ok(()), Some(current)) => self.serve(&name, current, roster).await,
                (Ok(()), None) => Ok(true),
            };
            match done {
                Ok(true) => {}
                // The fleet's revision is another now.
                Ok(false) => revision = None,
                Err(error) => {
                    let outcome = match error {
                        Error::Unsound(why) => Outcome::Refused("Invalid", why),
                        error => Outcome::Waiting(error.to_string()),
                    };
                    revision = None;
                    self.postpone(&name);
                    self.say(&name, &outcome);
                }
            }
            self.tell(&name).await;
        }
    }

    fn postpone(&mut self, name: &str) {
        if let Some(own) = self.objects.get_mut(name) {
            own.rollout = None;
            own.retry_at = Some(Instant::now() + RETRY);
        }
    }

    /// One step for one object. Whether the fleet's revision is still the same.
    async fn serve(
        &mut self,
        name: &str,
        revision: &Revision,
        roster: Option<&Roster>,
    ) -> Result<bool, Error> {
        let Some(own) = self.objects.get(name) else {
            return Ok(true);
        };
        let others = self.objects.values().map(|own| &own.policy);
        let rival = rival(&own.policy, others);
        let next = step(&own.policy, &own.said, rival, revision);
        match next {
            Step::Rest => Ok(true),
            Step::Hold => {
                self.hold(name, true).await;
                Ok(true)
            }
            Step::Refuse { reason, why } => {
                self.say(name, &Outcome::Refused(reason, why));
                Ok(true)
            }
            Step::Superseded { number } => {
                let (since, wave) = (own.said.revision, own.said.wave);
                let stage = Stage::Ended(Ended::Superseded(number));
                self.say(name, &Outcome::Stage(since, wave, stage));
                Ok(true)
            }
            Step::LetGo { end } => {
                let to = own.policy.spec.push().ok();
                if let Some(push) = to.filter(|_| end) {
                    self.end(push).await?;
                }
                self.hold(name, false).await;
                Ok(false)
            }
            Step::Push(push) => {
                self.push(name, *push).await?;
                Ok(false)
            }
            Step::Follow { since, pause } => {
                let to: Option<Selector> = own.policy.spec.to.parse().ok();
                let Some((to, roster)) = to.zip(roster) else {
                    return Ok(true);
                };
                if let Some(paused) = pause {
                    self.operator.pause(&to, paused).await?;
                    self.forget_rollout(name);
                    return Ok(false);
                }
                self.follow(name, &to, since, roster).await
            }
        }
    }

    fn forget_rollout(&mut self, name: &str) {
        if let Some(own) = self.objects.get_mut(name) {
            own.rollout = None;
        }
    }

    async fn push(&mut self, name: &str, push: Push) -> Result<(), Error> {
        let roster = self.operator.fresh_roster().await?;
        let file = self.directory.join(format!("{name}.toml"));
        tokio::fs::write(&file, push.policy.as_deref().unwrap_or_default()).await?;
        let (to, takt) = (push.to.clone(), self.takt.clone());
        let checked = tokio::task::spawn_blocking(move || {
            let checked = check::kernels(&takt, &file, &to, &roster);
            let _ = std::fs::remove_file(&file);
            (checked, roster)
        });
        let (checked, roster) = checked.await.map_err(io::Error::other)?;
        if let Err(Unfit { code, why }) = checked {
            let outcome = match code {
                Some(2) => Outcome::Refused("Invalid", why),
                Some(3) => Outcome::Refused("Lacking", why),
                _ => Outcome::Waiting(why),
            };
            self.postpone(name);
            self.say(name, &outcome);
            return Ok(());
        }
        let (current, _) = self.operator.push(&push, &roster).await?;
        self.forget_rollout(name);
        self.say(name, &Outcome::Pushed(current.revision.number));
        Ok(())
    }

    /// As `takt fleet push --none`: hosts end it without a trial.
    async fn end(&mut self, push: Push) -> Result<(), Error> {
        let none = Push {
            policy: None,
            unseen: true,
            plan: takt_fleet::revision::Plan {
                canary_ppm: 1_000_000,
                ..push.plan
            },
            note: "its TaktPolicy was deleted".to_owned(),
            ..push
        };
        let roster = self.operator.roster().await?;
        self.operator.push(&none, &roster).await.map(|_| ())
    }

    async fn follow(
        &mut self,
        name: &str,
        to: &Selector,
        since: u64,
        roster: &Roster,
    ) -> Result<bool, Error> {
        let rollout = self
            .objects
            .get_mut(name)
            .and_then(|own| own.rollout.take());
        let mut rollout = match rollout.filter(|rollout| rollout.since() == since) {
            Some(rollout) => rollout,
            None => self.operator.take_over(to).await?,
        };
        let wave = rollout.wave();
        let stage = self.operator.step(&mut rollout, roster).await?;
        let is_same = rollout.wave() == wave && !matches!(stage, Stage::Ended(Ended::Halted(..)));
        if let Stage::Ended(_) = &stage {
            self.operator.remember()?;
        }
        self.say(name, &Outcome::of(&rollout, stage));
        if let Some(own) = self.objects.get_mut(name) {
            own.rollout = Some(rollout);
        }
        Ok(is_same)
    }

    /// Decides on a status.
    fn say(&mut self, name: &str, outcome: &Outcome) {
        let Some(own) = self.objects.get_mut(name) else {
            return;
        };
        let now = k8s_openapi::jiff::Timestamp::now();
        let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let generation = own.policy.metadata.generation.unwrap_or_default();
        let content = own.policy.spec.content();
        let next = after(&own.said, generation, &content, outcome, &now);
        if next == own.said {
            return;
        }
        if next.phase != own.said.phase {
            eprintln!("takt-kubernetes: {name}: {:?} {}", next.phase, next.why);
        }
        own.said = next;
        own.is_told = false;
    }

    /// Writes an object's status, if the API has another. Rollouts do not wait for that.
    async fn tell(&mut self, name: &str) {
        let Some(own) = self.objects.get_mut(name).filter(|own| !own.is_told) else {
            return;
        };
        let patch = Patch::Merge(json!({ "status": own.said }));
        let patched = self
            .api
            .patch_status(name, &PatchParams::default(), &patch)
            .await;
        match patched {
            Ok(_) => own.is_told = true,
            Err(error) => eprintln!("takt-kubernetes: the status of {name}: {error}"),
        }
    }

    /// Adds the finalizer to an object, or takes it away.
    async fn hold(&mut self, name: &str, holds: bool) {
        let Some(own) = self.objects.get(name) else {
            return;
        };
        let others = own.policy.finalizers().iter();
        let others = others.filter(|other| *other != FINALIZER).cloned();
        let finalizers: Vec<String> = others.chain(holds.then(|| FINALIZER.to_owned())).collect();
        let patch = json!({ "metadata": {
            "finalizers": finalizers,
            // An object that was changed meanwhile is looked at again.
            "resourceVersion": own.policy.resource_version(),
        } });
        let patched = self
            .api
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await;
        match patched {
            Ok(policy) => self.know(policy),
            Err(error) => eprintln!("takt-kubernetes: {name}: {error}"),
        }
    }
}
