//! The controller: objects of Kubernetes on one side, the fleet's operator on the other. One loop
//! does one thing after the other; what it does is decided in [`crate::decide`].

mod carry_out;
mod telling;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, pin_mut};
use kube::{
    Api, Client, ResourceExt,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use takt_fleet::operator::{Error, Operator, Reports, Rollout, Roster};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::{
    health::Pulse,
    resource::{PolicyStatus, TaktPolicy},
    status::Outcome,
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
            objects: BTreeMap::new(),
            listed: Vec::new(),
            takt,
            directory: directory.to_owned(),
            pulse,
        }
    }

    /// Goes on until it is told to stop. In a box, so that programs and tests do not compile all of
    /// it again.
    pub fn run(self, stop: BoxFuture<'static, ()>) -> BoxFuture<'static, io::Result<()>> {
        self.go_on(stop).boxed()
    }

    async fn go_on(mut self, stop: BoxFuture<'static, ()>) -> io::Result<()> {
        let watch = watcher(self.api.clone(), watcher::Config::default()).default_backoff();
        pin_mut!(watch, stop);
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reports: Option<Reports> = None;
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
}
