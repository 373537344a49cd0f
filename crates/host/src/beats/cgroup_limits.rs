//! Control groups that limit the processor time of their threads, or give them a share of it by
//! weight. The kernel's own scheduler does both, and has no ordinary threads while beats are loaded.
//! Takt's keeps limits where the kernel tells it of them, and no weights.

use std::{
    collections::VecDeque,
    fmt, fs,
    path::{Path, PathBuf},
};

use serde::Serialize;
use takt_policy::Beats;

use super::scheduler::keeps_cpu_max;
use crate::{beats::BeatsError, error::Error, os::cgroup};

/// More groups are not looked at.
const GROUPS_MAX: usize = 10_000;

/// A file of a group, and how to read it.
struct Setting {
    file: &'static str,
    /// What stands there in a new group.
    unlimited: &'static str,
    /// A limit, and no weight.
    is_limit: bool,
    is_set: fn(&str) -> bool,
}

/// Both versions' names: a group has those of its own version. `cpu.weight.nice` is the weight in
/// other units, and a group with `cpu.idle` has the weight 0.
const SETTINGS: [Setting; 4] = [
    Setting {
        file: "cpu.max",
        unlimited: "max",
        is_limit: true,
        is_set: |value| !value.starts_with("max"),
    },
    Setting {
        file: "cpu.weight",
        unlimited: "100",
        is_limit: false,
        is_set: |value| value != "100",
    },
    Setting {
        file: "cpu.cfs_quota_us",
        unlimited: "-1",
        is_limit: true,
        is_set: |value| value.parse().is_ok_and(|quota_us: i64| quota_us > 0),
    },
    Setting {
        file: "cpu.shares",
        unlimited: "1024",
        is_limit: false,
        is_set: |value| value != "1024",
    },
];

/// A setting of a control group that does not hold while beats are loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CgroupLimit {
    /// The group's path below the root of its hierarchy, with a first slash.
    pub group: String,
    /// The setting's file.
    pub setting: &'static str,
    /// What stands there.
    pub value: String,
    /// What stands there in a group without a limit.
    #[serde(skip)]
    pub(super) unlimited: &'static str,
}

impl fmt::Display for CgroupLimit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self {
            group,
            setting,
            value,
            ..
        } = self;
        write!(f, "control group {group} has {setting} = {value}")
    }
}

/// Refuse a policy with tasks on a host with such groups, unless the policy ignores them.
pub(crate) fn refuse_cgroup_limits(beats: Option<&Beats>) -> Result<(), Error> {
    if beats.is_none_or(|beats| beats.ignore_cgroup_limits) {
        return Ok(());
    }
    let mut found = ignored().into_iter();
    match found.next() {
        None => Ok(()),
        Some(first) => Err(BeatsError::CgroupLimits {
            first,
            others: found.count(),
        }
        .into()),
    }
}

/// All of this host that would not hold beside beats.
pub(crate) fn ignored() -> Vec<CgroupLimit> {
    let mounts = cgroup::cpu_mounts().into_iter();
    let weights_alone = keeps_cpu_max();
    let counts = |setting: &Setting| !(setting.is_limit && weights_alone);
    mounts
        .flat_map(|mount| found_below(&mount, GROUPS_MAX, counts))
        .collect()
}

/// Those of groups with threads, outer groups first. A group may go while it is looked at.
fn found_below(
    mount: &Path,
    groups_max: usize,
    counts: impl Fn(&Setting) -> bool,
) -> Vec<CgroupLimit> {
    let mut found = Vec::new();
    let mut groups = VecDeque::from([mount.to_owned()]);
    let mut seen = 1;
    while let Some(group) = groups.pop_front() {
        // Neither are there any in the groups below.
        if says_unpopulated(&group) == Some(true) {
            continue;
        }
        let mut limits = limits_of(&group, mount, &counts).peekable();
        if limits.peek().is_some() && has_threads(&group) {
            found.extend(limits);
        }
        let below = children(&group).into_iter().take(groups_max - seen);
        groups.extend(below.inspect(|_| seen += 1));
    }
    found
}

fn limits_of(
    group: &Path,
    mount: &Path,
    counts: impl Fn(&Setting) -> bool,
) -> impl Iterator<Item = CgroupLimit> {
    let settings = SETTINGS.iter().filter(move |setting| counts(setting));
    settings.filter_map(move |setting| {
        let value = fs::read_to_string(group.join(setting.file)).ok()?;
        let value = value.trim();
        let path = group.strip_prefix(mount).ok()?;
        (setting.is_set)(value).then(|| CgroupLimit {
            group: format!("/{}", path.display()),
            setting: setting.file,
            value: value.to_owned(),
            unlimited: setting.unlimited,
        })
    })
}

