//! The members of a group.

use std::{collections::BTreeMap, net::IpAddr};

use super::Activity;

/// The most members that are known at a time.
pub const MEMBERS_MAX: usize = 256;
/// A member that was silent for this many of its announced times is gone.
const SILENCES: u64 = 3;
/// The longest time that a member may announce: somewhat more than the air forces on this many
/// terminals.
const WITHIN_MAX_NS: u64 = 12_000_000_000;
const NS_PER_MS: u64 = 1_000_000;

/// A member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Its last reported activity.
    pub activity: Activity,
    /// The sender's address; `None` if an aggregator reported the member.
    pub from: Option<IpAddr>,
    /// When it was last reported.
    pub heard_ns: u64,
    gone_ns: u64,
}

/// When what was heard now counts no more, if the next was announced within this time.
pub fn gone_ns(now_ns: u64, within_ms: u16) -> u64 {
    let within_ns = (u64::from(within_ms) * NS_PER_MS).min(WITHIN_MAX_NS);
    now_ns.saturating_add(SILENCES * within_ns)
}

/// By number.
#[derive(Default)]
pub struct Members(BTreeMap<u64, Member>);

impl Members {
    /// Records a member's activity and the time within which it reports again; returns whether
    /// there was room. An idle member leaves.
    pub fn hear(
        &mut self,
        now_ns: u64,
        number: u64,
        from: Option<IpAddr>,
        activity: Activity,
        within_ms: u16,
    ) -> bool {
        if activity.is_idle() {
            self.0.remove(&number);
            return true;
        }
        if !self.0.contains_key(&number) && self.0.len() >= MEMBERS_MAX {
            return false;
        }
        let member = Member {
            activity,
            from,
            heard_ns: now_ns,
            gone_ns: gone_ns(now_ns, within_ms),
        };
        self.0.insert(number, member);
        true
    }

    /// Removes members whose announced time has passed.
    pub fn expire(&mut self, now_ns: u64) {
        self.0.retain(|_, member| now_ns <= member.gone_ns);
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// In the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Member)> {
        self.0.iter().map(|(number, member)| (*number, member))
    }
}
