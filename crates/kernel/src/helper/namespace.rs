//! Is the network namespace still anybody's?
//!
//! A helper's sockets keep their namespace alive, and with it its devices, so one
//! that stayed until its links are gone would stay for ever after `ip netns del`.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path, process};

/// Whether nothing but this process keeps the namespace: no other process lives in
/// it, and no mount names it.
pub(super) fn is_abandoned() -> io::Result<bool> {
    let ours = inode("/proc/self/ns/net")?;
    Ok(!is_initial() && !is_mounted(ours) && !has_others(ours)?)
}

/// Whether it is the host's own, which stays.
pub(super) fn is_initial() -> bool {
    let same = |ours| inode("/proc/1/ns/net").is_ok_and(|initial| initial == ours);
    inode("/proc/self/ns/net").is_ok_and(same)
}

fn inode(path: impl AsRef<Path>) -> io::Result<u64> {
    fs::metadata(path).map(|found| found.ino())
}

/// As `ip netns` keeps them: in the mounts of the host's first process, or in ours.
fn is_mounted(inode: u64) -> bool {
    let name = format!("net:[{inode}]");
    ["/proc/1/mountinfo", "/proc/self/mountinfo"]
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .any(|mounts| mounts.contains(&name))
}

fn has_others(inode_of_namespace: u64) -> io::Result<bool> {
    let ours = process::id().to_string();
    let lives_here = |entry: fs::DirEntry| {
        let is_process = |name: &str| name.starts_with(|first: char| first.is_ascii_digit());
        entry
            .file_name()
            .to_str()
            .is_some_and(|name| is_process(name) && name != ours)
            && inode(entry.path().join("ns/net")).is_ok_and(|found| found == inode_of_namespace)
    };
    Ok(fs::read_dir("/proc")?.flatten().any(lives_here))
}
