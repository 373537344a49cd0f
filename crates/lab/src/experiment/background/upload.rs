//! One transfer: a TCP connection from the host, and a server that records when data arrived, or
//! sends it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};

use super::importance;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::pair::{A, B};

pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// The size of a program's write.
pub const WRITE_BYTES: usize = 16 * 1024;
/// What a download has on its way at most.
const SEND_BUFFER_BYTES: usize = 32 << 10;
/// Longer than any upload of this experiment takes.
const TIME_MAX: Duration = Duration::from_secs(600);

/// The two uploads, told apart by the server's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    Foreground,
    Background,
}

impl Port {
    pub fn number(self) -> u16 {
        match self {
            Self::Foreground => 5001,
            Self::Background => 5002,
        }
    }
}

/// Options of a socket, set before it connects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marking {
    /// `SO_PRIORITY`.
    pub priority: Option<i32>,
    /// `IP_TOS`.
    pub type_of_service: Option<i32>,
    /// `TCP_CONGESTION`.
    pub congestion_control: Option<&'static str>,
    /// `SO_SNDBUF` and `SO_RCVBUF`.
    pub buffer_bytes: Option<usize>,
}

/// The server: a listening socket for each kind of upload.
pub struct Server {
    foreground: TcpListener,
    background: TcpListener,
    /// Sets the importance of the threads that receive.
    importance: fn() -> Result<()>,
}

/// The name of the server's threads, whose time is counted apart from the host's.
pub const SERVER_THREAD: &str = "server";

impl Server {
    /// `buffer_bytes` is what connections may receive before the server reads it; without it
    /// the kernel tunes the size. The server reads when the host rests.
    pub fn start(buffer_bytes: Option<usize>) -> Result<Self> {
        let listen = |port: Port| -> Result<TcpListener> {
            let listener = TcpListener::bind(SocketAddrV4::new(SERVER, port.number()))
                .doing("listen for uploads")?;
            if let Some(bytes) = buffer_bytes {
                setsockopt(&listener, sockopt::RcvBufForce, &bytes).doing("set SO_RCVBUFFORCE")?;
            }
            Ok(listener)
        };
        B.run(|| {
            Ok(Self {
                foreground: listen(Port::Foreground)?,
                background: listen(Port::Background)?,
                importance: importance::less_than_all,
            })
        })
    }

    /// Reads at once, whatever the host does, as a server with a processor of its own.
    pub fn at_once(self) -> Self {
        Self {
            importance: importance::more_than_all,
            ..self
        }
    }

    /// Takes the next upload of that kind; reports when `early_bytes` had arrived, and when all
    /// `bytes` had.
    pub fn expect(&self, port: Port, bytes: u64, early_bytes: u64) -> Result<Reception> {
        self.serve(port, bytes, early_bytes, Progress::follow)
    }

    /// Sends `bytes` to the next that connects; reports likewise what its buffer has taken, a small
    /// one.
    pub fn provide(&self, port: Port, bytes: u64, early_bytes: u64) -> Result<Reception> {
        let send = move |progress: Progress, stream| progress.send(stream, bytes);
        self.serve(port, bytes, early_bytes, send)
    }

    fn serve(
        &self,
        port: Port,
        bytes: u64,
        early_bytes: u64,
        transfer: impl FnOnce(Progress, TcpStream) -> Result<()> + Send + 'static,
    ) -> Result<Reception> {
        let listener = match port {
            Port::Foreground => &self.foreground,
            Port::Background => &self.background,
        };
        let listener = listener.try_clone().doing("share a listening socket")?;
        let (early, whole) = (mpsc::channel(), mpsc::channel());
        let received = Arc::new(AtomicU64::new(0));
        let progress = Progress {
            received: Arc::clone(&received),
            milestones: [(early_bytes, early.0), (bytes, whole.0)],
        };
        let importance = self.importance;
        let serve = move || {
            importance()?;
            let (stream, _) = listener.accept().doing("accept an upload")?;
            transfer(progress, stream)
        };
        let thread = std::thread::Builder::new()
            .name(SERVER_THREAD.to_owned())
            .spawn(serve)
            .doing("start a thread of the server")?;
        Ok(Reception {
            received,
            early: early.1,
            whole: whole.1,
            thread,
        })
    }
}

