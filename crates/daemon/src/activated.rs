//! Sockets that systemd has made and passes on (socket activation): clients that connect before
//! taktd runs, or while it is replaced, wait in them.

use std::{
    collections::BTreeMap,
    os::{
        fd::{FromRawFd, OwnedFd},
        unix::net::UnixListener,
    },
    path::{Path, PathBuf},
};

use nix::sys::socket::{
    SockaddrLike, SockaddrStorage, UnixAddr, getsockname, getsockopt, sockopt::AcceptConn,
};

use crate::error::Error;

/// By the path that each listens at.
#[derive(Default)]
pub(crate) struct Activated(BTreeMap<PathBuf, UnixListener>);

impl Activated {
    /// The sockets passed to this process. To be called once, before any other descriptor is
    /// opened.
    pub fn take() -> Result<Self, Error> {
        let passed = sd_notify::listen_fds().map_err(Error::system("taking systemd's sockets"))?;
        let mut sockets = BTreeMap::new();
        for fd in passed {
            // SAFETY: systemd passed it to this process, and no other code owns it.
            let socket = unsafe { OwnedFd::from_raw_fd(fd) };
            let path = path_of(&socket).ok_or(Error::Passed { fd, path: None })?;
            sockets.insert(path, UnixListener::from(socket));
        }
        Ok(Self(sockets))
    }

    pub fn at(&mut self, path: &Path) -> Option<UnixListener> {
        self.0.remove(path)
    }

    /// All of them must have been asked for: otherwise clients would wait for ever.
    pub fn none_left(self) -> Result<(), Error> {
        match self.0.into_iter().next() {
            None => Ok(()),
            Some((path, socket)) => Err(Error::Passed {
                fd: std::os::fd::AsRawFd::as_raw_fd(&socket),
                path: Some(path),
            }),
        }
    }
}

/// The path of a listening stream socket of the file system.
fn path_of(socket: &OwnedFd) -> Option<PathBuf> {
    getsockopt(socket, AcceptConn).ok().filter(|is| *is)?;
    let address: SockaddrStorage = getsockname(std::os::fd::AsRawFd::as_raw_fd(socket)).ok()?;
    address.family()?;
    let address: &UnixAddr = address.as_unix_addr()?;
    address.path().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_listening_socket_tells_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let fd = OwnedFd::from(listener.try_clone().unwrap());
        assert_eq!(path_of(&fd).as_deref(), Some(path.as_path()));
        let client = UnixStream::connect(&path).unwrap();
        assert_eq!(path_of(&OwnedFd::from(client)), None);

        let sockets = || Activated([(path.clone(), listener.try_clone().unwrap())].into());
        assert!(sockets().at(Path::new("/elsewhere")).is_none());
        let told = sockets().none_left().unwrap_err().to_string();
        assert!(told.contains(&path.display().to_string()), "{told}");
        let mut taken = sockets();
        assert!(taken.at(&path).is_some());
        taken.none_left().unwrap();
    }
}
