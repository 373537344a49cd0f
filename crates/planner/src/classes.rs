//! Which class has which place in the kernel's tables.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use takt_algo::sys::TAKT_CLASSES;

/// Class ids, by name. A name that stays keeps its id; an id that becomes free
/// is left alone as long as there are untouched ones, so that a new class
/// neither inherits the packets nor the counters of one that left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassIds {
    by_name: BTreeMap<String, u32>,
    /// Ids of classes that left, oldest first.
    left: Vec<u32>,
}

impl ClassIds {
    pub fn id(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// Names and ids, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.by_name.iter().map(|(name, id)| (name.as_str(), *id))
    }

    /// Ids of classes that left and may still have packets queued.
    pub fn leaving(&self) -> impl Iterator<Item = u32> {
        self.left.iter().copied()
    }

    /// The ids of the next policy's classes. The policy has fewer classes than
    /// there are ids.
    pub(crate) fn assign<'a>(&self, names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.collect();
        let staying: BTreeSet<&str> = names.iter().copied().collect();
        let mut left = self.left.clone();
        left.extend(
            self.by_name
                .iter()
                .filter(|(name, _)| !staying.contains(name.as_str()))
                .map(|(_, id)| *id),
        );

        let taken: BTreeSet<u32> = self.by_name.values().chain(&left).copied().collect();
        let mut untouched = (1..TAKT_CLASSES).filter(|id| !taken.contains(id));
        let mut reused = 0;
        let mut by_name = BTreeMap::new();
        for name in names {
            let id = self
                .id(name)
                .or_else(|| untouched.next())
                .unwrap_or_else(|| {
                    reused += 1;
                    left[reused - 1]
                });
            by_name.insert(name.to_owned(), id);
        }
        left.drain(..reused);
        Self { by_name, left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assign(before: &ClassIds, names: &[&str]) -> ClassIds {
        before.assign(names.iter().copied())
    }

    #[test]
    fn names_keep_their_ids_and_newcomers_get_untouched_ones() {
        let first = assign(&ClassIds::default(), &["a", "b"]);
        let second = assign(&first, &["b", "c"]);
        assert_eq!(second.id("b"), first.id("b"));
        assert_eq!(second.id("c"), Some(3));
        assert_eq!(second.leaving().collect::<Vec<_>>(), [1]);
        assert_eq!(assign(&second, &["a"]).id("a"), Some(4));
    }

    #[test]
    fn the_oldest_id_is_reused_when_all_were_handed_out() {
        let many: Vec<String> = (0..TAKT_CLASSES - 1).map(|n| format!("c{n:04}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        let full = assign(&ClassIds::default(), &names);
        let next = assign(&full, &["new"]);
        assert_eq!(next.id("new"), Some(1));
        assert_eq!(next.leaving().count(), names.len() - 1);
        assert!(next.leaving().all(|id| id != 1));
    }
}
