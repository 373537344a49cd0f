//! One upload: a TCP connection from the host, and a receiver that knows when
//! what had come.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket, sockopt,
};

use super::importance;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::pair::{A, B};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// What programs write at once.
const WRITE_BYTES: usize = 16 * 1024;
/// Longer than any upload of this experiment takes.
const TIME_MAX: Duration = Duration::from_secs(600);

/// Which of the two uploads, told apart by the port at the server.
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

/// What a socket says about itself before it connects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marking {
    /// `SO_PRIORITY`.
    pub priority: Option<i32>,
    /// `IP_TOS`.
    pub type_of_service: Option<i32>,
    /// `TCP_CONGESTION`.
    pub congestion_control: Option<&'static str>,
}

/// The server: a listening socket for each kind of upload.
pub struct Server {
    foreground: TcpListener,
    background: TcpListener,
}

impl Server {
    pub fn start() -> Result<Self> {
        let listen = |port: Port| {
            TcpListener::bind(SocketAddrV4::new(SERVER, port.number())).doing("listen for uploads")
        };
        B.run(|| {
            Ok(Self {
                foreground: listen(Port::Foreground)?,
                background: listen(Port::Background)?,
            })
        })
    }

    /// Takes the next upload of that kind; says when `early_bytes` had come,
    /// and when all `bytes` had.
    pub fn expect(&self, port: Port, bytes: u64, early_bytes: u64) -> Result<Reception> {
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
        let thread = std::thread::spawn(move || {
            importance::less_than_all()?;
            let (stream, _) = listener.accept().doing("accept an upload")?;
            progress.follow(stream)
        });
        Ok(Reception {
            received,
            early: early.1,
            whole: whole.1,
            thread,
        })
    }
}

/// An upload as the server sees it.
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

    /// Returns when the first part had come.
    pub fn wait_early(&self) -> Result<Instant> {
        wait(&self.early)
    }

    /// Returns when the last byte had come.
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
            let now = Instant::now();
            let after = before + bytes;
            self.received.store(after, Ordering::Relaxed);
            for (at, told) in &self.milestones {
                if (before + 1..=after).contains(at) {
                    // Who does not wait for this has dropped the other end.
                    let _ = told.send(now);
                }
            }
            before = after;
        }
    }
}

/// The host's end of an upload, not connected yet.
pub struct Client {
    socket: OwnedFd,
    port: Port,
}

impl Client {
    pub fn open(port: Port, marking: Marking) -> Result<Self> {
        let socket = A.run(|| open(marking))?;
        Ok(Self { socket, port })
    }

    /// Connects and uploads `bytes`, then waits for the server to close too, so
    /// that nothing of this run is left for the next. Returns the moment before
    /// it connected.
    pub fn send(self, bytes: u64) -> Result<Instant> {
        let [a, b, c, d] = SERVER.octets();
        let server = SockaddrIn::new(a, b, c, d, self.port.number());
        let started = Instant::now();
        connect(self.socket.as_raw_fd(), &server).doing("connect to the server")?;
        let mut stream = TcpStream::from(self.socket);
        let payload = [b'.'; WRITE_BYTES];
        let mut left = bytes;
        while left > 0 {
            let piece = left.min(WRITE_BYTES as u64);
            stream
                .write_all(&payload[..piece as usize])
                .doing("upload")?;
            left -= piece;
        }
        stream.shutdown(Shutdown::Write).doing("end an upload")?;
        stream.read(&mut [0]).doing("wait for the server")?;
        Ok(started)
    }
}

fn open(marking: Marking) -> Result<OwnedFd> {
    let socket = socket(
        AddressFamily::Inet,
        SockType::Stream,
        SockFlag::SOCK_CLOEXEC,
        None,
    )
    .doing("open a socket")?;
    // As browsers and backup programs do: the last, short segment goes at once.
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
    Ok(socket)
}
