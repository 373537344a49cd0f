//! How often takt replaces other programs' qdiscs. A program that insists, as takt would, gets its way:
//! otherwise the two would replace each other's qdiscs for ever.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use takt_host::LostLink;
use takt_policy::OnConflict;

/// In any [`PERIOD`], for each device.
const RESTORES_MAX: usize = 5;
const PERIOD: Duration = Duration::from_secs(60);

/// By device, when takt's qdisc was restored in the last [`PERIOD`].
#[derive(Debug, Default)]
pub(super) struct Restores(BTreeMap<u32, VecDeque<Duration>>);

impl Restores {
    /// Whether takt's qdisc is to replace another one now; if so, it counts.
    pub fn allow(&mut self, lost: &LostLink, now: Duration) -> bool {
        lost.on_conflict == OnConflict::Restore && self.count(lost.ifindex, now)
    }

    fn count(&mut self, ifindex: u32, now: Duration) -> bool {
        self.0.retain(|_, times| {
            times.retain(|time| now - *time < PERIOD);
            !times.is_empty()
        });
        let times = self.0.entry(ifindex).or_default();
        if times.len() >= RESTORES_MAX {
            return false;
        }
        times.push_back(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn a_program_that_insists_gets_its_way() {
        let mut restores = Restores::default();
        let allowed = (0..10).filter(|n| restores.count(7, *n * S)).count();
        assert_eq!(allowed, RESTORES_MAX);
        assert!(restores.count(8, 10 * S));
    }

    #[test]
    fn after_a_while_takt_tries_again() {
        let mut restores = Restores::default();
        for n in 0..RESTORES_MAX as u32 {
            assert!(restores.count(7, n * S));
        }
        assert!(!restores.count(7, PERIOD - S));
        assert!(restores.count(7, PERIOD));
        assert!(!restores.count(7, PERIOD));
    }
}
