//! Control groups for background programs. Each is removed when it is empty.

use std::{collections::BTreeSet, ops::Bound, path::PathBuf};

use takt_host::background;

/// Of all users. A user with delegated control groups can make many.
const GROUPS_MAX: usize = 4096;
/// How many are looked at in a tick.
const LOOKS_PER_TICK: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Groups {
    known: BTreeSet<PathBuf>,
    /// The last group that was looked at.
    looked: PathBuf,
}

impl Groups {
    /// Groups that a killed taktd left.
    pub fn adopt(&mut self, left: impl IntoIterator<Item = PathBuf>) {
        self.known.extend(left);
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.known.len() >= GROUPS_MAX
    }

    pub fn insert(&mut self, group: PathBuf) {
        self.known.insert(group);
    }

    /// Remove the next few, if they are empty.
    pub fn tick(&mut self) {
        let after = (Bound::Excluded(self.looked.clone()), Bound::Unbounded);
        let mut next: Vec<_> = self.known.range(after).take(LOOKS_PER_TICK).collect();
        let left = LOOKS_PER_TICK.min(self.known.len()) - next.len();
        next.extend(self.known.iter().take(left));
        let next: Vec<_> = next.into_iter().cloned().collect();
        self.looked = next.last().cloned().unwrap_or_default();
        for group in next {
            if background::leave_empty(&group) {
                self.known.remove(&group);
            }
        }
    }

    /// Remove all that are empty.
    pub fn end(&mut self) {
        self.known.retain(|group| !background::leave_empty(group));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_has_its_turn() {
        let root = tempfile::tempdir().unwrap();
        let mut groups = Groups::default();
        let path = |n: usize| root.path().join(format!("{n:04}"));
        for n in 0..1000 {
            // Every second one is not empty.
            fs::create_dir_all(path(n).join(if n % 2 == 0 { "" } else { "in" })).unwrap();
            groups.insert(path(n));
        }
        for _ in 0..4 {
            groups.tick();
        }
        assert_eq!(groups.known.len(), 500);
        for n in 0..1000 {
            let _ = fs::remove_dir(path(n).join("in"));
        }
        for _ in 0..2 {
            groups.tick();
        }
        assert!(groups.known.is_empty());
        groups.tick();
    }
}
