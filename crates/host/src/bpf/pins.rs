//! Where the loaded programs are pinned, so that they outlive takt.
//!
//! The file system's root may be open to all users (mode 1777). So each directory of takt's
//! belongs to root alone, and one that does not is refused before anything in it is opened.

use std::{
    fs::{self, DirBuilder, File, Metadata, Permissions},
    io::{ErrorKind, Read},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    sys::{
        statfs::{BPF_FS_MAGIC, statfs},
        statvfs::{FsFlags, statvfs},
    },
};

use crate::{
    bpf::BpfError,
    error::Error,
    os::OsError,
    state::trust::{self, Kind},
};

pub(crate) const MOUNT: &str = "/sys/fs/bpf";

/// `ip netns exec` hides /sys behind a new one; process 1 still sees it.
const MOUNT_OF_INIT: &str = "/proc/1/root/sys/fs/bpf";

/// Pins are made and removed in a directory of such a name, so that all of them appear and
/// disappear in one step. (bpffs allows no dots.)
const ASIDE: &str = "takt-aside-";

/// The directories of pins, at the root.
pub(crate) const LINKS: &str = "takt";
pub(crate) const SOCKETS: &str = "takt-sockets";
pub(crate) const BEATS: &str = "takt-beats";
pub(crate) const CROWD: &str = "takt-crowd";
/// Have a directory for each device.
pub(crate) const FLOW: &str = "takt-flow";
pub(crate) const SEGMENTS: &str = "takt-segments";

const DIRECTORY_MODE: u32 = 0o700;
const PIN_MODE: u32 = 0o600;

/// A user with write permission on a directory can replace files of other users in it.
const OTHERS_WRITE: u32 = 0o022;
/// Unless this bit is set: then only the user's own files.
const STICKY: u32 = 0o1000;

/// The BPF file system that every takt on this host shares.
pub(crate) fn root() -> Result<PathBuf, Error> {
    let root = [MOUNT, MOUNT_OF_INIT]
        .map(Path::new)
        .into_iter()
        .find(|path| statfs(*path).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC))
        .map(Path::to_path_buf)
        .ok_or(BpfError::NoBpffs { path: MOUNT })?;
    let mode = fs::metadata(&root).map_err(OsError::file(&root))?.mode();
    if mode & OTHERS_WRITE != 0 && mode & STICKY == 0 {
        Err(BpfError::OpenBpffs {
            mode: mode & 0o7777,
            path: root,
        }
        .into())
    } else {
        Ok(root)
    }
}

/// Whether it is mounted so that pins can be made.
pub(crate) fn is_writable() -> Result<bool, Error> {
    let root = root()?;
    let mounted = statvfs(&root).map_err(|errno| OsError::file(&root)(errno.into()))?;
    Ok(!mounted.flags().contains(FsFlags::ST_RDONLY))
}

/// Name the mount where pins cannot be made.
pub(crate) fn require_writable() -> Result<(), Error> {
    if is_writable()? {
        Ok(())
    } else {
        Err(OsError::file(&root()?)(Errno::EROFS.into()))
    }
}

/// The path of a directory of pins, and whether it exists.
pub(crate) fn dir(name: &str) -> Result<(PathBuf, bool), Error> {
    let path = root()?.join(name);
    let found = found(&path)?;
    Ok((path, found.is_some()))
}

/// Make a directory of pins, which `pin` puts into the directory it gets. They appear in one
/// step, so a takt that dies before it leaves nothing visible.
pub(crate) fn appear(
    dir: &Path,
    pin: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let aside = aside()?;
    make_dir(&aside)?;
    let pinned = pin(&aside)
        .and_then(|()| restrict_pins(&aside))
        .and_then(|()| fs::rename(&aside, dir).map_err(OsError::file(dir)));
    if pinned.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_dir_all(&aside);
    }
    pinned
}

/// Remove a directory of pins, likewise in one step.
pub(crate) fn vanish(dir: &Path) -> Result<(), Error> {
    remove(&set_aside(dir)?)
}

/// The first half of [`vanish`]: the pins keep what is pinned until they are removed.
pub(crate) fn set_aside(dir: &Path) -> Result<PathBuf, Error> {
    let aside = aside()?;
    fs::rename(dir, &aside).map_err(OsError::file(dir))?;
    Ok(aside)
}

/// The second half.
pub(crate) fn remove(aside: &Path) -> Result<(), Error> {
    fs::remove_dir_all(aside).map_err(OsError::file(aside))
}

/// Make a directory within one of takt's, if missing.
pub(crate) fn make_dir_within(path: &Path) -> Result<(), Error> {
    match found(path)? {
        Some(_) => Ok(()),
        None => make_dir(path),
    }
}

/// Make a pin accessible to root alone.
pub(crate) fn restrict_pin(pin: &Path) -> Result<(), Error> {
    fs::set_permissions(pin, Permissions::from_mode(PIN_MODE)).map_err(OsError::file(pin))
}

/// Name what stands in the place of takt's directories, close those that an earlier version
/// left readable, and remove what a takt left that died half-way. Under the lock no other takt
/// is at work.
pub(crate) fn tidy() -> Result<(), Error> {
    for name in [LINKS, SOCKETS, BEATS, CROWD, FLOW, SEGMENTS] {
        let path = root()?.join(name);
        if let Some(found) = found(&path)? {
            require_writable()?;
            close(&path, &found)?;
        }
    }
    sweep()
}

/// Remove what a takt left that died while pinning or unpinning. Under the lock no other takt
/// is at work. Directories that are not root's are not takt's.
pub(crate) fn sweep() -> Result<(), Error> {
    let root = root()?;
    for entry in fs::read_dir(&root).map_err(OsError::file(&root))? {
        let path = entry.map_err(OsError::file(&root))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(ASIDE) {
            continue;
        }
        let is_own = fs::symlink_metadata(&path)
            .is_ok_and(|found| trust::check(&path, &found, Kind::Directory).is_ok());
        if is_own {
            fs::remove_dir_all(&path).map_err(OsError::file(&path))?;
        }
    }
    Ok(())
}

/// A directory of takt's, if it exists.
fn found(path: &Path) -> Result<Option<Metadata>, Error> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found.map_err(OsError::file(path))?,
    };
    trust::check(path, &found, Kind::Directory)?;
    Ok(Some(found))
}

/// The umask may clear bits, and root's own must stay.
fn make_dir(path: &Path) -> Result<(), Error> {
    DirBuilder::new()
        .mode(DIRECTORY_MODE)
        .create(path)
        .and_then(|()| fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE)))
        .map_err(OsError::file(path))
}

fn close(path: &Path, found: &Metadata) -> Result<(), Error> {
    if trust::permissions(found) == DIRECTORY_MODE {
        Ok(())
    } else {
        fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE))
            .map_err(OsError::file(path))
    }
}

fn restrict_pins(dir: &Path) -> Result<(), Error> {
    for pin in fs::read_dir(dir).map_err(OsError::file(dir))? {
        restrict_pin(&pin.map_err(OsError::file(dir))?.path())?;
    }
    Ok(())
}

/// The name is unpredictable, so no user can have taken it.
fn aside() -> Result<PathBuf, Error> {
    const SOURCE: &str = "/dev/urandom";
    let mut number = [0; 8];
    File::open(SOURCE)
        .and_then(|mut random| random.read_exact(&mut number))
        .map_err(OsError::file(SOURCE))?;
    let number = u64::from_ne_bytes(number);
    Ok(root()?.join(format!("{ASIDE}{number:016x}")))
}
