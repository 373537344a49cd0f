//! What is wrong with a capture, and what helps.

use std::{
    io,
    path::{Path, PathBuf},
};

use takt_policy::traffic::FLOWS_MAX;
use thiserror::Error;

use super::{flows::FRAME_MAX_BYTES, records::RECORDS_MAX};

/// A capture that is not replayed.
#[derive(Debug, Error)]
#[error("capture {}: {problem}", path.display())]
pub struct CaptureError {
    path: PathBuf,
    problem: Problem,
}

impl CaptureError {
    pub(super) fn new(path: &Path, problem: Problem) -> Self {
        Self {
            path: path.to_owned(),
            problem,
        }
    }
}

/// Packets count from 1 on, as in Wireshark.
#[derive(Debug, Error)]
pub(super) enum Problem {
    #[error("it cannot be opened: {0}; a relative path starts at the traffic file")]
    Closed(io::Error),
    #[error("it cannot be read; name a file that this user can read")]
    Unreadable,
    #[error(
        "it is neither pcap nor pcapng; decompress it, or convert it with \
         `tshark -r IN -w OUT.pcapng`"
    )]
    Unknown,
    #[error("it has no packets; capture some")]
    Empty,
    #[error("it ends within what follows packet {after}; {}", keep(*after))]
    Cut { after: u64 },
    #[error("what follows packet {after} is malformed; {}", keep(*after))]
    Malformed { after: u64 },
    #[error("it has more than {RECORDS_MAX} packets and other records; split it with `editcap -c`")]
    Records,
    #[error(
        "it has more flows than the {most} that other sources leave of {FLOWS_MAX}; take fewer of \
         its packets, or of their flows"
    )]
    Flows { most: usize },
    #[error(
        "packet {packet} is of link type {link_type}, not Ethernet (1); capture on one Ethernet \
         device, not on `any`"
    )]
    LinkType { packet: u64, link_type: i32 },
    #[error(
        "packet {packet} has no time (it is in a Simple Packet Block); capture it with a program \
         that notes times"
    )]
    NoTime { packet: u64 },
    #[error(
        "packet {packet} is in a Packet Block, which pcapng has no more; write it anew with \
         `editcap IN OUT`"
    )]
    Obsolete { packet: u64 },
    #[error(
        "of packet {packet} {bytes} bytes were captured, less than an Ethernet header; capture \
         with a longer snapshot length (`tcpdump -s 256`)"
    )]
    Short { packet: u64, bytes: usize },
    #[error(
        "packet {packet} has {bytes} bytes, and frames have up to {FRAME_MAX_BYTES}; split TCP's with \
         `frame = 1514` in the source, or capture without offloads: `ethtool -K DEV tso off gso \
         off gro off`"
    )]
    Long { packet: u64, bytes: u32 },
    #[error(
        "packet {packet} is more than a second earlier than one before it; sort the packets with \
         `reordercap IN OUT`"
    )]
    Earlier { packet: u64 },
    #[error(
        "packet {packet} is more than a day later than the first; take a part with `editcap -A -B`"
    )]
    Later { packet: u64 },
}

fn keep(packets: u64) -> String {
    match packets {
        0 => "capture again".to_owned(),
        _ => format!("keep the whole packets with `editcap -r IN OUT 1-{packets}`"),
    }
}
