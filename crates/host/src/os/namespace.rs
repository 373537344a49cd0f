//! Network namespaces: identifying them, and entering another one.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process, thread,
};

use nix::sched::{CloneFlags, setns, unshare};

use crate::{
    error::Error,
    os::{OsError, netlink::Netlink},
};

/// The initial one, if process 1 is the host's.
pub(crate) const INITIAL: &str = "/proc/1/ns/net";

pub(crate) const OWN: &str = "/proc/thread-self/ns/net";

/// The mounts of process 1 and ours, and what is before their points.
const LISTS: [(&str, &str); 2] = [
    ("/proc/1/mountinfo", "/proc/1/root"),
    ("/proc/self/mountinfo", "/"),
];

/// Whether only this process keeps the namespace: no other process lives in it, and no mount
/// names it. A helper's sockets keep their namespace alive, and with it its devices, so a
/// helper that stayed until its links are gone would stay for ever after `ip netns del`.
pub(crate) fn is_abandoned() -> io::Result<bool> {
    let ours = own()?;
    Ok(!is_initial() && mount_of(ours).is_none() && process_in(ours)?.is_none())
}

/// Whether it is the host's initial one, which stays.
pub(crate) fn is_initial() -> bool {
    let same = |ours| inode(INITIAL).is_ok_and(|initial| initial == ours);
    own().is_ok_and(same)
}

/// The number of this thread's namespace, unique as long as that lives.
pub(crate) fn own() -> io::Result<u64> {
    inode(OWN)
}

/// The kernel's cookie of this thread's namespace, which is never reused.
pub(crate) fn netns_cookie() -> Result<u64, Error> {
    Netlink::open()
        .and_then(|netlink| netlink.netns_cookie())
        .map_err(OsError::netlink("identifying the namespace"))
}

/// Whether nothing shows the namespace of this number and cookie any more. The kernel reuses
/// the numbers of namespaces that are gone.
pub(crate) fn is_gone(inode: u64, cookie: u64) -> bool {
    path_of(inode).is_none_or(|path| {
        let found = within(&path, netns_cookie);
        matches!(found, Ok(Ok(found)) if found != cookie)
    })
}

/// The cookies of all living namespaces.
pub(crate) fn living() -> BTreeSet<u64> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_processes = processes.map(|process| process.path().join("ns/net"));
    let mounted = LISTS.into_iter().flat_map(|(list, before)| {
        let mounts = fs::read_to_string(list).unwrap_or_default();
        let points = mounts.lines().filter(|line| line.contains(" net:["));
        points
            .filter_map(|line| line.split(' ').nth(4)?.strip_prefix('/'))
            .map(|point| Path::new(before).join(point))
            .collect::<Vec<_>>()
    });
    let mut known = BTreeSet::new();
    of_processes
        .chain(mounted)
        .filter(|path| inode(path).is_ok_and(|inode| known.insert(inode)))
        .filter_map(|path| within(&path, netns_cookie).ok()?.ok())
        .collect()
}

/// The file for entering a living namespace, if there is one.
pub(crate) fn path_of(inode: u64) -> Option<PathBuf> {
    if own().is_ok_and(|own| own == inode) {
        return Some(PathBuf::from(OWN));
    }
    mount_of(inode).or_else(|| process_in(inode).ok().flatten())
}

/// Run `work` in the namespace of that file, on a thread of its own.
pub(crate) fn within<T: Send>(path: &Path, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let namespace = File::open(path)?;
    after(|| setns(namespace, CloneFlags::CLONE_NEWNET), work)
}

/// Run `work` in a new namespace, which is gone with all its devices when it ends, however this
/// process ends.
pub(crate) fn within_new<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    after(|| unshare(CloneFlags::CLONE_NEWNET), work)
}

/// Run `work` in the namespace that is entered first, on a thread of its own.
fn after<T: Send>(
    enter: impl FnOnce() -> nix::Result<()> + Send,
    work: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            enter()?;
            Ok(work())
        });
        inside
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn inode(path: impl AsRef<Path>) -> io::Result<u64> {
    fs::metadata(path).map(|found| found.ino())
}

/// As `ip netns` keeps them: in the mounts of process 1, or in ours.
fn mount_of(inode: u64) -> Option<PathBuf> {
    let root = format!("net:[{inode}]");
    LISTS.into_iter().find_map(|(list, before)| {
        let mounts = fs::read_to_string(list).ok()?;
        let point = mounts.lines().find_map(|line| point_of(line, &root))?;
        Some(Path::new(before).join(point))
    })
}

/// The mount point that a line of `mountinfo` names, without its first slash, if
/// `root` is what is mounted.
fn point_of<'a>(line: &'a str, root: &str) -> Option<&'a str> {
    let mut fields = line.split(' ').skip(3);
    (fields.next()? == root).then(|| fields.next()?.strip_prefix('/'))?
}

/// Of another process that lives in it.
fn process_in(inode_of_namespace: u64) -> io::Result<Option<PathBuf>> {
    let ours = process::id().to_string();
    let lives_there = |entry: fs::DirEntry| {
        let is_process = |name: &str| name.starts_with(|first: char| first.is_ascii_digit());
        let is_other = entry
            .file_name()
            .to_str()
            .is_some_and(|name| is_process(name) && name != ours);
        let namespace = entry.path().join("ns/net");
        let is_it = is_other && inode(&namespace).is_ok_and(|found| found == inode_of_namespace);
        is_it.then_some(namespace)
    };
    Ok(fs::read_dir("/proc")?.flatten().find_map(lives_there))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_of_a_namespace() {
        let line = "67 24 0:4 net:[4026532243] /run/netns/a rw shared:3 - nsfs nsfs rw";
        assert_eq!(point_of(line, "net:[4026532243]"), Some("run/netns/a"));
        assert_eq!(point_of(line, "net:[402653224]"), None);
        assert_eq!(point_of("", "net:[4026532243]"), None);
    }

    #[test]
    fn the_own_namespace_is_found() {
        let own = own().unwrap();
        assert_eq!(path_of(own), Some(PathBuf::from(OWN)));
        assert_eq!(path_of(1), None);
        assert!(is_gone(1, 1));
    }
}
