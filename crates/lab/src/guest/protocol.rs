//! The protocol between host and guest.
//!
//! The host puts a [`Job`] into the image. The guest answers with [`Frame`]s over one virtio
//! port. One channel for everything keeps the order, so the exit status proves that all output
//! before it has arrived.

use std::ffi::OsString;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use super::network::Net;
use super::{Doing, Result};

/// The job's path in the guest.
pub const JOB_FILE: &str = "/job.json";
/// The directory of the decompressed kernel modules, named in load order.
pub const MODULES_DIR: &str = "/modules";
/// The virtio port of the frames; number 0 is reserved for a console.
pub const CHANNEL: &str = "/dev/vport0p1";
pub const CHANNEL_PORT: u32 = 1;

/// The command for the guest, and its environment.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    pub command: Vec<OsString>,
    pub net: Net,
    /// What becomes the first process, beside the command.
    pub init: Option<OsString>,
    pub term: Option<OsString>,
}

impl Job {
    pub(super) fn read() -> Result<Job> {
        let text = std::fs::read(JOB_FILE).doing(|| format!("read {JOB_FILE}"))?;
        serde_json::from_slice(&text).doing(|| format!("parse {JOB_FILE}"))
    }
}

/// One message from guest to host: a tag byte, a length of four bytes (little endian), and that
/// many bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    /// The command's exit status, 128 + n after signal n. Always the last.
    Exit(i32),
    /// The guest could not run the command. Always the last.
    Failed(String),
}

/// Longest payload; the guest cuts output into pieces of at most this.
pub const FRAME_BYTES_MAX: usize = 64 * 1024;

const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const EXIT: u8 = 3;
const FAILED: u8 = 4;

impl Frame {
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Frame::Stdout(bytes) => write_frame(out, STDOUT, bytes),
            Frame::Stderr(bytes) => write_frame(out, STDERR, bytes),
            Frame::Exit(status) => write_frame(out, EXIT, &status.to_le_bytes()),
            Frame::Failed(why) => write_frame(out, FAILED, why.as_bytes()),
        }
    }

    pub fn read_from(input: &mut impl Read) -> io::Result<Frame> {
        let mut head = [0; 5];
        input.read_exact(&mut head)?;
        let [tag, length @ ..] = head;
        let length = u32::from_le_bytes(length) as usize;
        if length > FRAME_BYTES_MAX {
            return Err(garbled(format!("a frame of {length} bytes")));
        }
        let mut payload = vec![0; length];
        input.read_exact(&mut payload)?;
        match tag {
            STDOUT => Ok(Frame::Stdout(payload)),
            STDERR => Ok(Frame::Stderr(payload)),
            EXIT => <[u8; 4]>::try_from(payload)
                .map(|bytes| Frame::Exit(i32::from_le_bytes(bytes)))
                .map_err(|p| garbled(format!("an exit status of {} bytes", p.len()))),
            FAILED => Ok(Frame::Failed(
                String::from_utf8_lossy(&payload).into_owned(),
            )),
            other => Err(garbled(format!("a frame of kind {other}"))),
        }
    }
}

fn write_frame(out: &mut impl Write, tag: u8, payload: &[u8]) -> io::Result<()> {
    let payload = &payload[..payload.len().min(FRAME_BYTES_MAX)];
    let mut frame = Vec::with_capacity(5 + payload.len());
    frame.push(tag);
    // Cannot truncate: the payload was just cut to FRAME_BYTES_MAX.
    frame.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    frame.extend_from_slice(payload);
    out.write_all(&frame)
}

fn garbled(what: String) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the lab's channel is garbled: {what}"),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames() -> impl Strategy<Value = Frame> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..300);
        prop_oneof![
            bytes().prop_map(Frame::Stdout),
            bytes().prop_map(Frame::Stderr),
            any::<i32>().prop_map(Frame::Exit),
            ".*".prop_map(Frame::Failed),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(sent in proptest::collection::vec(frames(), 0..20)) {
            let mut wire = Vec::new();
            for frame in &sent {
                frame.write_to(&mut wire).unwrap();
            }
            let mut rest = wire.as_slice();
            let received: Vec<Frame> =
                sent.iter().map(|_| Frame::read_from(&mut rest).unwrap()).collect();
            prop_assert_eq!(received, sent);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn garbage_is_an_error_and_never_a_panic(wire in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Frame::read_from(&mut wire.as_slice());
        }
    }
}
