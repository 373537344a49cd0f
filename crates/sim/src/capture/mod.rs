//! Captures (pcap, pcapng): whose packets they hold, and when each was captured.

mod flows;
mod problem;
mod records;

use std::{fs::File, path::Path, sync::Arc};

use takt_algo::sys::takt_key;

use crate::packet::Codepoint;

pub use self::problem::CaptureError;
use self::{flows::Flows, problem::Problem};

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

/// The flows of a file, of which there may be so many, in the order of their first packets.
pub(crate) fn load(path: &Path, flows_max: usize) -> Result<Vec<Captured>, CaptureError> {
    read(path, flows_max).map_err(|problem| CaptureError::new(path, problem))
}

fn read(path: &Path, flows_max: usize) -> Result<Vec<Captured>, Problem> {
    let file = File::open(path).map_err(Problem::Closed)?;
    let mut flows = Flows::new(flows_max);
    records::read(file, |record| flows.add(&record))?;
    flows.finish()
}
