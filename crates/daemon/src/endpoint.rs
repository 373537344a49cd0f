//! Where taktd listens, and the lock of the running taktd. Sockets that systemd passes on are used
//! instead of its own.
//!
//! All of it lies in one directory that is root's. Users may pass through it to the socket for
//! users, and can open nothing else in it.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::{
        fd::AsFd,
        unix::{
            fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
            net::UnixListener,
        },
    },
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg},
    sys::{
        socket::{Backlog, listen},
        stat::{Mode, umask},
    },
    unistd::Uid,
};

use crate::{ROOT_SOCKET, SOCKET, VARLINK_SOCKET, activated::Activated, error::Error};

/// The name of the lock's file.
const LOCK: &str = "lock";
/// Users pass through it and cannot list it.
const DIR_MODE: u32 = 0o711;
const PRIVATE_MODE: u32 = 0o600;
const PUBLIC_MODE: u32 = 0o666;
/// The backlog of each socket. Further connections wait in the client's `connect`.
const BACKLOG: i32 = 64;
/// Attempts to lock a file that an ending taktd removes.
const TRIES: u32 = 10;

/// The sockets, and the lock.
pub(crate) struct Endpoint {
    dir: PathBuf,
    /// Root has a queue of connections of its own, which users cannot fill.
    pub root: UnixListener,
    pub users: UnixListener,
    /// Of users who speak varlink.
    pub varlink: UnixListener,
    /// What is removed in the end: not systemd's sockets.
    own: Vec<PathBuf>,
    _lock: Flock<File>,
}

impl Endpoint {
    pub fn claim(dir: &Path, mut activated: Activated) -> Result<Self, Error> {
        // Until their modes are set, the sockets are accessible to this user alone.
        umask(Mode::from_bits_truncate(0o077));
        let lock = lock(dir)?;
        let mut own = vec![dir.join(LOCK)];
        let mut listener = |socket: &'static str, mode| {
            let path = dir.join(name_of(socket));
            if let Some(passed) = activated.at(&path) {
                return not_blocking(passed);
            }
            let listener = listen_at(&path, mode)?;
            own.push(path);
            Ok(listener)
        };
        let root = listener(ROOT_SOCKET, PRIVATE_MODE)?;
        let users = listener(SOCKET, PUBLIC_MODE)?;
        let varlink = listener(VARLINK_SOCKET, PUBLIC_MODE)?;
        activated.none_left()?;
        Ok(Self {
            dir: dir.to_owned(),
            root,
            users,
            varlink,
            own,
            _lock: lock,
        })
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        for path in &self.own {
            let _ = fs::remove_file(path);
        }
        // Under systemd the directory is the unit's.
        let _ = fs::remove_dir(&self.dir);
    }
}

fn name_of(socket: &'static str) -> &'static str {
    socket.rsplit('/').next().unwrap_or(socket)
}

fn listen_at(path: &Path, mode: u32) -> Result<UnixListener, Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::file(path)(error));
        }
        _ => {}
    }
    let listener = UnixListener::bind(path).map_err(Error::file(path))?;
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(Error::file(path))?;
    Backlog::new(BACKLOG)
        .and_then(|backlog| listen(&listener.as_fd(), backlog))
        .map_err(Error::system("listening"))?;
    not_blocking(listener)
}

fn not_blocking(listener: UnixListener) -> Result<UnixListener, Error> {
    listener
        .set_nonblocking(true)
        .map_err(Error::system("listening"))?;
    Ok(listener)
}

/// The lock ends with the process, however that ends.
fn lock(dir: &Path) -> Result<Flock<File>, Error> {
    let path = dir.join(LOCK);
    for _ in 0..TRIES {
        own_dir(dir)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(PRIVATE_MODE)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path);
        let file = match file {
            // Another taktd has removed the directory.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Err(foreign(&path)),
            file => file.map_err(Error::file(&path))?,
        };
        let found = file.metadata().map_err(Error::file(&path))?;
        if !found.is_file() || !is_own(&found) || found.mode() & 0o077 != 0 || found.nlink() > 1 {
            return Err(foreign(&path));
        }
        let mut lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => lock,
            Err((file, Errno::EWOULDBLOCK)) => {
                let mut pid = String::new();
                let _ = file.take(16).read_to_string(&mut pid);
                return Err(Error::Running {
                    pid: pid.trim_end().parse().ok(),
                });
            }
            Err((_, errno)) => return Err(Error::file(&path)(errno.into())),
        };
        // Another taktd may just have ended and removed the file.
        if fs::symlink_metadata(&path).is_ok_and(|now| now.ino() == found.ino()) {
            lock.set_len(0)
                .and_then(|()| writeln!(lock, "{}", std::process::id()))
                .map_err(Error::file(&path))?;
            return Ok(lock);
        }
    }
    Err(Error::file(dir)(io::Error::other(
        "it keeps changing: several taktds start and end there",
    )))
}

