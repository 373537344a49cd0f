//! Whether this kernel processes packets in threads, or could.

use std::{
    fs,
    io::{self, ErrorKind},
};

use serde::Serialize;

use crate::os::sysfs::{Sysfs, read_number};

/// What handles packets of RPS and of devices without polls of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Backlog {
    /// A thread for each CPU.
    Threads,
    /// Interrupts, until the kernel is started with the argument `thread_backlog_napi`.
    Argument,
    /// Interrupts: the kernel is older than 6.10.
    Interrupts,
}

/// Whether a device's received packets are processed in threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceThreads {
    /// They are.
    Threads,
    /// They would be if takt set it.
    Able,
    /// It has no polls of its own at present: the backlog does it.
    Backlog,
    /// Unknown without privileges.
    Unknown,
}

/// Whether network processing goes after beats, or could.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NetworkThreads {
    /// The same on all CPUs.
    pub backlog: Backlog,
    /// Those of this network namespace, by name.
    pub devices: Vec<DeviceVerdict>,
}

/// A device, and what processes its packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceVerdict {
    /// Its name.
    pub device: String,
    /// Whether threads do.
    pub processes: DeviceThreads,
}

/// Nothing is changed by it.
pub(crate) fn examine() -> NetworkThreads {
    let sysfs = Sysfs::mount();
    let devices = sysfs.iter().flat_map(|sysfs| {
        let mut names = sysfs.devices().unwrap_or_default();
        names.sort_unstable();
        names
            .into_iter()
            .map(|device| DeviceVerdict {
                processes: ask(sysfs, &device).unwrap_or(DeviceThreads::Unknown),
                device,
            })
            .collect::<Vec<_>>()
    });
    NetworkThreads {
        devices: devices.collect(),
        backlog: if has_backlog_threads() {
            Backlog::Threads
        } else {
            without_threads(&crate::release())
        },
    }
}

/// Writing back the current value tells whether a device can.
fn ask(sysfs: &Sysfs, device: &str) -> io::Result<DeviceThreads> {
    let path = sysfs.device(device).join("threaded");
    match read_number(&path)? {
        0 => match fs::write(&path, "0") {
            Ok(()) => Ok(DeviceThreads::Able),
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok(DeviceThreads::Backlog),
            Err(error) => Err(error),
        },
        _ => Ok(DeviceThreads::Threads),
    }
}

fn has_backlog_threads() -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| fs::read_to_string(process.path().join("comm")).ok())
        .any(|name| name.starts_with("backlog_napi/"))
}

fn without_threads(release: &str) -> Backlog {
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= (6, 10) {
        Backlog::Argument
    } else {
        Backlog::Interrupts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backlogs_in_threads_came_with_6_10() {
        for (release, backlog) in [
            ("6.9.12", Backlog::Interrupts),
            ("6.10.0-rc1", Backlog::Argument),
            ("6.18.15+deb13-cloud-amd64", Backlog::Argument),
            ("7.3.4", Backlog::Argument),
            ("", Backlog::Interrupts),
        ] {
            assert_eq!(without_threads(release), backlog, "{release}");
        }
    }

    #[test]
    fn a_device_that_has_threads_is_not_asked() {
        let root = tempfile::tempdir().unwrap();
        let device = root.path().join("class/net/eth0");
        fs::create_dir_all(&device).unwrap();
        for (now, threads) in [("0", DeviceThreads::Able), ("1", DeviceThreads::Threads)] {
            fs::write(device.join("threaded"), now).unwrap();
            assert_eq!(ask(&Sysfs::at(root.path()), "eth0").unwrap(), threads);
        }
        assert!(ask(&Sysfs::at(root.path()), "eth1").is_err());
    }
}
