//! How many files a process may have open, and the errors for too few.

use std::{fmt, io};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, fcntl},
    sys::resource::{Resource, getrlimit, setrlimit},
};

use crate::{error::Error, os::OsError};

/// What a command has open at once, at most: programs and maps while they are loaded, sockets,
/// the lock.
const NEEDED: u64 = 128;

/// The limit that is too low.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortage {
    /// Of this process.
    Process {
        /// Its value.
        limit: u64,
    },
    /// Of the whole host.
    Host,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process { limit } => write!(
                f,
                "the limit of this process is {limit} (ulimit -n, LimitNOFILE=), and takt needs up \
                 to {NEEDED}; raise it"
            ),
            Self::Host => f.write_str(
                "the host has reached its limit of open files (sysctl fs.file-max); raise it, or close some",
            ),
        }
    }
}

impl Shortage {
    /// The limit that an error number is about.
    pub(crate) fn from_errno(errno: Option<i32>) -> Option<Self> {
        match errno? {
            libc::EMFILE => Some(Self::Process { limit: limit() }),
            libc::ENFILE => Some(Self::Host),
            _ => None,
        }
    }

    /// Likewise for an error of libbpf's, which has the number only in its text.
    pub(crate) fn of_bpf(error: &libbpf_rs::Error) -> Option<Self> {
        let said = format!("{error:#}");
        let is = |errno: i32| said.contains(&io::Error::from_raw_os_error(errno).to_string());
        [libc::EMFILE, libc::ENFILE]
            .into_iter()
            .find(|errno| is(*errno))
            .and_then(|errno| Self::from_errno(Some(errno)))
    }
}

/// Raise the soft limit to the hard limit, which needs no privilege. Programs that takt starts
/// for others keep the limit that they were given.
pub fn raise_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // If it is refused, the present limit may suffice.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Checks that takt can open all files that it may need. A failure half-way would have one of
/// many errors, some of which do not mention files. Opens nothing.
pub fn require_room() -> Result<(), Error> {
    let limit = limit();
    let is_free = |fd: u64| {
        // SAFETY: the descriptor is only queried, and need not be open.
        let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd as i32) };
        matches!(fcntl(fd, FcntlArg::F_GETFD), Err(Errno::EBADF))
    };
    // Descriptors are assigned from the lowest on, so those above the highest open one are
    // free.
    let free = (0..limit.min(i32::MAX as u64)).filter(|fd| is_free(*fd));
    match free.take(NEEDED as usize).count() as u64 {
        NEEDED.. => Ok(()),
        _ => Err(OsError::TooManyFiles {
            doing: "opening maps, programs and sockets".to_owned(),
            shortage: Shortage::Process { limit },
        }
        .into()),
    }
}

fn limit() -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_kernel_are_told_from_others() {
        assert_eq!(
            Shortage::from_errno(Some(libc::ENFILE)),
            Some(Shortage::Host)
        );
        let limit = limit();
        let process = Some(Shortage::Process { limit });
        assert_eq!(Shortage::from_errno(Some(libc::EMFILE)), process);
        assert_eq!(Shortage::from_errno(Some(libc::EPERM)), None);
        assert_eq!(Shortage::from_errno(None), None);
        let bpf = libbpf_rs::Error::from_raw_os_error;
        assert_eq!(Shortage::of_bpf(&bpf(libc::EMFILE)), process);
        assert_eq!(Shortage::of_bpf(&bpf(libc::ENFILE)), Some(Shortage::Host));
        assert_eq!(Shortage::of_bpf(&bpf(libc::ENOENT)), None);
    }

    #[test]
    fn the_message_names_the_limit_and_how_to_raise_it() {
        let doing = "opening a map".to_owned();
        let shortage = Shortage::Process { limit: 16 };
        let said = OsError::TooManyFiles { doing, shortage }.to_string();
        for part in ["opening a map", "too many open files", "16", "ulimit -n"] {
            assert!(said.contains(part), "{said}");
        }
    }
}