/// What a group of version 2 says of itself and all groups below; other groups say nothing.
fn says_unpopulated(group: &Path) -> Option<bool> {
    let events = fs::read_to_string(group.join("cgroup.events")).ok()?;
    Some(events.lines().any(|line| line == "populated 0"))
}

/// Whether the group has threads, or one below it.
fn has_threads(group: &Path) -> bool {
    if let Some(is_unpopulated) = says_unpopulated(group) {
        return !is_unpopulated;
    }
    let own = fs::read_to_string(group.join("tasks"));
    own.is_ok_and(|tids| !tids.is_empty()) || children(group).iter().any(|below| has_threads(below))
}

/// The groups directly below, by name.
fn children(group: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(group) else {
        return Vec::new();
    };
    let is_group = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let groups = entries.flatten().filter(is_group);
    let mut groups: Vec<_> = groups.map(|entry| entry.path()).collect();
    groups.sort_unstable();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group with these files.
    fn group(root: &Path, name: &str, files: &[(&str, &str)]) {
        let group = root.join(name);
        fs::create_dir_all(&group).unwrap();
        for (file, text) in files {
            fs::write(group.join(file), text).unwrap();
        }
    }

    /// What is said of each.
    fn found(root: &Path, groups_max: usize) -> Vec<String> {
        let limits = found_below(root, groups_max, |_| true).into_iter();
        limits.map(|limit| limit.to_string()).collect()
    }

    const POPULATED: (&str, &str) = ("cgroup.events", "populated 1\nfrozen 0\n");
    const EMPTY: (&str, &str) = ("cgroup.events", "populated 0\nfrozen 0\n");

    #[test]
    fn limits_of_groups_with_threads_are_found() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let max = ("cpu.max", "max 100000\n");
        let limited = ("cpu.max", "20000 100000\n");
        group(root, "plain", &[POPULATED, max, ("cpu.weight", "100\n")]);
        group(root, "a", &[POPULATED, limited, ("cpu.weight", "100\n")]);
        group(root, "a/b", &[POPULATED, max, ("cpu.weight", "30\n")]);
        group(root, "a/empty", &[EMPTY, limited]);
        group(root, "empty", &[EMPTY, limited]);
        group(root, "idle", &[POPULATED, max, ("cpu.weight", "0\n")]);
        assert_eq!(
            found(root, GROUPS_MAX),
            [
                "control group /a has cpu.max = 20000 100000",
                "control group /idle has cpu.weight = 0",
                "control group /a/b has cpu.weight = 30",
            ]
        );
    }

    #[test]
    fn limits_that_hold_are_not() {
        let root = tempfile::tempdir().unwrap();
        let limited = ("cpu.max", "20000 100000\n");
        group(root.path(), "a", &[POPULATED, limited]);
        group(
            root.path(),
            "b",
            &[POPULATED, limited, ("cpu.weight", "30\n")],
        );
        let found = found_below(root.path(), GROUPS_MAX, |setting| !setting.is_limit);
        let found: Vec<_> = found.into_iter().map(|limit| limit.to_string()).collect();
        assert_eq!(found, ["control group /b has cpu.weight = 30"]);
    }

    #[test]
    fn likewise_in_the_first_version() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let (quota, none) = (("cpu.cfs_quota_us", "20000\n"), ("tasks", ""));
        group(root, "", &[("cpu.shares", "1024\n"), ("tasks", "1\n")]);
        group(root, "a", &[quota, ("cpu.shares", "1024\n"), none]);
        group(
            root,
            "a/b",
            &[("cpu.cfs_quota_us", "-1\n"), ("tasks", "7\n")],
        );
        group(root, "empty", &[quota, none]);
        group(root, "empty/empty", &[("cpu.shares", "2\n"), none]);
        group(root, "shares", &[("cpu.shares", "2\n"), ("tasks", "8\n")]);
        assert_eq!(
            found(root, GROUPS_MAX),
            [
                "control group /a has cpu.cfs_quota_us = 20000",
                "control group /shares has cpu.shares = 2",
            ]
        );
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_root() {
        let root = tempfile::tempdir().unwrap();
        let files = [POPULATED, ("cpu.max", "50000 100000\n")];
        group(root.path(), "", &files);
        let expected = ["control group / has cpu.max = 50000 100000"];
        assert_eq!(found(root.path(), GROUPS_MAX), expected);
    }

    #[test]
    fn no_more_groups_than_so_many_are_looked_at() {
        let root = tempfile::tempdir().unwrap();
        for name in ["a", "a/a", "b", "c"] {
            group(root.path(), name, &[POPULATED, ("cpu.weight", "1\n")]);
        }
        assert_eq!(found(root.path(), 1).len(), 0);
        assert_eq!(found(root.path(), 3).len(), 2);
        assert_eq!(found(root.path(), 5).len(), 4);
    }

    #[test]
    fn what_is_gone_has_no_limits() {
        assert!(found(Path::new("/nowhere"), GROUPS_MAX).is_empty());
    }
}
