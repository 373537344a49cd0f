//! The process at the other end of a connection.

use std::{
    fs, io,
    os::{
        fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
        unix::net::{UnixListener, UnixStream},
    },
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::socket::{getsockopt, sockopt::PeerCredentials},
};

use crate::registry::Caller;

/// Missing in the C library's bindings.
const SO_NETNS_COOKIE: libc::c_int = 71;
const SO_PEERPIDFD: libc::c_int = 77;

/// As of the time it connected. An accepted socket belongs to the network namespace of the
/// process that connected.
pub(crate) fn caller(stream: &UnixStream) -> io::Result<Caller> {
    let credentials = getsockopt(stream, PeerCredentials)?;
    Ok(Caller {
        uid: credentials.uid(),
        netns_cookie: option(stream, SO_NETNS_COOKIE)?,
    })
}

/// The network namespace that the socket was made in.
pub(crate) fn netns_cookie(listener: &UnixListener) -> io::Result<u64> {
    option(listener, SO_NETNS_COOKIE)
}

/// The process that connected.
pub(crate) struct Process {
    pub pid: i32,
    /// The groups that it was in when it connected, its primary group first.
    pub groups: Vec<u32>,
    handle: OwnedFd,
}

impl Process {
    pub fn from_stream(stream: &UnixStream) -> io::Result<Self> {
        let credentials = getsockopt(stream, PeerCredentials)?;
        let mut groups = groups(stream)?;
        groups.insert(0, credentials.gid());
        let pid = credentials.pid();
        let fd: libc::c_int = option(stream, SO_PEERPIDFD)?;
        // SAFETY: the kernel has just returned this descriptor to us.
        let handle = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self {
            pid,
            groups,
            handle,
        })
    }

    /// The host's number of the process's thread that it calls `tid`; of its first thread
    /// without a number. `None` if it has no such thread.
    pub fn thread(&self, tid: Option<u32>) -> io::Result<Option<u32>> {
        if !self.is_alive() {
            return Ok(None);
        }
        let Some(tid) = tid else {
            return Ok(u32::try_from(self.pid).ok());
        };
        // Usually the process sees the host's numbers.
        if self.own_number(tid) == Some(tid) {
            return Ok(Some(tid));
        }
        let numbers = fs::read_dir(format!("/proc/{}/task", self.pid))?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        Ok({ numbers }.find(|host| self.own_number(*host) == Some(tid)))
    }

    pub fn has_thread(&self, tid: u32) -> bool {
        self.is_alive() && self.own_number(tid).is_some()
    }

    /// What it calls that thread of its own, in the innermost PID namespace.
    fn own_number(&self, tid: u32) -> Option<u32> {
        let path = format!("/proc/{}/task/{tid}/status", self.pid);
        let status = fs::read_to_string(path).ok()?;
        let numbers = status
            .lines()
            .find_map(|line| line.strip_prefix("NSpid:"))?;
        numbers.split_whitespace().next_back()?.parse().ok()
    }

    /// While it runs, its number is not reused.
    pub fn is_alive(&self) -> bool {
        let mut fds = [PollFd::new(self.handle.as_fd(), PollFlags::POLLIN)];
        self.pid > 0 && matches!(poll(&mut fds, PollTimeout::ZERO), Ok(0))
    }
}

/// The supplementary groups of the process that connected.
fn groups(stream: &UnixStream) -> io::Result<Vec<u32>> {
    let mut groups: Vec<libc::gid_t> = Vec::new();
    // They do not change any more, so the second attempt has enough room.
    for _ in 0..2 {
        let mut len = size_of_val(groups.as_slice()) as libc::socklen_t;
        // SAFETY: an open socket, and a buffer of the length given.
        let result = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERGROUPS,
                groups.as_mut_ptr().cast(),
                &mut len,
            )
        };
        let count = len as usize / size_of::<libc::gid_t>();
        if result == 0 {
            groups.truncate(count);
            return Ok(groups);
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::ERANGE) {
            return Err(error);
        }
        groups = vec![0; count];
    }
    Err(io::Error::from_raw_os_error(libc::ERANGE))
}

fn option<T: Default>(socket: &impl AsRawFd, name: libc::c_int) -> io::Result<T> {
    let mut value = T::default();
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: an open socket, and an integer of the length given.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            (&raw mut value).cast(),
            &mut len,
        )
    };
    match result {
        0 => Ok(value),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::{process, sync::mpsc, thread};

    use super::*;

    #[test]
    fn a_process_is_in_its_groups() {
        let (here, _there) = UnixStream::pair().unwrap();
        let mut found = Process::from_stream(&here).unwrap().groups;
        let mut own: Vec<u32> = nix::unistd::getgroups()
            .unwrap()
            .into_iter()
            .map(nix::unistd::Gid::as_raw)
            .collect();
        own.push(nix::unistd::getegid().as_raw());
        own.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, own);
    }

    #[test]
    fn a_process_has_its_own_threads_and_no_others() {
        let (here, _there) = UnixStream::pair().unwrap();
        let process = Process::from_stream(&here).unwrap();
        let first = process::id();
        assert_eq!(process.thread(None).unwrap(), Some(first));
        let (ended, wait) = mpsc::channel::<()>();
        let (told, tid) = mpsc::channel();
        let another = thread::spawn(move || {
            // SAFETY: it has no arguments, and cannot fail.
            told.send(unsafe { libc::gettid() } as u32).unwrap();
            let _ = wait.recv();
        });
        let tid = tid.recv().unwrap();
        assert_eq!(process.thread(Some(tid)).unwrap(), Some(tid));
        assert!(process.has_thread(tid));
        // Process 1 is another process, and there is no thread 0.
        assert_eq!(process.thread(Some(1)).unwrap(), None);
        assert_eq!(process.thread(Some(0)).unwrap(), None);
        assert!(!process.has_thread(1));
        drop(ended);
        another.join().unwrap();
    }
}
