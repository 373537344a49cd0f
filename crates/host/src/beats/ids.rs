//! The kernel's numbers of tasks, and the indices of their members. A task that stays keeps
//! both, and with them its threads and counters.

use std::{collections::BTreeMap, ops::Range};

use serde::{Deserialize, Serialize};
use takt_algo::sys::{TAKT_MEMBERS, TAKT_TASKS};
use takt_policy::Task;

/// A task's number, and the consecutive indices of its members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Numbers {
    pub id: u32,
    pub first_member: u32,
    pub members: Vec<String>,
}

impl Numbers {
    /// Its members' indices.
    pub fn indices(&self) -> Range<u32> {
        self.first_member..self.first_member + self.members.len() as u32
    }
}

/// By the tasks' names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskIds(pub BTreeMap<String, Numbers>);

impl TaskIds {
    /// Numbers for these tasks; a task that stays keeps its own. `None` if there are not
    /// enough.
    pub fn assign(&self, tasks: &[Task]) -> Option<Self> {
        // Tasks that left keep their numbers for one more generation, unless they are needed.
        self.assign_beside(tasks, self)
            .or_else(|| self.assign_beside(tasks, &Self::default()))
    }

    fn assign_beside(&self, tasks: &[Task], left: &Self) -> Option<Self> {
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
            let taken = || left.0.values().chain(next.values());
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

    /// Tasks of `before` that are not here, or not with the same numbers.
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

    #[test]
    fn numbers_of_what_has_left_are_had_if_they_are_needed() {
        let sixteen: Vec<String> = (0..16).map(|member| member.to_string()).collect();
        let sixteen: Vec<&str> = sixteen.iter().map(String::as_str).collect();
        let group = |at: u32| task(&format!("group-{at}"), &sixteen);
        let full: Vec<Task> = (0..TAKT_MEMBERS / 16).map(group).collect();
        let before = TaskIds::default().assign(&full).expect("room");
        let mut next = full.clone();
        next[7] = task("new", &sixteen);
        let after = before.assign(&next).expect("those of what has left");
        assert_eq!(after.0["new"].indices(), before.0["group-7"].indices());
        assert_eq!(after.0["group-15"], before.0["group-15"]);
        next.push(task("more", &["one"]));
        assert_eq!(before.assign(&next), None);
    }
}
