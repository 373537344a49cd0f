//! Which task has which number in the kernel, and its members which places. What stays
//! keeps both, and with them its threads and counters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use takt_algo::sys::{TAKT_MEMBERS, TAKT_TASKS};
use takt_policy::Task;

/// A task's number, and the places of its members, which lie one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Numbers {
    pub id: u32,
    pub first_member: u32,
    pub members: Vec<String>,
}

/// By the tasks' names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskIds(pub BTreeMap<String, Numbers>);

impl TaskIds {
    /// Numbers for these tasks. `None` if there are not enough: what leaves keeps its
    /// numbers until the next time.
    pub fn assign(&self, tasks: &[Task]) -> Option<Self> {
        let mut next = BTreeMap::new();
        for task in tasks {
            let members: Vec<String> = task.members.iter().map(|m| m.name.clone()).collect();
            let stays = self.0.get(&task.name).filter(|old| old.members == members);
            if let Some(numbers) = stays {
                next.insert(task.name.clone(), numbers.clone());
            }
        }
        for task in tasks {
            if next.contains_key(&task.name) {
                continue;
            }
            let taken = || self.0.values().chain(next.values());
            let id = (0..TAKT_TASKS).find(|id| taken().all(|other| other.id != *id))?;
            let count = task.members.len() as u32;
            let fits = |first: &u32| {
                taken().all(|other| {
                    let end = other.first_member + other.members.len() as u32;
                    end <= *first || first + count <= other.first_member
                })
            };
            let first_member = (0..=TAKT_MEMBERS.checked_sub(count)?).find(fits)?;
            let numbers = Numbers {
                id,
                first_member,
                members: task.members.iter().map(|m| m.name.clone()).collect(),
            };
            next.insert(task.name.clone(), numbers);
        }
        Some(Self(next))
    }

    /// Those of `before` that are not here, or not with the same numbers.
    pub fn gone<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a Numbers> {
        before
            .0
            .iter()
            .filter(|(name, numbers)| self.0.get(*name) != Some(numbers))
            .map(|(_, numbers)| numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, members: &[&str]) -> Task {
        let text = format!(
            "[[task]]\nname = \"{name}\"\nperiod = \"40ms\"\nbudget = \"1ms\"\nmembers = {members:?}\n"
        );
        let policy = takt_policy::parse("test", &text).expect("a policy");
        policy.beats.expect("beats").tasks.remove(0)
    }

    #[test]
    fn what_stays_keeps_its_numbers() {
        let (a, b, c) = (
            task("a", &["a1", "a2"]),
            task("b", &["b1"]),
            task("c", &["c1"]),
        );
        let before = TaskIds::default()
            .assign(&[a.clone(), b.clone()])
            .expect("room");
        let after = before.assign(&[c, b]).expect("room");
        assert_eq!(after.0["b"], before.0["b"]);
        let c = &after.0["c"];
        assert!(before.0.values().all(|old| old.id != c.id));
        assert_eq!(c.first_member, 3);
        assert_eq!(after.gone(&before).collect::<Vec<_>>(), [&before.0["a"]]);
    }

    #[test]
    fn other_members_are_another_task() {
        let before = TaskIds::default()
            .assign(&[task("a", &["x", "y"])])
            .expect("room");
        let after = before.assign(&[task("a", &["y", "x"])]).expect("room");
        assert_ne!(after.0["a"].id, before.0["a"].id);
    }
}
