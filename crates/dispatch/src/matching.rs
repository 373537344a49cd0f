//! Which thread a task is for. Decisions only.

use takt_policy::{Task, ThreadMatch};

/// A thread, as rules see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub pid: i32,
    pub tid: i32,
    pub uid: u32,
    /// The thread's own name, and that of its process's first thread.
    pub thread: String,
    pub command: String,
    /// The path in cgroup2, without the leading slash.
    pub cgroup: String,
    /// With the number, it tells a thread from a later one of the same number.
    pub started: u64,
}

pub fn holds(rule: &ThreadMatch, seen: &Seen) -> bool {
    let has_thread = match &rule.thread {
        Some(name) => *name == seen.thread,
        None => seen.pid == seen.tid,
    };
    let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|w| w == found);
    let below = |wanted: &String| {
        seen.cgroup
            .strip_prefix(wanted.trim_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let in_unit = |unit: &String| seen.cgroup.split('/').any(|name| name == unit);
    has_thread
        && is(&rule.command, &seen.command)
        && rule.cgroup.as_ref().is_none_or(below)
        && rule.unit.as_ref().is_none_or(in_unit)
}

/// For each thread the first task that is for it and has none. `has` says of each task whether it
/// has a thread.
pub fn assign(tasks: &[Task], has: &[bool], seen: Vec<Seen>) -> Vec<(usize, Seen)> {
    let mut has = has.to_vec();
    let mut assigned = Vec::new();
    for thread in seen {
        let is_for = |at: &usize| {
            let member = tasks[*at].members.first();
            !has[*at] && member.is_some_and(|member| holds(&member.matches, &thread))
        };
        if let Some(at) = (0..tasks.len()).find(is_for) {
            has[at] = true;
            assigned.push((at, thread));
        }
    }
    assigned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Seen {
        Seen {
            pid: 7,
            tid: 9,
            uid: 0,
            thread: "driver".into(),
            command: "jackd".into(),
            cgroup: "system.slice/jack.service/sound".into(),
            started: 1,
        }
    }

    fn rule(text: &str) -> ThreadMatch {
        let policy = format!(
            "[[task]]\nname = \"t\"\nperiod = \"10ms\"\nbudget = \"1ms\"\nmatch = {{ {text} }}\n"
        );
        let policy = takt_policy::parse("policy.toml", &policy).expect("a policy");
        policy.beats.unwrap().tasks[0].members[0].matches.clone()
    }

    #[test]
    fn all_keys_have_to_hold() {
        for text in [
            "thread = \"driver\"",
            "thread = \"driver\", command = \"jackd\"",
            "thread = \"driver\", cgroup = \"system.slice\"",
            "thread = \"driver\", cgroup = \"system.slice/jack.service/sound\"",
            "thread = \"driver\", unit = \"jack.service\"",
        ] {
            assert!(holds(&rule(text), &seen()), "{text}");
        }
        for text in [
            "thread = \"drive\"",
            "thread = \"driver\", command = \"jack\"",
            "thread = \"driver\", cgroup = \"system\"",
            "thread = \"driver\", unit = \"sound.service\"",
            // The first thread of a process, which this is not.
            "command = \"jackd\"",
        ] {
            assert!(!holds(&rule(text), &seen()), "{text}");
        }
        let first = Seen { tid: 7, ..seen() };
        assert!(holds(&rule("command = \"jackd\""), &first));
    }

    #[test]
    fn threads_take_the_first_task_that_is_left() {
        let task = |name| {
            format!(
                "[[task]]\nname = \"{name}\"\nperiod = \"10ms\"\nbudget = \"1ms\"\n\
                 match = {{ thread = \"driver\", command = \"{name}\" }}\n"
            )
        };
        let text = format!("{}{}", task("jackd"), task("other"));
        let tasks = takt_policy::parse("policy.toml", &text)
            .unwrap()
            .beats
            .unwrap()
            .tasks;
        let others = Seen {
            tid: 10,
            command: "other".into(),
            ..seen()
        };
        let third = Seen { tid: 11, ..seen() };
        let assigned = assign(&tasks, &[false, false], vec![others, seen(), third.clone()]);
        let numbers: Vec<_> = assigned.iter().map(|(at, seen)| (*at, seen.tid)).collect();
        assert_eq!(numbers, [(1, 10), (0, 9)]);
        assert!(assign(&tasks, &[true, false], vec![third]).is_empty());
    }
}
