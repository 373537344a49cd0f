//! Which hosts there are, by their signed reports.

use std::collections::BTreeMap;

use async_nats::jetstream::kv;

use super::memory::Memory;
use crate::{
    keys::PublicKey,
    place::place,
    report::Report,
    revision::{Assignment, Revision},
    rollout::{Member, State},
};

/// A host that reported this long before a push takes part in it: three of its reports, and some.
pub const PRESENT_S: i64 = 200;
/// Hosts that are listened to.
const HOSTS_MAX: usize = 100_000;

/// All hosts of a fleet.
#[derive(Debug, Default)]
pub struct Roster {
    hosts: BTreeMap<String, Seen>,
    /// Reports that were not believed: by another key than the host's, or by none.
    pub disbelieved: BTreeMap<String, String>,
}

/// A host's last report.
#[derive(Debug, Clone)]
pub struct Seen {
    /// What it says.
    pub report: Report,
    /// The key that signed it.
    pub key: PublicKey,
    /// When the engine got it, by the engine's clock, in seconds of Unix time.
    pub at_s: i64,
    /// Instances of one host, if several report by turns.
    former: Option<String>,
    /// Two agents have this identity.
    pub is_double: bool,
}

impl Roster {
    /// Takes a report, if its host's key signed it.
    pub fn take(&mut self, entry: &kv::Entry, fleet: &str, memory: &mut Memory) {
        let at_s = entry.created.unix_timestamp();
        self.take_bytes(&entry.key, &entry.value, at_s, fleet, memory);
    }

    fn take_bytes(&mut self, id: &str, bytes: &[u8], at_s: i64, fleet: &str, memory: &mut Memory) {
        let opened = Report::open(bytes, fleet);
        let doubt = match &opened {
            Err(untrusted) => Some(untrusted.to_string()),
            Ok((_, report)) if report.id != id => Some(format!("host {} sent it", report.id)),
            Ok(_) if self.hosts.len() >= HOSTS_MAX && !self.hosts.contains_key(id) => {
                Some(format!("there are more than {HOSTS_MAX} hosts"))
            }
            Ok((key, _)) if !memory.is_own(id, key) => Some(format!(
                "key {key} signed it, and not the host's; if it was reinstalled: \
                 takt fleet forget {id}"
            )),
            Ok(_) => None,
        };
        match (doubt, opened) {
            (None, Ok((key, report))) => self.believe(key, report, at_s),
            (doubt, _) if self.disbelieved.len() < HOSTS_MAX => {
                let id: String = id.chars().take(64).collect();
                self.disbelieved.insert(id, doubt.unwrap_or_default());
            }
            _ => {}
        }
    }

    fn believe(&mut self, key: PublicKey, report: Report, at_s: i64) {
        let before = self.hosts.remove(&report.id);
        let (former, is_double) = match before {
            Some(before) if before.report.instance == report.instance => {
                if before.report.seq > report.seq {
                    // Replayed.
                    self.hosts.insert(report.id.clone(), before);
                    return;
                }
                (before.former, before.is_double)
            }
            Some(before) => {
                // A new instance follows a restart; one that comes back was there all the time.
                let is_back = before.former.as_ref() == Some(&report.instance);
                let former = Some(before.report.instance);
                (former, before.is_double || is_back)
            }
            None => (None, false),
        };
        let is_double = is_double || report.refused.duplicate > 0;
        let seen = Seen {
            key,
            at_s,
            former,
            is_double,
            report,
        };
        self.hosts.insert(seen.report.id.clone(), seen);
    }

    /// All hosts, by identity.
    pub fn hosts(&self) -> impl Iterator<Item = &Seen> {
        self.hosts.values()
    }

    /// One host.
    pub fn host(&self, id: &str) -> Option<&Seen> {
        self.hosts.get(id)
    }

    /// Forgets a host.
    pub fn forget(&mut self, id: &str) {
        self.hosts.remove(id);
    }

    /// The hosts of an assignment, as a rollout sees them that was pushed at this time.
    pub fn members(
        &self,
        revision: &Revision,
        assignment: &Assignment,
        pushed_s: i64,
    ) -> Vec<Member> {
        let is_own = |host: &&Seen| {
            let counts = revision.assignment(&host.report.labels);
            counts.is_some_and(|counts| counts.to == assignment.to)
        };
        self.hosts()
            .filter(is_own)
            .map(|host| Member {
                id: host.report.id.clone(),
                place: place(&assignment.salt, &host.report.id),
                is_present: host.at_s >= pushed_s - PRESENT_S,
                state: state(host, assignment),
            })
            .collect()
    }
}

/// How far a host is with the target of an assignment.
pub fn state(host: &Seen, assignment: &Assignment) -> State {
    let report = &host.report;
    let since = assignment.target.since;
    match () {
        () if report.failed == since => State::Failed(report.why.clone()),
        () if report.trial == since => State::Trying,
        () if report.in_force == since => State::Kept,
        () => State::Waiting,
    }
}
