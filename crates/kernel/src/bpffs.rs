//! Where the loaded programs stay when takt itself is gone.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use crate::error::Error;

pub(crate) const MOUNT: &str = "/sys/fs/bpf";

/// `ip netns exec` hides /sys behind a new one; the first process still sees it.
const MOUNT_OF_INIT: &str = "/proc/1/root/sys/fs/bpf";

/// Pins are made, and taken away, in a directory of such a name, so that all of
/// them come and go in one step. (bpffs allows no dots.)
const ASIDE: &str = "takt-aside-";

/// The BPF file system that every takt on this host shares.
pub(crate) fn root() -> Result<PathBuf, Error> {
    [MOUNT, MOUNT_OF_INIT]
        .map(Path::new)
        .into_iter()
        .find(|path| statfs(*path).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC))
        .map(Path::to_path_buf)
        .ok_or(Error::NoBpffs { path: MOUNT })
}

/// Make a directory of pins, which `pin` puts where it is told. They appear in
/// one step, so a takt that dies on the way leaves nothing that counts.
pub(crate) fn appear(
    dir: &Path,
    pin: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let aside = aside()?;
    fs::create_dir(&aside).map_err(Error::file(&aside))?;
    let pinned = pin(&aside).and_then(|()| fs::rename(&aside, dir).map_err(Error::file(dir)));
    if pinned.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_dir_all(&aside);
    }
    pinned
}

/// Take a directory of pins away, likewise.
pub(crate) fn vanish(dir: &Path) -> Result<(), Error> {
    let aside = aside()?;
    fs::rename(dir, &aside).map_err(Error::file(dir))?;
    fs::remove_dir_all(&aside).map_err(Error::file(&aside))
}

/// Take away what a takt left that died while pinning or unpinning. Under the
/// lock, no other takt is at it.
pub(crate) fn sweep() -> Result<(), Error> {
    let root = root()?;
    for entry in fs::read_dir(&root).map_err(Error::file(&root))? {
        let path = entry.map_err(Error::file(&root))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(ASIDE) {
            fs::remove_dir_all(&path).map_err(Error::file(&path))?;
        }
    }
    Ok(())
}

fn aside() -> Result<PathBuf, Error> {
    Ok(root()?.join(format!("{ASIDE}{}", std::process::id())))
}