/// The directory, made if missing, with its mode.
fn own_dir(path: &Path) -> Result<(), Error> {
    if let Some(above) = path.parent() {
        fs::create_dir_all(above).map_err(Error::file(above))?;
    }
    match DirBuilder::new().mode(DIR_MODE).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(Error::file(path)(error));
        }
        _ => {}
    }
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let dir = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let dir = match dir {
        Err(error) if matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENOTDIR)) => {
            return Err(foreign(path));
        }
        dir => dir.map_err(Error::file(path))?,
    };
    if !is_own(&dir.metadata().map_err(Error::file(path))?) {
        return Err(foreign(path));
    }
    // Set the mode independently of the umask and of an earlier owner.
    dir.set_permissions(Permissions::from_mode(DIR_MODE))
        .map_err(Error::file(path))
}

fn is_own(found: &fs::Metadata) -> bool {
    found.uid() == Uid::effective().as_raw()
}

/// What was found in place of taktd's own file.
fn foreign(path: &Path) -> Error {
    match fs::symlink_metadata(path) {
        Ok(found) => Error::Foreign {
            path: path.to_owned(),
            kind: match found.file_type() {
                kind if kind.is_symlink() => "a symbolic link",
                kind if kind.is_dir() => "a directory",
                kind if kind.is_file() => "a file",
                _ => "neither a file nor a directory",
            },
            uid: found.uid(),
            mode: found.mode() & 0o7777,
        },
        Err(error) => Error::file(path)(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::{fs::symlink, net::UnixStream};

    use super::*;

    fn claim(dir: &Path) -> Result<Endpoint, Error> {
        Endpoint::claim(dir, Activated::default())
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn one_at_a_time_and_whatever_was_left() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("taktd");
        let first = claim(&dir).unwrap();
        let own_pid = i32::try_from(std::process::id()).ok();
        match claim(&dir).err() {
            Some(Error::Running { pid }) => assert_eq!(pid, own_pid),
            other => panic!("{other:?}"),
        }
        // As if it had been killed: the sockets stay, the lock does not.
        let socket = dir.join("socket");
        fs::hard_link(&socket, dir.join("left")).unwrap();
        drop(first);
        fs::rename(dir.join("left"), &socket).unwrap();
        let second = claim(&dir).unwrap();
        assert!(UnixStream::connect(&socket).is_ok());
        drop(second);
        assert!(!dir.exists());
    }

    #[test]
    fn modes_are_its_own_whatever_was_there() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("taktd");
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, Permissions::from_mode(0o1777)).unwrap();
        let _endpoint = claim(&dir).unwrap();
        assert_eq!(mode(&dir), 0o711);
        assert_eq!(mode(&dir.join("lock")), 0o600);
        assert_eq!(mode(&dir.join("root")), 0o600);
        assert_eq!(mode(&dir.join("socket")), 0o666);
        assert_eq!(mode(&dir.join("varlink")), 0o666);
    }

    #[test]
    fn what_others_put_there_is_refused_by_name() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("taktd");
        symlink("/tmp", &dir).unwrap();
        let refused = claim(&dir).err().unwrap().to_string();
        let expected = format!("{} is a symbolic link of user ", dir.display());
        assert!(refused.starts_with(&expected), "{refused}");
        fs::remove_file(&dir).unwrap();

        // A lock file with open permissions, or a hard link to another file.
        fs::create_dir(&dir).unwrap();
        let lock = dir.join("lock");
        fs::write(&lock, "").unwrap();
        fs::set_permissions(&lock, Permissions::from_mode(0o666)).unwrap();
        let refused = claim(&dir).err().unwrap().to_string();
        assert!(refused.contains("lock is a file of user"), "{refused}");
        assert!(refused.contains("mode 666"), "{refused}");
        fs::set_permissions(&lock, Permissions::from_mode(0o600)).unwrap();
        fs::hard_link(&lock, dir.join("another")).unwrap();
        assert!(matches!(claim(&dir), Err(Error::Foreign { .. })));
    }
}
