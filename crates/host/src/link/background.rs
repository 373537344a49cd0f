//! The control groups of programs that run in the background.
//!
//! Such a group lies below the one that its programs were in: limits of that group still apply,
//! and ending it ends them. Background groups have a fixed name, wherever they lie, and their
//! parent shows where their programs came from.

use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    process,
};

use crate::{
    error::Error,
    link::LinkError,
    os::{OsError, cgroup},
};

pub(crate) const GROUP: &str = "takt-background";

const GROUP_MODE: u32 = 0o755;

/// Attempts to enter a group that another process finds empty and removes meanwhile.
const TRIES: u32 = 10;

const IOPRIO_WHO_PROCESS: libc::c_int = 1;
const IOPRIO_CLASS_IDLE: libc::c_int = 3;
const IOPRIO_CLASS_SHIFT: u32 = 13;

/// Move a process, with all its threads, into the background; returns its group.
pub fn join(pid: i32) -> Result<PathBuf, Error> {
    let refused = |reason: String| LinkError::NotMoved { pid, reason };
    let mount = cgroup::mount()?;
    let list = fs::read_to_string(format!("/proc/{pid}/cgroup"))
        .map_err(|error| refused(error.to_string()))?;
    let own = own_group(&list).map_err(|reason| refused(reason.to_owned()))?;
    let own = mount.join(own);
    // It is in the background already, by itself or by its parent.
    if own.iter().any(|name| name == GROUP) {
        return Ok(own);
    }
    let group = own.join(GROUP);
    for _ in 0..TRIES {
        match make_group(&group) {
            // Another process has made it, or removed it already.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists || is_gone(&error) => {}
            made => made.map_err(OsError::file(&group))?,
        }
        match fs::write(group.join("cgroup.procs"), pid.to_string()) {
            Ok(()) => return Ok(group),
            Err(error) if is_gone(&error) => {}
            Err(error) => {
                let _ = fs::remove_dir(&group);
                return Err(refused(error.to_string()).into());
            }
        }
    }
    Err(refused(format!("{} does not stay", group.display())).into())
}

/// Only its owner can change it, with any umask.
fn make_group(group: &Path) -> io::Result<()> {
    DirBuilder::new().mode(GROUP_MODE).create(group)?;
    fs::set_permissions(group, Permissions::from_mode(GROUP_MODE))
}

/// As [`join`], for this process.
pub fn join_self() -> Result<PathBuf, Error> {
    join(process::id() as i32)
}

/// Remove a group if it is empty. Returns whether it is gone.
pub fn leave_empty(group: &Path) -> bool {
    match fs::remove_dir(group) {
        Ok(()) => true,
        Err(error) => is_gone(&error),
    }
}

/// Remove all empty groups; returns the others.
pub fn sweep() -> Result<Vec<PathBuf>, Error> {
    let mut groups = find(&cgroup::mount()?);
    groups.retain(|group| !leave_empty(group));
    Ok(groups)
}

/// Move the programs of every group back to its parent, and remove the group.
pub(crate) fn dissolve() -> Result<(), Error> {
    // Without cgroup2 there are none.
    let Ok(mount) = cgroup::mount() else {
        return Ok(());
    };
    for group in find(&mount) {
        let above = group.parent().unwrap_or(&mount).join("cgroup.procs");
        let programs = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        for pid in programs.lines() {
            // A process that has ended meanwhile need not be moved.
            let _ = fs::write(&above, pid);
        }
        // A group with groups of its own is in use, and stays.
        leave_empty(&group);
    }
    Ok(())
}

/// Run, read and write only when no other program wants to.
pub fn be_idle() -> io::Result<()> {
    let nothing = libc::sched_param { sched_priority: 0 };
    let least = IOPRIO_CLASS_IDLE << IOPRIO_CLASS_SHIFT;
    // SAFETY: both change the calling thread, with arguments by value.
    unsafe {
        if libc::sched_setscheduler(0, libc::SCHED_IDLE, &nothing) != 0
            || libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, least) != 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The path of a process's group, without its first slash.
fn own_group(list: &str) -> Result<&str, &'static str> {
    let path = list
        .lines()
        .find_map(|line| line.strip_prefix("0::/"))
        .ok_or("it is in no group of cgroup2")?;
    if path.split('/').any(|name| name == "..") {
        return Err("its control group is outside of what can be seen from here");
    }
    if path.ends_with(" (deleted)") {
        return Err("its control group was taken away");
    }
    Ok(path)
}

/// Every group of that name, nested ones first.
fn find(mount: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![mount.to_owned()];
    while let Some(dir) = left.pop() {
        if dir.file_name().is_some_and(|name| name == GROUP) {
            found.push(dir.clone());
        }
        // A group that disappears meanwhile counts as empty.
        let Ok(entries) = fs::read_dir(&dir) else {
            continue;
        };
        let is_dir = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        left.extend(entries.flatten().filter(is_dir).map(|entry| entry.path()));
    }
    found.reverse();
    found
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOENT) | Some(libc::ENODEV)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_that_of_cgroup2() {
        assert_eq!(
            own_group("1:cpu:/a\n0::/user.slice/b\n"),
            Ok("user.slice/b")
        );
        assert_eq!(own_group("0::/\n"), Ok(""));
        assert!(own_group("1:cpu:/a\n").is_err());
        assert!(own_group("0::/../other\n").is_err());
        assert!(own_group("0::/a (deleted)\n").is_err());
    }

    #[test]
    fn groups_are_found_wherever_they_lie() {
        let root = tempfile::tempdir().unwrap();
        for path in [
            "a/takt-background/b/takt-background",
            "c",
            "takt-background",
        ] {
            fs::create_dir_all(root.path().join(path)).unwrap();
        }
        let mut found = find(root.path());
        assert_eq!(found.len(), 3);
        found.retain(|group| !leave_empty(group));
        // One of them contains a group that is not takt's.
        assert_eq!(found, [root.path().join("a/takt-background")]);
    }
}
