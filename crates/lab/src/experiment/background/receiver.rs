//! The background program that receives: a process of its own, like the sending one. The gate
//! asks for the process of a packet's destination socket.

use std::io::{BufRead, BufReader, ErrorKind};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use serde::{Deserialize, Serialize};

use super::importance;
use crate::experiment::command::lab_beside;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::pair::{A, RECEIVER, SENDER};
use crate::experiment::source::{MARK_BYTES, Mark};

const CALLING_THREAD: u32 = 0;
/// The program's message that it is ready.
const READY: &str = "ready";
/// After this time without a packet there are no more. Idle time is free in the lab.
const SILENCE: Duration = Duration::from_secs(5);
/// Room for all that one run sends.
const BUFFER_BYTES: usize = 16 << 20;

/// The numbered datagrams that arrived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Came {
    pub packets: u64,
    /// Packets that arrived after one that was sent later.
    pub reordered: u64,
}

/// Killed when it is dropped.
pub struct Receiver {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Receiver {
    /// Returns once the host's `port` is open for the server's same port.
    pub fn start(takt: &Path, port: u16) -> Result<Self> {
        let spawn = || {
            Command::new(lab_beside(takt))
                .args(["receive", "--port", &port.to_string()])
                .args(["--nice", &super::BACKGROUND_NICE.to_string()])
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(|source| ExperimentError::Start {
                    program: lab_beside(takt).to_string_lossy().into_owned(),
                    source,
                })
        };
        let mut process = A.run(spawn)?;
        let output = process.stdout.take().map(BufReader::new);
        let mut receiver = Self {
            output: output.ok_or_else(|| unexpected("nothing"))?,
            process,
        };
        match receiver.line()?.as_str() {
            READY => Ok(receiver),
            other => Err(unexpected(other)),
        }
    }

    /// Waits until nothing arrives any more.
    pub fn finish(mut self) -> Result<Came> {
        let line = self.line()?;
        serde_json::from_str(&line).map_err(|_| unexpected(&line))
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .doing("read what the receiver says")?;
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // Both fail only if it has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn unexpected(reason: &str) -> ExperimentError {
    ExperimentError::Output {
        command: "takt lab receive".to_owned(),
        reason: format!("`{reason}`"),
    }
}

/// The program itself: reports that it is ready, and at the end what arrived.
pub fn receive_numbered(port: u16, nice: i32) -> Result<()> {
    // First: the socket's importance is that of the task that opens it.
    importance::nice(CALLING_THREAD, nice)?;
    let socket = UdpSocket::bind((SENDER, port)).doing("bind a receiving socket")?;
    setsockopt(&socket, sockopt::RcvBufForce, &BUFFER_BYTES).doing("set SO_RCVBUFFORCE")?;
    socket
        .connect((RECEIVER, port))
        .doing("connect a receiving socket")?;
    socket
        .set_read_timeout(Some(SILENCE))
        .doing("set SO_RCVTIMEO")?;
    println!("{READY}");
    let came = count(&socket)?;
    println!("{}", serde_json::json!(came));
    Ok(())
}

fn count(socket: &UdpSocket) -> Result<Came> {
    let mut came = Came::default();
    let mut next = 0;
    let mut mark = [0; MARK_BYTES];
    loop {
        match socket.recv(&mut mark) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(came),
            Err(error) => return Err(error).doing("receive a datagram"),
        }
        let sequence = Mark::from_bytes(mark).sequence;
        came.packets += 1;
        came.reordered += u64::from(sequence < next);
        next = next.max(sequence + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_datagrams_are_counted() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(1)))
            .unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for sequence in [0, 1, 3, 2, 4] {
            let mark = Mark { flow: 0, sequence };
            sender
                .send_to(&mark.to_bytes(), socket.local_addr().unwrap())
                .unwrap();
        }
        let expected = Came {
            packets: 5,
            reordered: 1,
        };
        assert_eq!(count(&socket).unwrap(), expected);
    }
}
