use std::collections::{BTreeMap, BTreeSet};

use crate::{recorder::Seen, sample::State};

/// Decides when to search all processes for the holders of sockets. The search is expensive, so
/// it is done only for flows without a known holder, and a few times for each.
#[derive(Debug, Default)]
pub struct Survey {
    tried: BTreeMap<u64, u32>,
}

/// A socket may be waiting to be accepted; a kernel socket has no holder.
const TRIES_MAX: u32 = 3;

impl Survey {
    /// Whether to search now, given these flows.
    pub fn is_due(&mut self, seen: &[Seen]) -> bool {
        let unknown: BTreeSet<u64> = seen
            .iter()
            .filter(|seen| seen.flow.pid.is_none() && has_holder(seen.sample.state))
            .map(|seen| seen.flow.id)
            .collect();
        self.tried.retain(|flow, _| unknown.contains(flow));
        let mut is_due = false;
        for flow in unknown {
            let tried = self.tried.entry(flow).or_default();
            is_due |= *tried < TRIES_MAX;
            *tried = tried.saturating_add(1);
        }
        is_due
    }
}

/// Sockets that were closed on this side live on without a process.
fn has_holder(state: State) -> bool {
    matches!(
        state,
        State::Established | State::SynSent | State::CloseWait
    )
}
