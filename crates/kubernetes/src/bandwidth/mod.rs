//! Limits what the pods of a node send, as their annotations ask for: a policy of takt in each
//! pod's network namespace, on the pod's own device.

mod event;
mod limit;
mod namespace;
mod pod;

use std::{collections::BTreeMap, io, path::PathBuf, time::Duration};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, pin_mut};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, ResourceExt,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval};

use self::{
    limit::{Done, Todo, todo},
    pod::{addresses, ask, runs},
};
use crate::health::Pulse;

const TICK: Duration = Duration::from_secs(1);
/// Until what failed is tried again: another policy may be on trial, or the pod has no address yet.
const RETRY: Duration = Duration::from_secs(10);
/// Between two looks whether a pod is in another network namespace, as after its sandbox ended.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// Of one node; kubelet's own bound is 110 by default.
const PODS_MAX: usize = 4096;

/// What a limiter needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// The node's name.
    pub node: String,
    /// The program takt.
    pub takt: PathBuf,
    /// Where processes are listed.
    pub proc: PathBuf,
    /// The directory for the policies of pods.
    pub directory: PathBuf,
}

/// The pods of a node.
pub struct Limiter {
    config: Config,
    client: Client,
    pods: BTreeMap<String, Known>,
    listed: Vec<String>,
    pulse: Pulse,
}

/// A pod.
struct Known {
    pod: Pod,
    done: Done,
    /// The problem that was told last.
    told: Option<String>,
    look_at: Instant,
}

impl Limiter {
    /// With a directory of its own.
    pub fn new(client: Client, config: Config, pulse: Pulse) -> Self {
        Self {
            config,
            client,
            pods: BTreeMap::new(),
            listed: Vec::new(),
            pulse,
        }
    }

    /// Goes on until it is told to stop. Limits stay then. In a box, so that programs and tests do not
    /// compile all of it again.
    pub fn run(self, stop: BoxFuture<'static, ()>) -> BoxFuture<'static, io::Result<()>> {
        self.go_on(stop).boxed()
    }

    async fn go_on(mut self, stop: BoxFuture<'static, ()>) -> io::Result<()> {
        let api: Api<Pod> = Api::all(self.client.clone());
        let own = format!("spec.nodeName={}", self.config.node);
        let watch = watcher(api, watcher::Config::default().fields(&own)).default_backoff();
        pin_mut!(watch, stop);
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = &mut stop => return Ok(()),
                event = watch.next() => match event {
                    Some(Ok(event)) => self.take(event),
                    Some(Err(error)) => eprintln!("takt-kubernetes: the API: {error}"),
                    None => return Err(io::Error::other("the API's watch has ended")),
                },
                _ = ticks.tick() => {
                    self.look().await;
                    self.pulse.say(self.describe());
                    self.pulse.beat();
                }
            }
        }
    }

    fn take(&mut self, event: Event<Pod>) {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(pod) => {
                self.listed.extend(pod.uid());
                self.know(pod);
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                let gone = self.pods.keys().filter(|uid| !listed.contains(uid));
                for uid in gone.cloned().collect::<Vec<_>>() {
                    self.forget(&uid);
                }
                limit::keep_only(&self.config.directory, &self.pods);
            }
            Event::Apply(pod) => self.know(pod),
            Event::Delete(pod) => {
                if let Some(uid) = pod.uid() {
                    self.forget(&uid);
                }
            }
        }
    }

    fn know(&mut self, pod: Pod) {
        let Some(uid) = pod.uid() else {
            return;
        };
        if let Some(known) = self.pods.get_mut(&uid) {
            if ask(&known.pod) != ask(&pod) || runs(&known.pod) != runs(&pod) {
                known.look_at = Instant::now();
            }
            known.pod = pod;
        } else if self.pods.len() < PODS_MAX {
            let done = limit::before(&self.config.directory, &uid);
            let known = Known {
                pod,
                done,
                told: None,
                look_at: Instant::now(),
            };
            self.pods.insert(uid, known);
        }
    }

    /// Its network namespace goes with it, and takt's state of that with the next apply.
    fn forget(&mut self, uid: &str) {
        self.pods.remove(uid);
        limit::remove(&self.config.directory, uid);
    }

    async fn look(&mut self) {
        let now = Instant::now();
        let due = self.pods.iter().filter(|(_, own)| own.look_at <= now);
        let due =
            due.filter(|(_, own)| todo(&ask(&own.pod), runs(&own.pod), &own.done) != Todo::Rest);
        let due: Vec<String> = due.map(|(uid, _)| uid.clone()).collect();
        if due.is_empty() {
            return;
        }
        let proc = self.config.proc.clone();
        let read = tokio::task::spawn_blocking(move || namespace::processes(&proc)).await;
        let processes = read.map_err(io::Error::other).and_then(|found| found);
        let processes = processes.unwrap_or_else(|error| {
            eprintln!("takt-kubernetes: {}: {error}", self.config.proc.display());
            namespace::Processes::new()
        });
        for uid in due {
            let Some(known) = self.pods.get(&uid) else {
                continue;
            };
            let pids = processes.get(&uid).cloned().unwrap_or_default();
            let asked = limit::Asked {
                todo: todo(&ask(&known.pod), runs(&known.pod), &known.done),
                done: known.done.clone(),
                addresses: addresses(&known.pod),
                pids,
                uid: uid.clone(),
            };
            let config = self.config.clone();
            let carried = tokio::task::spawn_blocking(move || limit::carry_out(&config, &asked));
            let carried = carried.await.unwrap_or_else(|error| Err(error.to_string()));
            let Some(known) = self.pods.get_mut(&uid) else {
                continue;
            };
            let problem = match carried {
                Ok(done) => {
                    known.done = done;
                    known.look_at = Instant::now() + LOOK_AGAIN;
                    None
                }
                Err(why) => {
                    known.look_at = Instant::now() + RETRY;
                    Some(why)
                }
            };
            if known.told != problem {
                if let Some(why) = &problem {
                    let name = known.pod.name_any();
                    eprintln!("takt-kubernetes: pod {name}: {why}");
                    event::tell(&self.client, &known.pod, &self.config.node, why).await;
                }
                known.told = problem;
            }
            self.pulse.beat();
        }
    }

    /// All pods that ask for something, in JSON.
    fn describe(&self) -> String {
        let asking = self
            .pods
            .values()
            .filter(|own| own.pod.annotations().contains_key(pod::ANNOTATION));
        let pods: Vec<_> = asking
            .map(|own| {
                json!({
                    "namespace": own.pod.namespace(),
                    "name": own.pod.name_any(),
                    "asked": own.pod.annotations().get(pod::ANNOTATION),
                    "limit_bps": own.done.rate_bps(),
                    "problem": own.told,
                })
            })
            .collect();
        json!({ "pods": pods }).to_string()
    }
}
