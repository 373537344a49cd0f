//! Recording: what leaves a device of this host, or comes in on it, becomes a capture and a traffic
//! file that replays it.
//!
//! Of each packet only its time, its length and what the kernel's header reader says of it is kept;
//! headers are made anew of that ([`header`]). So no payload, option, checksum or hardware address
//! gets into a file.

mod device;
mod header;
mod names;
mod pcap;
mod socket;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::Serialize;
use takt_algo::sys::takt_key;
use thiserror::Error;

pub use self::names::Names;
use self::{
    header::frames,
    pcap::Writer,
    socket::{Event, Packets},
};

/// A recording's file has up to so many packets; 100 bytes each.
pub const PACKETS_MAX: u64 = 2_000_000;
/// The file is for its owner alone: it says who talked to whom.
const MODE: u32 = 0o600;
const ETHERNET_BYTES: u32 = 14;

/// What is recorded.
#[derive(Debug, Clone)]
pub struct RecordTerms {
    /// The network device.
    pub device: String,
    /// For so long at most.
    pub duration: Duration,
    /// What comes in, not what leaves.
    pub incoming: bool,
    /// Addresses are replaced by others, by a key that is forgotten.
    pub hashes: bool,
    /// The traffic file. The capture is beside it, and ends in `.pcap`.
    pub to: PathBuf,
}

/// Why a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Its time is over.
    Time,
    /// It was interrupted.
    Signal,
    /// The file has as many packets as it may.
    Packets,
    /// More addresses came than are told apart.
    Addresses,
    /// The device went down or away.
    Device,
}

/// What was recorded.
#[derive(Debug, Clone, Serialize)]
pub struct Recorded {
    /// The traffic file.
    pub traffic: PathBuf,
    /// The capture.
    pub capture: PathBuf,
    /// In it.
    pub packets: u64,
    /// The host was too busy to record them.
    pub missed_packets: u64,
    /// From the beginning to the end.
    pub duration_ns: u64,
    /// Why it ended.
    pub end: End,
}

/// Why nothing is recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// There is no such device.
    #[error("there is no device {0}; `ip link` lists them")]
    NoDevice(String),
    /// It has no Ethernet headers.
    #[error("{0} has no Ethernet headers; record on a device that has, below it or beside it")]
    NotEthernet(String),
    /// Not as this user.
    #[error("recording needs CAP_NET_RAW: run it as root")]
    NotAllowed,
    /// A file is in the way, or cannot be written.
    #[error("{} cannot be made: {error}; say another place with --to", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// Nothing came.
    #[error("no packet {} {device} meanwhile; nothing is kept", way(*incoming))]
    Nothing {
        /// The device.
        device: String,
        /// See [`RecordTerms`].
        incoming: bool,
    },
    /// The kernel refuses something else.
    #[error("{0}")]
    Kernel(#[from] io::Error),
}

/// Records until the time is over, SIGINT or SIGTERM come, or a bound is reached. No other thread
/// of the process may take these signals. Files that exist are not written over, and after an error
/// none is left.
pub fn record(terms: &RecordTerms) -> Result<Recorded, RecordError> {
    let mut packets = Packets::open(&terms.device, terms.incoming)?;
    let mut made = Made::default();
    let recorded = write(terms, &mut packets, &mut made);
    if recorded.is_ok() {
        made.keep();
    }
    recorded
}

/// Files that are removed again unless they are kept.
#[derive(Default)]
struct Made(Vec<PathBuf>);

impl Made {
    fn create(&mut self, path: &Path) -> Result<File, RecordError> {
        let mut options = OpenOptions::new();
        let made = options.write(true).create_new(true).mode(MODE).open(path);
        let file = made.map_err(|error| RecordError::File {
            path: path.to_owned(),
            error,
        })?;
        self.0.push(path.to_owned());
        Ok(file)
    }

    fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in &self.0 {
            // It is ours; if it is gone already, so much the better.
            let _ = fs::remove_file(path);
        }
    }
}

fn write(
    terms: &RecordTerms,
    packets: &mut Packets,
    made: &mut Made,
) -> Result<Recorded, RecordError> {
    let capture = terms.to.with_extension("pcap");
    let mut traffic = made.create(&terms.to)?;
    let file = made.create(&capture)?;
    let frame_bytes = frame_bytes(packets.mtu_bytes());
    let full = |error| RecordError::File {
        path: capture.clone(),
        error,
    };
    let mut writer = Writer::new(BufWriter::new(file)).map_err(full)?;
    let mut names = terms.hashes.then(Names::new);
    let began = Instant::now();
    let end = loop {
        let left = terms.duration.saturating_sub(began.elapsed());
        match packets.next(left)? {
            Event::Packet {
                at_ns,
                bytes,
                captured,
            } => {
                for frame in frames(captured, bytes, frame_bytes) {
                    let Some(header) = frame.header(names.as_mut()) else {
                        break;
                    };
                    writer.add(at_ns, frame.bytes, &header).map_err(full)?;
                }
                if names.as_ref().is_some_and(Names::is_full) {
                    break End::Addresses;
                }
                if writer.packets() >= PACKETS_MAX {
                    break End::Packets;
                }
            }
            Event::Nothing => break End::Time,
            Event::Signal => break End::Signal,
            Event::Gone => break End::Device,
        }
    };
    let duration = began.elapsed();
    let count = writer.finish().map_err(full)?;
    if count == 0 {
        return Err(RecordError::Nothing {
            device: terms.device.clone(),
            incoming: terms.incoming,
        });
    }
    let text = traffic_file(terms, &capture, frame_bytes, count);
    let written = traffic.write_all(text.as_bytes());
    written.map_err(|error| RecordError::File {
        path: terms.to.clone(),
        error,
    })?;
    Ok(Recorded {
        traffic: terms.to.clone(),
        capture,
        packets: count,
        missed_packets: packets.missed(),
        duration_ns: duration.as_nanos() as u64,
        end,
    })
}

/// The longest frame that a traffic file takes, or that the device sends.
fn frame_bytes(mtu_bytes: u32) -> u32 {
    const FRAME_MAX_BYTES: u32 = 9_216;
    const FRAME_LEAST_BYTES: u32 = 590;
    mtu_bytes
        .saturating_add(ETHERNET_BYTES)
        .clamp(FRAME_LEAST_BYTES, FRAME_MAX_BYTES)
}

/// What a packet did on the device.
fn way(incoming: bool) -> &'static str {
    if incoming { "came in on" } else { "left" }
}

fn traffic_file(terms: &RecordTerms, capture: &Path, frame_bytes: u32, packets: u64) -> String {
    let file = capture.file_name().unwrap_or_default().to_string_lossy();
    let way = way(terms.incoming);
    // TOML's basic strings have the escapes of JSON's.
    let file = serde_json::Value::from(file.into_owned());
    format!(
        "# {packets} packets that {way} {device}, recorded by takt sim --record.\n\n\
         [[source]]\nname = \"recorded\"\nkind = \"capture\"\nfile = {file}\n\
         frame = {frame_bytes}\n",
        device = terms.device
    )
}

/// What is kept of a packet of so many bytes, of which these were captured: a capture's bytes. For
/// fuzzers; `key` is what it says of its flow.
pub fn kept(captured: &[u8], bytes: u32, names: Option<&mut Names>) -> Option<(takt_key, Vec<u8>)> {
    let frame = frames(captured, bytes, u32::MAX).next()?;
    let header = frame.header(names)?;
    let mut writer = Writer::new(Vec::new()).ok()?;
    writer.add(0, frame.bytes, &header).ok()?;
    Some((frame.key(), writer.into_inner()))
}
