//! A fleet at one moment, for people, programs and Prometheus.

use serde::Serialize;

use super::{Current, Error, Operator, PRESENT_S, Progress, Roster, Seen, state};
use crate::{report::Report, rollout::State};

/// All of it.
#[derive(Debug, Clone, Serialize)]
pub struct View {
    /// The fleet's name.
    pub fleet: String,
    /// The number of the last revision.
    pub revision: u64,
    /// Its note.
    pub note: String,
    /// Who signed it.
    pub signer: Option<String>,
    /// What is assigned.
    pub assignments: Vec<AssignmentView>,
    /// Every host.
    pub hosts: Vec<HostView>,
    /// Reports that were not believed, and why.
    pub disbelieved: Vec<Doubt>,
}

/// An assignment, and how far it is.
#[derive(Debug, Clone, Serialize)]
pub struct AssignmentView {
    /// Its hosts.
    pub to: String,
    /// The beginning of the policy's digest. `None`: no policy.
    pub policy: Option<String>,
    /// The revision that brought it.
    pub since: u64,
    /// Every host may have it.
    pub complete: bool,
    /// No host begins.
    pub paused: bool,
    /// What has to be true at the end of a trial.
    pub health: String,
    /// How long trials are.
    pub hold_ms: u64,
    /// Hosts.
    pub hosts: usize,
    /// They may have it.
    pub released: usize,
    /// On trial.
    pub trying: usize,
    /// They keep it.
    pub kept: usize,
    /// They took it back.
    pub failed: usize,
    /// Not heard of for a while.
    pub absent: usize,
}

/// A host.
#[derive(Debug, Clone, Serialize)]
pub struct HostView {
    /// What it said last.
    #[serde(flatten)]
    pub report: Report,
    /// The key that signed that.
    pub key: String,
    /// Since then, by the engine's clock alone.
    pub age_s: i64,
    /// How it is with what is assigned to it.
    pub state: &'static str,
    /// It may have the target of its assignment.
    pub released: bool,
    /// Two agents have its identity.
    pub double: bool,
}

/// A report that was not believed.
#[derive(Debug, Clone, Serialize)]
pub struct Doubt {
    /// The host that it is said to be of.
    pub host: String,
    /// Why not.
    pub why: String,
}

impl HostView {
    /// Why it needs a look, or nothing.
    pub fn trouble(&self) -> Option<String> {
        let mut all = Vec::new();
        if self.double {
            all.push("two agents have this identity".to_owned());
        }
        if self.report.drifted {
            all.push("another policy than the fleet's is in force".to_owned());
        }
        if self.state == "absent" {
            all.push(format!("no report for {} s", self.age_s));
        }
        if !self.report.why.is_empty() {
            all.push(self.report.why.clone());
        }
        let refused = self.report.refused;
        let counts = [
            (refused.forged, "forged"),
            (refused.replayed, "replayed"),
            (refused.foreign, "not understood"),
        ];
        for (count, what) in counts.iter().filter(|(count, _)| *count > 0) {
            all.push(format!("refused {count} {what} revisions"));
        }
        (!all.is_empty()).then(|| all.join("; "))
    }
}

impl Operator {
    /// Looks at the whole fleet.
    pub async fn view(&mut self) -> Result<View, Error> {
        let current = self.current().await?;
        let roster = self.roster().await?;
        let now_s = self.engine.now_s().await?;
        Ok(view(self.fleet(), &current, &roster, now_s))
    }
}

fn view(fleet: &str, current: &Current, roster: &Roster, now_s: i64) -> View {
    let revision = &current.revision;
    let assignments = revision.assignments.iter().map(|own| {
        let members = roster.members(revision, own, now_s);
        let progress = Progress::new(&members, own.released);
        AssignmentView {
            to: own.to.to_string(),
            policy: own.target.policy.map(|digest| digest.short()),
            since: own.target.since,
            complete: own.is_complete(),
            paused: own.paused,
            health: own.target.health.to_string(),
            hold_ms: own.target.hold_ms,
            hosts: progress.hosts,
            released: progress.released,
            trying: progress.trying,
            kept: progress.kept,
            failed: progress.failed,
            absent: progress.absent,
        }
    });
    let doubts = roster.disbelieved.iter();
    View {
        fleet: fleet.to_owned(),
        revision: revision.number,
        note: revision.note.clone(),
        signer: current.signer.map(|key| key.to_string()),
        assignments: assignments.collect(),
        hosts: roster
            .hosts()
            .map(|host| host_view(current, host, now_s))
            .collect(),
        disbelieved: doubts
            .map(|(host, why)| Doubt {
                host: host.clone(),
                why: why.clone(),
            })
            .collect(),
    }
}

fn host_view(current: &Current, host: &Seen, now_s: i64) -> HostView {
    let report = &host.report;
    let assignment = current.revision.assignment(&report.labels);
    let released = assignment.is_some_and(|own| own.is_released(&report.id));
    let age_s = (now_s - host.at_s).max(0);
    let wanted = current.revision.wanted(&report.id, &report.labels);
    let state = match (wanted, assignment) {
        _ if age_s > PRESENT_S => "absent",
        (None, _) | (_, None) => "unassigned",
        (Some(_), Some(own)) if released => match state(host, own) {
            State::Waiting => "waiting",
            State::Trying => "trying",
            State::Kept => "kept",
            State::Failed(_) => "failed",
        },
        (Some(wanted), Some(_)) => {
            if report.in_force == wanted.content.since {
                "before"
            } else {
                "waiting"
            }
        }
    };
    HostView {
        report: report.clone(),
        key: host.key.to_string(),
        age_s,
        state,
        released,
        double: host.is_double,
    }
}
