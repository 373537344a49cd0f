//! The custom resource `TaktPolicy`: a push, as an object of Kubernetes.

use std::time::Duration;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use takt_fleet::{digest::Digest, health::Health, operator::Push, revision::Plan, terms};

/// Whose the objects are.
pub const GROUP: &str = "fleet.takt";
/// While an object has it, the fleet's hosts may have its policy.
pub const FINALIZER: &str = "fleet.takt/policy";

/// A policy for the hosts of a fleet, and how it is rolled out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[kube(
    group = "fleet.takt",
    version = "v1alpha1",
    kind = "TaktPolicy",
    plural = "taktpolicies",
    status = "PolicyStatus",
    doc = "A policy for the hosts of a fleet, given to them in waves, as `takt fleet push` does.",
    printcolumn = r#"{"name":"To","type":"string","jsonPath":".spec.to"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Hosts","type":"integer","jsonPath":".status.hosts.all"}"#,
    printcolumn = r#"{"name":"Kept","type":"integer","jsonPath":".status.hosts.kept"}"#,
    printcolumn = r#"{"name":"Why","type":"string","jsonPath":".status.why"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct PolicySpec {
    /// The hosts: `all`, or terms separated by commas, such as zone=a|b,kernel>=6.16. It
    /// cannot be changed: the hosts that it selected would keep what they have.
    #[schemars(extend("x-kubernetes-validations" = [{
        "rule": "self == oldSelf",
        "message": "to cannot be changed; make another TaktPolicy, and delete this one"
    }]))]
    pub to: String,
    /// The policy, in TOML, as `takt check` reads it.
    #[schemars(length(min = 1, max = 262144))]
    pub policy: String,
    /// The condition that each host must meet at the end of its trial.
    #[serde(default = "sound")]
    pub health: String,
    /// The waves.
    #[serde(default)]
    pub rollout: Waves,
    /// No host begins, and no wave is released.
    #[serde(default)]
    pub paused: bool,
    /// The reason, for the history. A policy that was taken back is tried again when it is changed.
    #[serde(default)]
    pub note: String,
}

/// How a policy is given to hosts in waves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Waves {
    /// The first wave's share of the hosts; at least one host.
    pub canary: String,
    /// What each later wave adds.
    pub step: String,
    /// The hold time: how long each host has it on trial, from 1s to 55m.
    pub hold: String,
    /// How long to wait for a host's report after its trial.
    pub grace: String,
    /// The share of a wave that may fail or stop reporting.
    pub tolerate: String,
}

impl Default for Waves {
    /// As `takt fleet push` has them.
    fn default() -> Self {
        let [canary, step, hold, grace, tolerate] =
            ["5%", "25%", "10m", "2m", "0%"].map(str::to_owned);
        Self {
            canary,
            step,
            hold,
            grace,
            tolerate,
        }
    }
}

fn sound() -> String {
    Health::sound().to_string()
}

/// How far a policy is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyStatus {
    /// The generation of the object that this is about.
    pub observed_generation: i64,
    /// In one word.
    pub phase: Phase,
    /// Of what was pushed: a digest of the spec.
    pub content: String,
    /// The fleet's revision that brought it; 0 is none.
    #[schemars(range(min = 0))]
    pub revision: u64,
    /// The wave that was released last; 1 are the canaries.
    #[schemars(range(min = 0))]
    pub wave: u32,
    /// The hosts.
    pub hosts: Counts,
    /// Why it is refused, was taken back, or waits.
    pub why: String,
    /// As Kubernetes has them: Accepted, and Complete.
    pub conditions: Vec<Condition>,
}

/// A status in one word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Not looked at, or the engine or its hosts are not reachable.
    #[default]
    Waiting,
    /// It is wrong, another object has the same hosts, or a kernel could not carry it out.
    Refused,
    /// Waves have it, or have it on trial.
    RollingOut,
    /// No further host begins.
    Paused,
    /// Every host that is there keeps it.
    Complete,
    /// A wave failed: all hosts were rolled back.
    TakenBack,
    /// Another signer pushed to these hosts, or took it back.
    Superseded,
}

/// Hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Counts {
    /// The policy is for them.
    #[schemars(range(min = 0))]
    pub all: usize,
    /// They may have it.
    #[schemars(range(min = 0))]
    pub released: usize,
    /// On trial.
    #[schemars(range(min = 0))]
    pub trying: usize,
    /// They keep it.
    #[schemars(range(min = 0))]
    pub kept: usize,
    /// They took it back.
    #[schemars(range(min = 0))]
    pub failed: usize,
    /// Not heard of for a while.
    #[schemars(range(min = 0))]
    pub absent: usize,
}

