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

/// The mount point that a line of `mountinfo` names, without its first slash,
/// if it is one of the whole of cgroup2.
fn cgroup2_mount(line: &str) -> Option<&str> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut fields = mount.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    (root == "/" && filesystem.starts_with("cgroup2 "))
        .then(|| point.strip_prefix('/'))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::cgroup2_mount;

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
}
