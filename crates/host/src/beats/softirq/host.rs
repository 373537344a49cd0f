//! The settings of this host, and of one network namespace's devices.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use super::plan::{BATCH_SYSCTLS, Knob};
use crate::{
    beats::BeatsError,
    error::Error,
    os::{
        namespace,
        sysfs::{Sysfs, read_number},
    },
};

/// The files of this thread's network namespace.
const SYSCTLS: &str = "/proc/sys/net/core";

/// The bounds of batches are one for the host, and shown in its first network namespace alone.
/// Process 1 may be in another; the parent of the kernel's threads is not.
const MAYBE_INITIAL: [&str; 2] = [namespace::INITIAL, "/proc/2/ns/net"];

pub(super) struct Host {
    /// `None` without the privilege, or if the namespace is gone.
    devices: Option<Sysfs>,
    /// The network namespace that shows the bounds of batches; `None` if it cannot be entered.
    initial: Option<&'static Path>,
}

impl Host {
    /// With the devices of this thread's network namespace.
    pub(super) fn open() -> Self {
        Self {
            devices: Sysfs::mount(),
            initial: find_initial(),
        }
    }

    /// With the devices of that network namespace, if it can still be entered.
    pub(super) fn of(namespace: u64) -> Self {
        let mount = |path: PathBuf| namespace::within(&path, Sysfs::mount).ok().flatten();
        Self {
            devices: namespace::path_of(namespace).and_then(mount),
            initial: find_initial(),
        }
    }

    /// All settings that exist.
    pub(super) fn find(&self) -> BTreeMap<Knob, u32> {
        let mut found = self.initial.map_or_else(BTreeMap::new, read_sysctls);
        if let Some(sysfs) = &self.devices {
            let threaded = |name: String| {
                let device = sysfs.device(&name);
                let ifindex = read_number(&device.join("ifindex")).ok()?;
                let now = read_number(&device.join("threaded")).ok()?;
                Some((Knob::Threaded { ifindex, name }, now))
            };
            let names = sysfs.devices().unwrap_or_default();
            found.extend(names.into_iter().filter_map(threaded));
        }
        found
    }

    /// Change a setting, if it exists and still is `from`. Returns whether it did, or has the
    /// value already.
    pub(super) fn change(&self, knob: &Knob, from: u32, to: u32) -> Result<bool, Error> {
        let done = match knob {
            Knob::Threaded { ifindex, name } => {
                let Some(sysfs) = &self.devices else {
                    return Ok(false);
                };
                let device = sysfs.device(name);
                // Another device may have the name by now.
                if read_number(&device.join("ifindex")).is_ok_and(|index| index != *ifindex) {
                    return Ok(false);
                }
                change_file(&device.join("threaded"), from, to)
            }
            Knob::Sysctl(name) => {
                let Some(initial) = self.initial else {
                    return Ok(false);
                };
                let path = Path::new(SYSCTLS).join(name);
                namespace::within(initial, || change_file(&path, from, to)).unwrap_or_else(Err)
            }
        };
        match done {
            Err(error) if is_refusal(&error) => Ok(false),
            done => done.map_err(BeatsError::softirq_tiers(knob.to_string())),
        }
    }
}

fn find_initial() -> Option<&'static Path> {
    let shows = |path: &Path| !read_sysctls(path).is_empty();
    MAYBE_INITIAL
        .map(Path::new)
        .into_iter()
        .find(|path| shows(path))
}

fn read_sysctls(namespace: &Path) -> BTreeMap<Knob, u32> {
    let read = || {
        let value = |name: &str| {
            let value = read_number(&Path::new(SYSCTLS).join(name)).ok()?;
            Some((Knob::Sysctl(name.to_owned()), value))
        };
        BATCH_SYSCTLS.into_iter().filter_map(value).collect()
    };
    namespace::within(namespace, read).unwrap_or_default()
}

fn change_file(path: &Path, from: u32, to: u32) -> io::Result<bool> {
    let now = read_number(path)?;
    if now == from && from != to {
        fs::write(path, to.to_string())?;
    }
    Ok(now == from || now == to)
}

/// The device has no polls of its own, or is gone, or the change is forbidden.
fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::Unsupported
            | ErrorKind::InvalidInput
            | ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
    ) || error.raw_os_error() == Some(libc::ENODEV)
}

impl std::fmt::Display for Knob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Threaded { name, .. } => write!(f, "/sys/class/net/{name}/threaded"),
            Self::Sysctl(name) => write!(f, "{SYSCTLS}/{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(root: &Path) -> Host {
        Host {
            devices: Some(Sysfs::at(root)),
            initial: None,
        }
    }

    fn make(root: &Path, name: &str, ifindex: u32, threaded: u32) -> Knob {
        let device = root.join("class/net").join(name);
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("ifindex"), format!("{ifindex}\n")).unwrap();
        fs::write(device.join("threaded"), format!("{threaded}\n")).unwrap();
        Knob::Threaded {
            ifindex,
            name: name.to_owned(),
        }
    }

    #[test]
    fn devices_are_found_and_changed() {
        let root = tempfile::tempdir().unwrap();
        let host = host(root.path());
        let eth0 = make(root.path(), "eth0", 2, 0);
        let eth1 = make(root.path(), "eth1", 3, 1);
        let found = host.find();
        assert_eq!((found[&eth0], found[&eth1]), (0, 1));

        assert!(host.change(&eth0, 0, 1).unwrap());
        assert_eq!(host.find()[&eth0], 1);
        // It is so already.
        assert!(host.change(&eth1, 0, 1).unwrap());
    }

    #[test]
    fn what_is_not_as_it_was_left_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let host = host(root.path());
        let eth0 = make(root.path(), "eth0", 2, 2);
        assert!(!host.change(&eth0, 1, 0).unwrap());
        assert_eq!(host.find()[&eth0], 2);

        // Another device has its name now.
        make(root.path(), "eth0", 9, 1);
        assert!(!host.change(&eth0, 1, 0).unwrap());
        fs::remove_dir_all(root.path().join("class/net/eth0")).unwrap();
        assert!(!host.change(&eth0, 1, 0).unwrap());
    }
}