/// A condition of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Accepted or Complete.
    pub r#type: String,
    /// True, False or Unknown.
    pub status: String,
    /// In one word.
    pub reason: String,
    /// For people.
    pub message: String,
    /// When the status changed last.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,
    /// The generation of the object that it is about.
    pub observed_generation: i64,
}

impl PolicySpec {
    /// The push that it asks for. The error names the field.
    pub fn push(&self) -> Result<Push, String> {
        fn field<T>(name: &str, read: Result<T, impl ToString>) -> Result<T, String> {
            read.map_err(|error| format!("spec.{name}: {}", error.to_string()))
        }
        parse(&self.policy)?;
        let waves = &self.rollout;
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Ok(Push {
            policy: Some(self.policy.clone()),
            to: field("to", self.to.parse())?,
            hold: field("rollout.hold", terms::hold(&waves.hold))?,
            health: field("health", self.health.parse())?,
            plan: Plan {
                canary_ppm: field("rollout.canary", terms::share(&waves.canary))?,
                step_ppm: field("rollout.step", terms::share(&waves.step))?,
                grace_ms: field("rollout.grace", terms::duration(&waves.grace).map(millis))?,
                tolerated_ppm: field("rollout.tolerate", terms::tolerated(&waves.tolerate))?,
            },
            unseen: false,
            note: self.note.clone(),
        })
    }

    /// A digest of what is pushed; a pause is none of it.
    pub fn content(&self) -> String {
        let pushed = Self {
            paused: false,
            ..self.clone()
        };
        let json = serde_json::to_vec(&pushed).unwrap_or_default();
        Digest::for_content(&json).short()
    }
}

/// Whether the text is a policy; the first mistake, in one line.
fn parse(text: &str) -> Result<(), String> {
    let Err(found) = takt_policy::parse("spec.policy", text) else {
        return Ok(());
    };
    let first = &found.to_json()[0];
    let said = |key: &str| first[key].as_str().unwrap_or_default().to_owned();
    let place = match (&first["line"], &first["column"]) {
        (Value::Number(line), Value::Number(column)) => format!("spec.policy:{line}:{column}"),
        _ => "spec.policy".to_owned(),
    };
    Err(format!("{place}: {}; {}", said("message"), said("help")))
}

#[cfg(test)]
mod tests {
    use kube::CustomResourceExt;

    use super::*;

    fn spec() -> PolicySpec {
        let given = serde_json::json!({ "to": "all", "policy": "[link.eth0]\nrate = \"1gbit\"\n" });
        serde_json::from_value(given).unwrap()
    }

    #[test]
    fn defaults_are_those_of_the_command() {
        let push = spec().push().unwrap();
        assert_eq!(push.hold, Duration::from_secs(600));
        assert_eq!(
            (push.plan.canary_ppm, push.plan.step_ppm),
            (50_000, 250_000)
        );
        assert_eq!((push.plan.grace_ms, push.plan.tolerated_ppm), (120_000, 0));
        assert_eq!(push.health, Health::sound());
    }

    #[test]
    fn mistakes_name_their_field() {
        type Spoil = fn(&mut PolicySpec);
        let wrong: [(&str, Spoil); 5] = [
            ("spec.to", |spec| spec.to = "zone".to_owned()),
            ("spec.policy", |spec| {
                spec.policy = "[link.eth0]\n".to_owned()
            }),
            ("spec.health", |spec| spec.health = "fine".to_owned()),
            ("spec.rollout.hold", |spec| {
                spec.rollout.hold = "2h".to_owned()
            }),
            ("spec.rollout.canary", |spec| {
                spec.rollout.canary = "0%".to_owned()
            }),
        ];
        for (field, spoil) in wrong {
            let mut spec = spec();
            spoil(&mut spec);
            let told = spec.push().unwrap_err();
            assert!(told.starts_with(field), "{told}");
        }
    }

    #[test]
    fn a_pause_is_no_other_content() {
        let (first, mut paused, mut other) = (spec(), spec(), spec());
        paused.paused = true;
        other.note = "again".to_owned();
        assert_eq!(first.content(), paused.content());
        assert_ne!(first.content(), other.content());
    }

    #[test]
    fn the_definition_in_packaging_is_this_one() {
        let generated = crate::definition();
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../packaging/kubernetes/crd.generated.json"
        );
        let there = std::fs::read_to_string(file).unwrap_or_default();
        assert_eq!(
            there, generated,
            "takt-kubernetes crd > packaging/kubernetes/crd.generated.json recreates it"
        );
        assert_eq!(TaktPolicy::crd().spec.group, GROUP);
    }
}
