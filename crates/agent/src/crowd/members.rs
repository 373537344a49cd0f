//! Who is there.

use std::{collections::BTreeMap, net::IpAddr};

use super::Activity;

/// So many are known at a time.
pub const MEMBERS_MAX: usize = 256;
/// Who was silent for so many of the times within which it wanted to speak is gone.
const SILENCES: u64 = 3;
/// What a member may want at most: somewhat more than the air has so many wait.
const WITHIN_MAX_NS: u64 = 12_000_000_000;
const NS_PER_MS: u64 = 1_000_000;

/// A terminal that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// What it does, as was last said.
    pub activity: Activity,
    /// Where it sent from; `None` if another told of it.
    pub from: Option<IpAddr>,
    /// When that was.
    pub heard_ns: u64,
    gone_ns: u64,
}

/// By number.
#[derive(Default)]
pub struct Members(BTreeMap<u64, Member>);

impl Members {
    /// A member says what it does, and when it will next; whether there is room for it. One that
    /// is idle leaves.
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
        let within_ns = (u64::from(within_ms) * NS_PER_MS).min(WITHIN_MAX_NS);
        let member = Member {
            activity,
            from,
            heard_ns: now_ns,
            gone_ns: now_ns.saturating_add(SILENCES * within_ns),
        };
        self.0.insert(number, member);
        true
    }

    /// Whose time is over is gone.
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
