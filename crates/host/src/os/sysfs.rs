//! The devices of a network namespace, as sysfs shows them.

use std::{
    fs,
    io::{self, ErrorKind},
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    path::{Path, PathBuf},
};

/// The devices of one network namespace.
pub(crate) struct Sysfs {
    root: PathBuf,
    /// Keeps the root alive.
    _mount: Option<OwnedFd>,
}

impl Sysfs {
    /// Those of this thread's namespace. /sys may show another namespace's devices, without a
    /// way to tell. So mount a new sysfs, detached from any path. Without the privilege there
    /// is none.
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

    /// The names of all devices.
    pub(crate) fn devices(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.root.join("class/net"))?;
        let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
        Ok(entries.flatten().filter_map(name).collect())
    }

    /// The directory of a device, which may be gone.
    pub(crate) fn device(&self, name: &str) -> PathBuf {
        self.root.join("class/net").join(name)
    }
}

pub(crate) fn read_number(path: &Path) -> io::Result<u32> {
    let text = fs::read_to_string(path)?;
    text.trim()
        .parse()
        .map_err(|_| io::Error::from(ErrorKind::InvalidData))
}

/// A detached sysfs of this thread's network namespace.
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
