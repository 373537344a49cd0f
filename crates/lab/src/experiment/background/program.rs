//! The background program, in a process of its own. The gate asks for the process of a packet's
//! socket, and this process's threads are the foreground and the observer.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use nix::sys::socket::{SockType, SockaddrIn, connect, getsockopt, sockopt};

use super::importance;
use super::upload::SERVER;
use crate::experiment::command::lab_beside;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};

const CALLING_THREAD: u32 = 0;

/// The data that a background program sends.
#[derive(Debug, Clone, Copy)]
pub struct Upload {
    /// The server's.
    pub port: u16,
    pub bytes: u64,
    /// Bytes written at once.
    pub piece: usize,
    /// The program's nice value.
    pub nice: i32,
}

impl Upload {
    /// Of an ordinary background program.
    pub fn new(port: u16, bytes: u64, piece: usize) -> Self {
        Self {
            port,
            bytes,
            piece,
            nice: super::BACKGROUND_NICE,
        }
    }
}

/// Killed when it is dropped.
pub struct Program {
    process: Child,
    started: Instant,
}

impl Program {
    /// Connects `socket` to the server and sends.
    pub fn start(takt: &Path, socket: OwnedFd, upload: Upload) -> Result<Self> {
        let started = Instant::now();
        let process = Command::new(lab_beside(takt))
            .args(["send", "--port", &upload.port.to_string()])
            .args(["--bytes", &upload.bytes.to_string()])
            .args(["--piece", &upload.piece.to_string()])
            .args(["--nice", &upload.nice.to_string()])
            .stdin(socket)
            .stdout(Stdio::null())
            .spawn()
            .map_err(|source| ExperimentError::Start {
                program: lab_beside(takt).to_string_lossy().into_owned(),
                source,
            })?;
        Ok(Self { process, started })
    }

    /// Waits until it has ended by itself; returns when it was started.
    pub fn finish(mut self) -> Result<Instant> {
        let status = self
            .process
            .wait()
            .doing("wait for the background program")?;
        if status.success() {
            Ok(self.started)
        } else {
            Err(ExperimentError::Command {
                command: "takt lab send".to_owned(),
                stderr: status.to_string(),
            })
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Both fail only if it has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program itself. A TCP connection is closed at the end, and the program takes what the server
/// sends until it closes it.
pub fn send_from_stdin(port: u16, bytes: u64, piece: usize, nice: i32) -> Result<()> {
    importance::nice(CALLING_THREAD, nice)?;
    let socket = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .doing("take the socket")?;
    send(socket, port, bytes, piece, || ()).map(drop)
}

/// Prepares each piece and writes it. Returns the moment before it connected.
pub fn send(
    socket: OwnedFd,
    port: u16,
    bytes: u64,
    piece: usize,
    prepare: impl Fn(),
) -> Result<Instant> {
    let [a, b, c, d] = SERVER.octets();
    let kind = getsockopt(&socket, sockopt::SockType).doing("ask for the socket's type")?;
    let started = Instant::now();
    connect(socket.as_raw_fd(), &SockaddrIn::new(a, b, c, d, port))
        .doing("connect to the server")?;
    // Reading and writing are the same for any connected socket.
    let mut stream = TcpStream::from(socket);
    let payload = vec![0; piece];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(piece as u64);
        prepare();
        stream
            .write_all(&payload[..now as usize])
            .doing("send to the server")?;
        left -= now;
    }
    if kind == SockType::Stream {
        stream.shutdown(Shutdown::Write).doing("end an upload")?;
        // A download is all that comes before the server's end.
        std::io::copy(&mut stream, &mut std::io::sink()).doing("wait for the server")?;
    }
    Ok(started)
}
