//! Writes captures in pcap's format, with times in nanoseconds.

use std::io::{self, Write};

const NS_PER_S: u64 = 1_000_000_000;
const MAGIC_NS: u32 = 0xa1b2_3c4d;
/// Major 2, minor 4, as two half words.
const VERSION: u32 = 4 << 16 | 2;
const ETHERNET: u32 = 1;
const SNAP_BYTES: u32 = 65_535;

/// A capture that is being written.
pub(super) struct Writer<W> {
    out: W,
    packets: u64,
    last_ns: u64,
}

impl<W: Write> Writer<W> {
    pub fn new(mut out: W) -> io::Result<Self> {
        for word in [MAGIC_NS, VERSION, 0, 0, SNAP_BYTES, ETHERNET] {
            out.write_all(&word.to_le_bytes())?;
        }
        Ok(Self {
            out,
            packets: 0,
            last_ns: 0,
        })
    }

    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// A packet of so many bytes with this header. A clock that was set back does not go back here.
    pub fn add(&mut self, at_ns: u64, bytes: u32, header: &[u8]) -> io::Result<()> {
        self.last_ns = self.last_ns.max(at_ns);
        let (seconds, ns) = (self.last_ns / NS_PER_S, self.last_ns % NS_PER_S);
        for word in [seconds as u32, ns as u32, header.len() as u32, bytes] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.packets += 1;
        self.out.write_all(header)
    }

    /// Returns how many packets there are.
    pub fn finish(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.packets)
    }

    pub fn into_inner(self) -> W {
        self.out
    }
}
