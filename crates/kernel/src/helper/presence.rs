//! One helper for each network namespace, and a word with it.
//!
//! The helper listens on an abstract socket: the kernel keeps such names apart
//! by namespace, lets nobody take one that is taken, and frees it when the
//! helper ends, however it ends. Whoever connects asks it to look at the links
//! anew, and is answered when it has, and when their stocks are full.

use std::{
    io::{self, ErrorKind, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        linux::net::SocketAddrExt,
        unix::{
            net::{SocketAddr, UnixListener, UnixStream},
            process::CommandExt,
        },
    },
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::socket::{getsockopt, sockopt::PeerCredentials},
    unistd::Uid,
};

use crate::error::Error;

const NAME: &str = "takt-helper";
/// A helper that takes longer for an answer than this is not well.
const PATIENCE: Duration = Duration::from_secs(10);
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

/// What the helper says when it is done looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// There is none, or it has ended.
    Nobody,
    Waiting,
    Helping,
}

const WAITING: u8 = b'w';
const HELPING: u8 = b'h';

/// The helper's own end.
pub(super) struct Presence(UnixListener);

/// Somebody who wants to know when the helper has looked.
pub(super) struct Asker(UnixStream);

impl Presence {
    /// Become this namespace's helper; `None` if there is one.
    pub fn claim() -> io::Result<Option<Self>> {
        match UnixListener::bind_addr(&address()?) {
            Ok(listener) => {
                listener.set_nonblocking(true)?;
                Ok(Some(Self(listener)))
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn askers(&self) -> Vec<Asker> {
        std::iter::from_fn(|| self.0.accept().ok())
            .map(|(stream, _)| Asker(stream))
            .collect()
    }
}

/// Can be read when somebody asks.
impl AsFd for Presence {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Asker {
    /// One that has gone meanwhile does not matter.
    pub fn answer(mut self, helps: bool) {
        let _ = self.0.write_all(&[if helps { HELPING } else { WAITING }]);
    }
}

fn address() -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(NAME)
}

/// Whether this namespace has a helper.
pub(crate) fn is_running() -> bool {
    matches!(connect(), Ok(Some(_)))
}

/// Have the helper look at the links, which have changed. If any of them is
/// `wanted` helped and nobody does, start one.
pub(crate) fn tend(wanted: bool) -> Result<(), Error> {
    let answer = ask().map_err(Error::helper("speaking to the helper"))?;
    if answer == Answer::Helping || !wanted {
        return Ok(());
    }
    start().map_err(Error::helper("starting the helper"))
}

fn start() -> io::Result<()> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["feed", "--while-needed"])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // No terminal's signal is to reach it.
        .process_group(0)
        .spawn()?;
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if ask()? == Answer::Helping {
            return Ok(());
        }
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!("it ended at once ({status})")));
        }
        thread::sleep(BETWEEN_TRIES);
    }
    Err(io::Error::other("it does not answer"))
}

fn ask() -> io::Result<Answer> {
    let Some(mut stream) = connect()? else {
        return Ok(Answer::Nobody);
    };
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut answer = [0];
    match stream.read(&mut answer) {
        Ok(1) if answer[0] == HELPING => Ok(Answer::Helping),
        Ok(1) if answer[0] == WAITING => Ok(Answer::Waiting),
        // It ended because nobody needs it.
        Ok(_) => Ok(Answer::Nobody),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(Answer::Nobody),
        Err(error) => Err(error),
    }
}

fn connect() -> io::Result<Option<UnixStream>> {
    let stream = match UnixStream::connect_addr(&address()?) {
        Ok(stream) => stream,
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(None),
        Err(error) => return Err(error),
    };
    let peer = getsockopt(&stream, PeerCredentials)?;
    if peer.uid() != 0 && peer.uid() != Uid::effective().as_raw() {
        return Err(io::Error::other(format!(
            "process {} of user {} has taken its name",
            peer.pid(),
            peer.uid()
        )));
    }
    Ok(Some(stream))
}
