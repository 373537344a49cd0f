//! A request to taktd: one line, one line as the answer, and perhaps a descriptor with it.

use std::{
    fmt, io,
    io::Write,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
    time::Duration,
};

use crate::words::{number_of, text_of};

/// After this time taktd counts as hung.
const PATIENCE: Duration = Duration::from_secs(10);
const LINE_MAX_BYTES: usize = 4096;

/// Why a thread got no reservation, or could not leave it.
#[derive(Debug)]
pub enum JoinError {
    /// taktd does not run.
    NotRunning,
    /// taktd refused; its message.
    Refused {
        /// What is wrong.
        message: String,
        /// What would be right.
        fix: String,
    },
    /// taktd was not reached, or its answer was not understood.
    Failed(io::Error),
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning => write!(f, "taktd is not running; start it as root: taktd"),
            Self::Refused { message, fix } => write!(f, "{message}; {fix}"),
            Self::Failed(error) => write!(f, "speaking to taktd: {error}"),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<io::Error> for JoinError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    /// The host's number of the thread.
    pub tid: Option<u32>,
    pub page: Option<u32>,
    pub pages: Option<OwnedFd>,
}

pub(crate) fn ask(socket: &Path, request: &str) -> Result<Answer, JoinError> {
    let mut stream = UnixStream::connect(socket).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => JoinError::NotRunning,
        _ => JoinError::Failed(error),
    })?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // A busy taktd may close the connection before it has read the request.
    let written = stream.write_all(request.as_bytes());
    let (line, pages) = receive(&stream)?;
    if line.is_empty() {
        written?;
    }
    let line = String::from_utf8_lossy(&line);
    if line.starts_with("{\"ok\":") {
        return Ok(Answer {
            tid: number_of(&line, "tid"),
            page: number_of(&line, "page"),
            pages,
        });
    }
    match text_of(&line, "message") {
        Some(message) => Err(JoinError::Refused {
            message,
            fix: text_of(&line, "fix").unwrap_or_default(),
        }),
        None => Err(io::Error::from(io::ErrorKind::InvalidData).into()),
    }
}

fn receive(stream: &UnixStream) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
    let (mut line, mut descriptor) = (Vec::new(), None);
    while !line.ends_with(b"\n") && line.len() < LINE_MAX_BYTES {
        let mut bytes = [0; 1024];
        let (read, came) = receive_some(stream, &mut bytes)?;
        if read == 0 {
            break;
        }
        line.extend_from_slice(&bytes[..read]);
        descriptor = descriptor.or(came);
    }
    Ok((line, descriptor))
}

fn receive_some(stream: &UnixStream, bytes: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    // Room for one descriptor, aligned as its header.
    let mut control = [0_u64; 4];
    let mut part = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: all zeros is a valid empty message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    // SAFETY: pure arithmetic.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<i32>() as u32) } as _;
    let read = loop {
        // SAFETY: the message's pointers are valid for the given lengths.
        let read =
            unsafe { libc::recvmsg(stream.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) };
        match usize::try_from(read) {
            Ok(read) => break read,
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    };
    // SAFETY: the kernel has written this header, and the descriptor after it is new and not
    // owned elsewhere.
    let descriptor = unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        let is_descriptor = !header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_RIGHTS;
        is_descriptor.then(|| {
            let fd = libc::CMSG_DATA(header).cast::<i32>().read_unaligned();
            OwnedFd::from_raw_fd(fd)
        })
    };
    Ok((read, descriptor))
}