/// A transfer as the server sees it.
pub struct Reception {
    received: Arc<AtomicU64>,
    early: Receiver<Instant>,
    whole: Receiver<Instant>,
    thread: JoinHandle<Result<()>>,
}

impl Reception {
    pub fn received_bytes(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Returns when the first part had arrived.
    pub fn wait_early(&self) -> Result<Instant> {
        wait(&self.early)
    }

    /// Returns when the last byte had arrived.
    pub fn wait_whole(&self) -> Result<Instant> {
        wait(&self.whole)
    }

    /// Waits until the client has closed the connection.
    pub fn finish(self) -> Result<()> {
        match self.thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn wait(milestone: &Receiver<Instant>) -> Result<Instant> {
    milestone
        .recv_timeout(TIME_MAX)
        .map_err(|error| ExperimentError::System {
            action: "wait for an upload",
            source: std::io::Error::new(ErrorKind::TimedOut, error),
        })
}

struct Progress {
    received: Arc<AtomicU64>,
    milestones: [(u64, Sender<Instant>); 2],
}

impl Progress {
    fn follow(self, mut stream: TcpStream) -> Result<()> {
        let mut buffer = vec![0; 1 << 16];
        let mut before = 0;
        loop {
            let bytes = stream.read(&mut buffer).doing("receive an upload")? as u64;
            if bytes == 0 {
                return Ok(());
            }
            self.tell(before, before + bytes);
            before += bytes;
        }
    }

    fn send(self, mut stream: TcpStream, bytes: u64) -> Result<()> {
        setsockopt(&stream, sockopt::SndBufForce, &SEND_BUFFER_BYTES)
            .doing("set SO_SNDBUFFORCE")?;
        let payload = vec![0; SEND_BUFFER_BYTES / 4];
        let mut before = 0;
        while before < bytes {
            let now = (bytes - before).min(payload.len() as u64);
            let piece = &payload[..now as usize];
            stream.write_all(piece).doing("send a download")?;
            self.tell(before, before + now);
            before += now;
        }
        Ok(())
    }

    fn tell(&self, before: u64, after: u64) {
        let now = Instant::now();
        self.received.store(after, Ordering::Relaxed);
        for (at, told) in &self.milestones {
            if (before + 1..=after).contains(at) {
                // A caller that does not wait for this has dropped the other end.
                let _ = told.send(now);
            }
        }
    }
}

/// A socket of the host, not connected yet.
pub fn open(marking: Marking) -> Result<OwnedFd> {
    A.run(|| marked(marking))
}

fn marked(marking: Marking) -> Result<OwnedFd> {
    let socket = socket(
        AddressFamily::Inet,
        SockType::Stream,
        SockFlag::SOCK_CLOEXEC,
        None,
    )
    .doing("open a socket")?;
    // As browsers and backup programs do: the last, short segment is sent at once.
    setsockopt(&socket, sockopt::TcpNoDelay, &true).doing("set TCP_NODELAY")?;
    if let Some(tos) = marking.type_of_service {
        setsockopt(&socket, sockopt::Ipv4Tos, &tos).doing("set IP_TOS")?;
    }
    if let Some(priority) = marking.priority {
        setsockopt(&socket, sockopt::Priority, &priority).doing("set SO_PRIORITY")?;
    }
    if let Some(name) = marking.congestion_control {
        setsockopt(&socket, sockopt::TcpCongestion, &name.into()).doing("set TCP_CONGESTION")?;
    }
    if let Some(bytes) = marking.buffer_bytes {
        setsockopt(&socket, sockopt::SndBufForce, &bytes).doing("set SO_SNDBUFFORCE")?;
        setsockopt(&socket, sockopt::RcvBufForce, &bytes).doing("set SO_RCVBUFFORCE")?;
    }
    Ok(socket)
}
