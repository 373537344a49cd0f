//! The endpoint for Prometheus: `http://ADDRESS/metrics`, which any program may read that reaches
//! the address. A thread of its own serves it, so that no reader delays taktd's work.
//!
//! Everything is bounded: connections, the time and the bytes of each, and how often the host is
//! looked at.

mod http;
mod page;

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::AsFd,
    thread,
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tracing::error;

use self::{http::Asked, page::Pages};
use crate::error::Error;

/// Connections at a time. One more closes the oldest: a reader asks at once, so connections that
/// say nothing keep no reader from its answer.
const CONNECTIONS_MAX: usize = 16;
/// From a connection's begin to its end.
const PATIENCE: Duration = Duration::from_secs(5);
/// After a failure to accept, for example without a descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// Listen at this address, and serve until the process ends.
pub(crate) fn start(at: SocketAddr) -> Result<(), Error> {
    let listening = |source| Error::Metrics { at, source };
    let listener = TcpListener::bind(at).map_err(listening)?;
    listener.set_nonblocking(true).map_err(listening)?;
    thread::Builder::new()
        .name("taktd metrics".to_owned())
        .spawn(move || serve(&listener))
        .map_err(Error::system("starting a thread"))?;
    Ok(())
}

fn serve(listener: &TcpListener) {
    let mut pages = Pages::default();
    let mut connections: Vec<Connection> = Vec::new();
    loop {
        if let Err(errno) = wait(listener, &mut connections) {
            error!("metrics are not served any more: waiting for readers: {errno}");
            return;
        }
        let now = Instant::now();
        connections.retain_mut(|connection| {
            now < connection.ends && (!connection.is_ready || connection.go_on(&mut pages))
        });
        for _ in 0..CONNECTIONS_MAX {
            match listener.accept() {
                Ok((stream, _)) => {
                    if connections.len() == CONNECTIONS_MAX {
                        connections.remove(0);
                    }
                    connections.extend(Connection::new(stream, now));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    thread::sleep(PAUSE);
                    break;
                }
            }
        }
    }
}

/// Sleep until there is something to do; without a connection for any time.
fn wait(listener: &TcpListener, connections: &mut [Connection]) -> nix::Result<()> {
    let mut fds: Vec<_> = connections
        .iter()
        .map(|connection| PollFd::new(connection.stream.as_fd(), connection.wants()))
        .collect();
    fds.push(PollFd::new(listener.as_fd(), PollFlags::POLLIN));
    let first = connections.iter().map(|connection| connection.ends).min();
    let timeout = first.map_or(PollTimeout::NONE, |ends| {
        let left = ends.saturating_duration_since(Instant::now());
        // Rounded up, so that the time is over after it.
        PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
    });
    match poll(&mut fds, timeout) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(errno) => return Err(errno),
    }
    let ready: Vec<_> = fds.iter().map(|fd| fd.any() != Some(false)).collect();
    for (connection, is_ready) in connections.iter_mut().zip(ready) {
        connection.is_ready = is_ready;
    }
    Ok(())
}

/// One request and its answer.
struct Connection {
    stream: TcpStream,
    ends: Instant,
    asked: Vec<u8>,
    /// What is left of the answer, once there is one.
    answer: Option<Vec<u8>>,
    is_ready: bool,
}

impl Connection {
    fn new(stream: TcpStream, now: Instant) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        Some(Self {
            stream,
            ends: now + PATIENCE,
            asked: Vec::new(),
            answer: None,
            is_ready: false,
        })
    }

    fn wants(&self) -> PollFlags {
        match self.answer {
            None => PollFlags::POLLIN,
            Some(_) => PollFlags::POLLOUT,
        }
    }

    /// Read or write a part; return whether there is more to do.
    fn go_on(&mut self, pages: &mut Pages) -> bool {
        match &mut self.answer {
            None => self.read(pages),
            Some(answer) => match self.stream.write(answer) {
                Ok(sent) => {
                    answer.drain(..sent);
                    !answer.is_empty() && sent > 0
                }
                Err(error) => is_for_later(&error),
            },
        }
    }

    fn read(&mut self, pages: &mut Pages) -> bool {
        let mut chunk = [0; 2048];
        match self.stream.read(&mut chunk) {
            Ok(0) => return false,
            Ok(read) => self.asked.extend_from_slice(&chunk[..read]),
            Err(error) => return is_for_later(&error),
        }
        self.answer = match http::parse(&self.asked) {
            Asked::Incomplete => None,
            Asked::Refused(status) => Some(http::refusal(status)),
            Asked::Page(page) => Some(pages.answer(&page)),
        };
        true
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
