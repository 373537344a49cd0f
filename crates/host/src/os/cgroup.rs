//! The control groups that programs attach to.

use std::{
    fs::{self, File},
    path::PathBuf,
};

use crate::{error::Error, os::OsError};

/// Where to look, and the prefix of the paths found there. `ip netns exec` hides /sys behind a
/// new one; process 1 still sees it.
const MOUNTS: [(&str, &str); 2] = [
    ("/proc/self/mountinfo", "/"),
    ("/proc/1/mountinfo", "/proc/1/root"),
];

/// The root of cgroup2, opened.
pub(crate) fn root() -> Result<File, Error> {
    let mount = mount()?;
    File::open(&mount).map_err(OsError::file(mount))
}

/// Where the whole of cgroup2 is mounted.
pub(crate) fn mount() -> Result<PathBuf, Error> {
    MOUNTS
        .into_iter()
        .filter_map(|(list, before)| {
            let mounts = fs::read_to_string(list).ok()?;
            let point = mounts.lines().find_map(cgroup2_mount)?;
            let mount = PathBuf::from(before).join(point);
            mount.is_dir().then_some(mount)
        })
        .next()
        .ok_or(OsError::NoCgroup2.into())
}

/// Where hierarchies of control groups with processor time are mounted: cgroup2 and, on hosts that
/// have it, cgroup v1 with the controller `cpu`.
pub(crate) fn cpu_mounts() -> Vec<PathBuf> {
    let found = MOUNTS.into_iter().map(|(list, before)| {
        let mounts = fs::read_to_string(list).unwrap_or_default();
        let points = [cgroup2_mount, cpu_mount].map(|kind| mounts.lines().find_map(kind));
        let mounts = points.into_iter().flatten();
        let mounts = mounts.map(|point| PathBuf::from(before).join(point));
        mounts.filter(|mount| mount.is_dir()).collect::<Vec<_>>()
    });
    found
        .into_iter()
        .find(|mounts| !mounts.is_empty())
        .unwrap_or_default()
}

/// The mount point that a line of `mountinfo` names, without its first slash,
/// if it is one of the whole of cgroup2.
fn cgroup2_mount(line: &str) -> Option<&str> {
    let (point, filesystem) = whole_mount(line)?;
    filesystem.starts_with("cgroup2 ").then_some(point)
}

/// Likewise of the whole hierarchy of cgroup v1 that has the controller `cpu`.
fn cpu_mount(line: &str) -> Option<&str> {
    let (point, filesystem) = whole_mount(line)?;
    let options = filesystem.strip_prefix("cgroup ")?.rsplit(' ').next()?;
    options
        .split(',')
        .any(|option| option == "cpu")
        .then_some(point)
}

/// The mount point without its first slash, and the file system with its options.
fn whole_mount(line: &str) -> Option<(&str, &str)> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut fields = mount.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    let point = point.strip_prefix('/').filter(|_| root == "/")?;
    Some((point, filesystem))
}

#[cfg(test)]
mod tests {
    use super::{cgroup2_mount, cpu_mount};

    #[test]
    fn a_mount_of_the_whole_of_cgroup2() {
        let mount = |line| cgroup2_mount(line);
        assert_eq!(
            mount("30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw"),
            Some("sys/fs/cgroup")
        );
        for other in [
            "31 30 0:26 /user.slice /mnt rw - cgroup2 none rw",
            "32 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu",
            "33 23 0:28 / / rw - ext4 /dev/sda rw",
            "",
        ] {
            assert_eq!(mount(other), None, "{other}");
        }
    }

    #[test]
    fn a_mount_of_the_first_version_with_processor_time() {
        for (line, expected) in [
            (
                "32 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct",
                Some("sys/fs/cgroup/cpu,cpuacct"),
            ),
            (
                "33 23 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset",
                None,
            ),
            ("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", None),
        ] {
            assert_eq!(cpu_mount(line), expected, "{line}");
        }
    }
}
