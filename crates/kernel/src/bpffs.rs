//! Where the loaded programs stay when takt itself is gone.

use std::path::{Path, PathBuf};

use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use crate::error::Error;

pub(crate) const MOUNT: &str = "/sys/fs/bpf";

/// `ip netns exec` hides /sys behind a new one; the first process still sees it.
const MOUNT_OF_INIT: &str = "/proc/1/root/sys/fs/bpf";

/// The BPF file system that every takt on this host shares.
pub(crate) fn root() -> Result<PathBuf, Error> {
    [MOUNT, MOUNT_OF_INIT]
        .map(Path::new)
        .into_iter()
        .find(|path| statfs(*path).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC))
        .map(Path::to_path_buf)
        .ok_or(Error::NoBpffs { path: MOUNT })
}
