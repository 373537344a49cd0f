//! Requests to taktd.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::{fd::AsRawFd, unix::net::UnixStream},
    time::Duration,
};

use nix::{
    sys::{
        socket::{
            self, AddressFamily, SockFlag, SockType, UnixAddr, setsockopt,
            sockopt::{ReceiveTimeout, SendTimeout},
        },
        time::{TimeVal, TimeValLike},
    },
    unistd::Uid,
};
use thiserror::Error;

use crate::{
    ROOT_SOCKET, SOCKET,
    protocol::{Answer, Done, Refusal, Request},
};

/// A taktd that takes longer than this for an answer is taken to be broken.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why taktd did not carry out a request.
#[derive(Debug, Error)]
pub enum AskError {
    /// No process listens at [`SOCKET`].
    #[error("taktd is not running; start it as root: taktd")]
    NotRunning,
    /// It refused the request.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The connection ended, no data came for 10 s, or the data was no valid answer.
    #[error("speaking to taktd: {0}")]
    Failed(#[from] io::Error),
}

/// Send a request to this host's taktd over a new connection, and wait for the answer.
pub fn ask(request: &Request) -> Result<Done, AskError> {
    let mut stream = reach().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::NotRunning,
        io::ErrorKind::WouldBlock => AskError::Failed(io::Error::new(
            io::ErrorKind::TimedOut,
            "taktd accepts no connection, because other programs open too many; root has \
             connections of its own",
        )),
        _ => AskError::Failed(error),
    })?;
    let mut line = serde_json::to_vec(request).map_err(io::Error::from)?;
    line.push(b'\n');
    // A busy taktd may answer and close the connection before it has read the request.
    let written = stream.write_all(&line);
    let mut answer = String::new();
    if BufReader::new(stream).read_line(&mut answer)? == 0 {
        written?;
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    match serde_json::from_str(&answer).map_err(io::Error::from)? {
        Answer::Ok(done) => Ok(done),
        Answer::Error(refusal) => Err(refusal.into()),
    }
}

/// Root has a socket of its own, so that users' connections do not delay it.
fn reach() -> io::Result<UnixStream> {
    if Uid::effective().is_root()
        && let Ok(stream) = connect(ROOT_SOCKET)
    {
        return Ok(stream);
    }
    connect(SOCKET)
}

/// Each wait is bounded, the one for being accepted included.
fn connect(path: &str) -> io::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket::socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    let patience = TimeVal::seconds(PATIENCE.as_secs() as i64);
    setsockopt(&socket, SendTimeout, &patience)?;
    setsockopt(&socket, ReceiveTimeout, &patience)?;
    socket::connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    Ok(UnixStream::from(socket))
}
