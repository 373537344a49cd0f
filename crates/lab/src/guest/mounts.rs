//! The file systems a lab machine has.

use std::fs;
use std::os::unix::fs::symlink;

use nix::mount::{MsFlags, mount};

use super::{Doing, Result};

struct FileSystem {
    kind: &'static str,
    at: &'static str,
}

const fn fs(kind: &'static str, at: &'static str) -> FileSystem {
    FileSystem { kind, at }
}

/// Needed before anything else can be done.
const EARLY: [FileSystem; 5] = [
    fs("proc", "/proc"),
    fs("devtmpfs", "/dev"),
    fs("tmpfs", "/tmp"),
    fs("tmpfs", "/run"),
    fs("tmpfs", "/lab"),
];

/// Mounted once the network exists: sysfs shows the devices of the network namespace that
/// mounted it, which has to be the command's.
const LATE: [FileSystem; 7] = [
    fs("sysfs", "/sys"),
    fs("bpf", "/sys/fs/bpf"),
    fs("cgroup2", "/sys/fs/cgroup"),
    fs("debugfs", "/sys/kernel/debug"),
    fs("tracefs", "/sys/kernel/tracing"),
    fs("devpts", "/dev/pts"),
    fs("tmpfs", "/dev/shm"),
];

pub fn early() -> Result<()> {
    mount_all(&EARLY)?;
    for (name, target) in [
        ("/dev/fd", "/proc/self/fd"),
        ("/dev/stdin", "/proc/self/fd/0"),
        ("/dev/stdout", "/proc/self/fd/1"),
        ("/dev/stderr", "/proc/self/fd/2"),
    ] {
        symlink(target, name).doing(|| format!("link {name}"))?;
    }
    Ok(())
}

pub fn late() -> Result<()> {
    mount_all(&LATE)
}

fn mount_all(file_systems: &[FileSystem]) -> Result<()> {
    for FileSystem { kind, at } in file_systems {
        // On sysfs the mount points exist and cannot be made.
        if !fs::exists(at).unwrap_or(false) {
            fs::create_dir_all(at).doing(|| format!("create {at}"))?;
        }
        mount(
            Some(*kind),
            *at,
            Some(*kind),
            MsFlags::empty(),
            None::<&str>,
        )
        .doing(|| format!("mount {kind} on {at}"))?;
    }
    Ok(())
}
