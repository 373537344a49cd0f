//! Captures (pcap, pcapng): whose packets they hold, and when each was captured.

mod flows;
mod problem;
mod records;
mod segment;

use std::{fs::File, io::Read, path::Path, sync::Arc};

use takt_algo::sys::takt_key;
use takt_policy::traffic::FLOWS_MAX;

use crate::packet::Codepoint;

pub use self::problem::CaptureError;
use self::{flows::Flows, problem::Problem, records::BUFFER_BYTES};

/// A packet of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// After the capture's first packet.
    pub at_ns: u64,
    /// Its Ethernet frame without checksum, as long as it was before the capture cut it.
    pub bytes: u32,
}

/// Packets with the same headers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Captured {
    pub key: takt_key,
    pub ecn: Codepoint,
    /// By time; no two packets of a capture have the same.
    pub arrivals: Arc<[Arrival]>,
}

/// The flows of a file, of which there may be so many, in the order of their first packets. TCP
/// packets longer than `frame_bytes` are split.
pub(crate) fn load(
    path: &Path,
    frame_bytes: Option<u32>,
    flows_max: usize,
) -> Result<Vec<Captured>, CaptureError> {
    let opened = File::open(path).map_err(Problem::Closed);
    let mut flows = Flows::new(frame_bytes, flows_max);
    let captured = opened
        .and_then(|file| read(file, BUFFER_BYTES, &mut flows))
        .and_then(|()| flows.finish());
    captured.map_err(|problem| CaptureError::new(path, problem))
}

/// How many packets a capture with these bytes would replay, for fuzzers.
pub fn packets_in(bytes: &[u8], frame_bytes: Option<u32>) -> Result<usize, CaptureError> {
    // No record is longer than all of them, and a buffer has a least length.
    const LEAST_BYTES: usize = 64 << 10;
    let buffer_bytes = bytes.len().clamp(LEAST_BYTES, BUFFER_BYTES);
    let mut flows = Flows::new(frame_bytes, FLOWS_MAX as usize);
    let captured = read(bytes, buffer_bytes, &mut flows).and_then(|()| flows.finish());
    let captured = captured.map_err(|problem| CaptureError::new(Path::new("capture"), problem))?;
    Ok(captured.iter().map(|flow| flow.arrivals.len()).sum())
}

fn read(file: impl Read + Send, buffer_bytes: usize, flows: &mut Flows) -> Result<(), Problem> {
    records::read(file, buffer_bytes, |record| flows.add(&record))
}
