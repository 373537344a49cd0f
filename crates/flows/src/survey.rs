use std::collections::{BTreeMap, BTreeSet};

use crate::{recorder::Seen, sample::State};

/// When to look through all processes for who holds which socket: that is dear, so only for
/// flows that nobody was found for yet, and for each of them a few times.
#[derive(Debug, Default)]
pub struct Survey {
    tried: BTreeMap<u64, u32>,
}

/// A socket may be waiting to be accepted; one of the kernel's own is held by nobody.
const TRIES_MAX: u32 = 3;

impl Survey {
    /// Whether to look now, given what was seen.
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

/// Those that were closed on this side live on without a process.
fn has_holder(state: State) -> bool {
    matches!(
        state,
        State::Established | State::SynSent | State::CloseWait
    )
}
