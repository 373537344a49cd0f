//! The network namespace of a pod, found by its processes: container runtimes put them in control
//! groups that are named after the pod. No runtime's own interface is needed.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    net::IpAddr,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
};

use nix::{
    ifaddrs::getifaddrs,
    sched::{CloneFlags, setns},
};

/// Processes of one pod that are tried; the first is nearly always the right one.
const TRIED_MAX: usize = 32;
const UID_BYTES: usize = 36;

/// A device in a network namespace.
pub struct Place {
    namespace: File,
    /// The device that has the pod's address.
    pub device: String,
}

/// The processes of each pod, by the pod's UID.
pub type Processes = BTreeMap<String, Vec<u32>>;

/// Reads the control groups of all processes.
pub fn processes(proc: &Path) -> io::Result<Processes> {
    let mut found = Processes::new();
    for entry in fs::read_dir(proc)? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if let Some(uid) = pod_of(proc, pid) {
            let of_pod = found.entry(uid).or_default();
            if of_pod.len() < TRIED_MAX {
                of_pod.push(pid);
            }
        }
    }
    Ok(found)
}

/// It may have ended meanwhile.
fn pod_of(proc: &Path, pid: u32) -> Option<String> {
    let groups = fs::read_to_string(proc.join(pid.to_string()).join("cgroup"));
    uid_in(&groups.ok()?)
}

/// The UID of the pod in the text of `/proc/PID/cgroup`: `…/podUID/…` with cgroupfs, and
/// `…-podU_I_D.slice/…` with systemd.
pub fn uid_in(groups: &str) -> Option<String> {
    let parts = groups.split(['/', '\n']);
    let mut uids = parts.filter_map(|part| {
        let part = part.strip_suffix(".slice").unwrap_or(part);
        let at = part.len().checked_sub(UID_BYTES)?;
        let (before, uid) = (part.get(..at)?, part.get(at..)?);
        let is_pod = before == "pod" || before.ends_with("-pod");
        let uid = uid.replace('_', "-");
        let is_uid = uid.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
        (is_pod && is_uid).then_some(uid)
    });
    // A cluster within a pod has pods of its own.
    uids.next_back()
}

/// The place of a pod's address, in the network namespace of one of these processes. `None`: it has
/// none yet.
pub fn find(proc: &Path, uid: &str, pids: &[u32], addresses: &[IpAddr]) -> Option<Place> {
    let own = inode(&proc.join("self/ns/net"));
    let mut tried = Vec::new();
    for pid in pids.iter().take(TRIED_MAX) {
        let path: PathBuf = proc.join(pid.to_string()).join("ns/net");
        let Ok(namespace) = File::open(&path) else {
            continue;
        };
        // The number may be another process's by now.
        if pod_of(proc, *pid).as_deref() != Some(uid) {
            continue;
        }
        let Ok(found) = namespace.metadata().map(|found| found.ino()) else {
            continue;
        };
        if Some(found) == own || tried.contains(&found) {
            continue;
        }
        tried.push(found);
        let device = within(&namespace, || device_of(addresses));
        if let Ok(Some(device)) = device {
            return Some(Place { namespace, device });
        }
    }
    None
}

fn inode(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|found| found.ino())
}

/// The device of this thread's network namespace that has one of these addresses.
fn device_of(addresses: &[IpAddr]) -> Option<String> {
    let own = getifaddrs().ok()?;
    own.into_iter().find_map(|own| {
        let address = own.address?;
        let v4 = address.as_sockaddr_in().map(|own| IpAddr::V4(own.ip()));
        let v6 = address.as_sockaddr_in6().map(|own| IpAddr::V6(own.ip()));
        let has = v4.or(v6).is_some_and(|own| addresses.contains(&own));
        has.then_some(own.interface_name)
    })
}

impl Place {
    /// What tells one network namespace from another.
    pub fn inode(&self) -> u64 {
        self.namespace.metadata().map_or(0, |found| found.ino())
    }

    /// Does something in the network namespace, in a thread that ends with it. Processes that it
    /// starts are there, too.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        within(&self.namespace, work)
    }
}

fn within<T: Send>(namespace: &File, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            setns(namespace, CloneFlags::CLONE_NEWNET)?;
            Ok(work())
        });
        worker
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "0a6d4e1c-9f3b-4c58-8a44-1f6f3a5b7c9d";

    #[test]
    fn pods_are_found_in_all_layouts() {
        let systemd = UID.replace('-', "_");
        let texts = [
            format!("0::/kubepods/burstable/pod{UID}/0123abcd\n"),
            format!(
                "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{systemd}.slice\
                 /cri-containerd-0123.scope\n"
            ),
            format!("0::/kubepods.slice/kubepods-pod{systemd}.slice/crio-0123.scope\n"),
            // Seen from a control group namespace of its own.
            format!("0::/../../kubepods-pod{systemd}.slice/cri-containerd-0123.scope\n"),
            // Version 1, and a control group within the container.
            format!("12:cpu:/kubepods/pod{UID}/0123/init\n11:memory:/kubepods/pod{UID}/0123\n"),
        ];
        for text in texts {
            assert_eq!(uid_in(&text).as_deref(), Some(UID), "{text}");
        }
        for text in [
            "0::/init.scope\n",
            "0::/system.slice/podman.service\n",
            "0::/kubepods/pod0a6d4e1c\n",
            "0::/kubepods/podzz6d4e1c-9f3b-4c58-8a44-1f6f3a5b7c9d/x\n",
            "0::/ü0a6d4e1c-9f3b-4c58-8a44-1f6f3a5b7c9d\n",
        ] {
            assert_eq!(uid_in(text), None, "{text}");
        }
    }

    #[test]
    fn processes_are_listed_by_pod() {
        let proc = tempfile::tempdir().unwrap();
        for (pid, group) in [
            ("7", format!("0::/kubepods/pod{UID}/a")),
            ("8", "0::/".into()),
        ] {
            fs::create_dir(proc.path().join(pid)).unwrap();
            fs::write(proc.path().join(pid).join("cgroup"), group).unwrap();
        }
        fs::create_dir(proc.path().join("self")).unwrap();
        let found = processes(proc.path()).unwrap();
        assert_eq!(found, Processes::from([(UID.to_owned(), vec![7])]));
    }
}
