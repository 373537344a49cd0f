//! The queues of a device as sysfs shows them, and their limits.

use std::{
    fs,
    io::{self, ErrorKind},
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use super::Change;
use crate::error::Error;

/// What a transmit queue of a device may hold, and does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Queue {
    /// What the kernel's own limit never exceeds.
    pub limit_max_bytes: u32,
    /// The limit that the kernel has found to be enough.
    pub limit_bytes: u32,
    pub inflight_bytes: u32,
}

impl Queue {
    /// The driver tells the kernel what it sends. All queues have these files; of
    /// a driver that does not, the kernel never finds a limit.
    pub(crate) fn is_counted(&self) -> bool {
        self.limit_bytes > 0 || self.inflight_bytes > 0
    }
}

/// The devices of this network namespace.
pub(crate) struct Sysfs {
    root: PathBuf,
    /// Keeps the root in being.
    _mount: Option<OwnedFd>,
}

impl Sysfs {
    /// /sys may show another namespace's devices, and nothing tells. So mount it
    /// anew, where nobody sees it. Without the privilege there is none.
    pub(crate) fn mount() -> Option<Self> {
        let mount = detached_sysfs().ok()?;
        let root = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
        Some(Self {
            root,
            _mount: Some(mount),
        })
    }

    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            _mount: None,
        }
    }

    /// In the order of their numbers; empty if the device has no such limits.
    pub(crate) fn queues(&self, device: &str) -> Vec<Queue> {
        let read = |at| self.queue(device, at).ok();
        (0..).map_while(read).collect()
    }

    fn queue(&self, device: &str, at: usize) -> io::Result<Queue> {
        let dir = self.limits_of(device, at);
        Ok(Queue {
            limit_max_bytes: read_number(&dir.join("limit_max"))?,
            limit_bytes: read_number(&dir.join("limit"))?,
            inflight_bytes: read_number(&dir.join("inflight"))?,
        })
    }

    /// A queue that is gone needs no limit.
    pub(crate) fn change(&self, device: &str, changes: &[Change]) -> Result<(), Error> {
        for change in changes {
            let path = self.limits_of(device, change.queue).join("limit_max");
            match fs::write(&path, change.limit_bytes.to_string()) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::file(&path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn limits_of(&self, device: &str, queue: usize) -> PathBuf {
        let queues = self.root.join("class/net").join(device).join("queues");
        queues.join(format!("tx-{queue}/byte_queue_limits"))
    }
}

fn read_number(path: &Path) -> io::Result<u32> {
    let text = fs::read_to_string(path)?;
    text.trim()
        .parse()
        .map_err(|_| io::Error::from(ErrorKind::InvalidData))
}

/// A sysfs of this thread's network namespace that is mounted nowhere.
fn detached_sysfs() -> io::Result<OwnedFd> {
    const FSCONFIG_CMD_CREATE: libc::c_long = 6;
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: system calls on a terminated string and on descriptors that are
    // checked before they are owned.
    unsafe {
        let context = owned(libc::syscall(libc::SYS_fsopen, c"sysfs".as_ptr(), 0))?;
        let created = libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            FSCONFIG_CMD_CREATE,
            none,
            none,
            0,
        );
        if created < 0 {
            return Err(io::Error::last_os_error());
        }
        owned(libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), 0, 0))
    }
}

/// # Safety
/// A descriptor that is new, or an error.
unsafe fn owned(fd: libc::c_long) -> io::Result<OwnedFd> {
    match fd {
        // SAFETY: see above.
        0.. => Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_read_and_limited() {
        let root = tempfile::tempdir().unwrap();
        for queue in 0..2 {
            let dir = root.path().join(format!(
                "class/net/eth0/queues/tx-{queue}/byte_queue_limits"
            ));
            fs::create_dir_all(&dir).unwrap();
            for (name, text) in [
                ("limit_max", "5000\n"),
                ("limit", "0\n"),
                ("inflight", "7\n"),
            ] {
                fs::write(dir.join(name), text).unwrap();
            }
        }
        let sysfs = Sysfs::at(root.path());
        let found = Queue {
            limit_max_bytes: 5000,
            limit_bytes: 0,
            inflight_bytes: 7,
        };
        assert_eq!(sysfs.queues("eth0"), [found, found]);
        assert!(found.is_counted());
        assert_eq!(sysfs.queues("eth1"), []);

        let changes = [1, 2].map(|queue| Change {
            queue,
            limit_bytes: 1513,
        });
        sysfs.change("eth0", &changes).unwrap();
        let limits: Vec<u32> = sysfs
            .queues("eth0")
            .iter()
            .map(|q| q.limit_max_bytes)
            .collect();
        assert_eq!(limits, [5000, 1513]);
    }
}
