//! Ids in the kernel's tables, allocated by name.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Ids from 1 on, by name. A name that stays keeps its id. A free id is not used again while there
/// are unused ones, so that a new name inherits neither packets nor counters of a removed one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ids {
    by_name: BTreeMap<String, u32>,
    /// Ids of removed names, oldest first.
    left: Vec<u32>,
}

impl Ids {
    pub fn get(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.by_name.iter().map(|(name, id)| (name.as_str(), *id))
    }

    pub fn left(&self) -> impl Iterator<Item = u32> {
        self.left.iter().copied()
    }

    /// The ids of the next names, all of them below `end`. There are fewer names than ids.
    pub fn assign<'a>(&self, names: impl Iterator<Item = &'a str>, end: u32) -> Self {
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
        let mut untouched = (1..end).filter(|id| !taken.contains(id));
        let mut reused = 0;
        let mut by_name = BTreeMap::new();
        for name in names {
            let id = self
                .get(name)
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

    const END: u32 = 4096;

    fn assign(before: &Ids, names: &[&str]) -> Ids {
        before.assign(names.iter().copied(), END)
    }

    #[test]
    fn names_keep_their_places_and_newcomers_get_untouched_ones() {
        let first = assign(&Ids::default(), &["a", "b"]);
        let second = assign(&first, &["b", "c"]);
        assert_eq!(second.get("b"), first.get("b"));
        assert_eq!(second.get("c"), Some(3));
        assert_eq!(second.left().collect::<Vec<_>>(), [1]);
        assert_eq!(assign(&second, &["a"]).get("a"), Some(4));
    }

    #[test]
    fn the_oldest_place_is_reused_when_all_were_handed_out() {
        let many: Vec<String> = (0..END - 1).map(|n| format!("c{n:04}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        let full = assign(&Ids::default(), &names);
        let next = assign(&full, &["new"]);
        assert_eq!(next.get("new"), Some(1));
        assert_eq!(next.left().count(), names.len() - 1);
        assert!(next.left().all(|id| id != 1));
    }
}
