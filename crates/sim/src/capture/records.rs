//! The packets of a capture, one after the other: no more than a few records are in memory.

use std::io::Read;

use pcap_parser::{
    Block, InterfaceDescriptionBlock, PcapBlockOwned, PcapError, PcapHeader, create_reader,
    traits::{PcapNGPacketBlock, PcapReaderIterator},
};

use super::problem::Problem;

/// Packets and other records of a file.
pub(super) const RECORDS_MAX: u64 = 10_000_000;
/// More than a record has: Wireshark's packets have up to 256 KiB.
pub(super) const BUFFER_BYTES: usize = 4 << 20;
/// The Packet Block of pcapng's first drafts. The library reads types of blocks least significant
/// byte first, whatever the section's order.
const OBSOLETE_PACKET: u32 = 2;
const NS_PER_S: i128 = 1_000_000_000;

/// A packet.
pub(super) struct Record<'a> {
    /// From 1 on.
    pub number: u64,
    /// Since an epoch that all packets share.
    pub time_ns: i128,
    /// In the numbers of pcap's LINKTYPE_.
    pub link_type: i32,
    /// What it was long before the capture cut it.
    pub bytes: u32,
    pub captured: &'a [u8],
}

/// Where packets were captured, as far as their records depend on it.
struct Interface {
    link_type: i32,
    ticks_per_s: u128,
    offset_s: i64,
}

/// Passes each packet on, until one is refused.
pub(super) fn read(
    file: impl Read + Send,
    buffer_bytes: usize,
    mut take: impl FnMut(Record) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut reader = create_reader(buffer_bytes, file).map_err(|error| match error {
        PcapError::ReadError => Problem::Unreadable,
        _ => Problem::Unknown,
    })?;
    let mut interfaces = Vec::new();
    let (mut records, mut after) = (0, 0);
    loop {
        let bytes = match reader.next() {
            Ok((bytes, block)) => {
                records += 1;
                if let Some(record) = open(&block, &mut interfaces, after)? {
                    take(record)?;
                    after += 1;
                }
                bytes
            }
            Err(PcapError::Incomplete(_)) => 0,
            Err(PcapError::Eof) => return Ok(()),
            Err(PcapError::UnexpectedEof) => return Err(Problem::Cut { after }),
            Err(_) => return Err(Problem::Malformed { after }),
        };
        if records > RECORDS_MAX {
            return Err(Problem::Records);
        }
        match bytes {
            0 => refill(&mut *reader, after)?,
            _ => reader.consume(bytes),
        }
    }
}

fn refill(reader: &mut dyn PcapReaderIterator, after: u64) -> Result<(), Problem> {
    let had = reader.data().len();
    reader.refill().map_err(|_| Problem::Unreadable)?;
    if reader.data().len() > had || reader.reader_exhausted() {
        Ok(())
    } else {
        // The buffer is full, and still is not a record.
        Err(Problem::Malformed { after })
    }
}

/// The packet in a record, if it has one; notes what the record says of others.
fn open<'a>(
    block: &'a PcapBlockOwned,
    interfaces: &mut Vec<Interface>,
    after: u64,
) -> Result<Option<Record<'a>>, Problem> {
    let malformed = Problem::Malformed { after };
    let number = after + 1;
    let (interface, ticks, bytes, captured) = match block {
        PcapBlockOwned::LegacyHeader(header) => {
            interfaces.push(Interface::of_file(header));
            return Ok(None);
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            return Ok(None);
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(block)) => {
            interfaces.push(Interface::of_block(block).ok_or(malformed)?);
            return Ok(None);
        }
        PcapBlockOwned::NG(Block::SimplePacket(_)) => {
            return Err(Problem::NoTime { packet: number });
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => (
            interfaces.get(packet.if_id as usize).ok_or(malformed)?,
            u128::from(packet.ts_high) << 32 | u128::from(packet.ts_low),
            packet.origlen,
            packet.packet_data(),
        ),
        PcapBlockOwned::Legacy(packet) => {
            let interface = interfaces.first().ok_or(malformed)?;
            let seconds = u128::from(packet.ts_sec) * interface.ticks_per_s;
            let ticks = seconds + u128::from(packet.ts_usec);
            (interface, ticks, packet.origlen, packet.data)
        }
        PcapBlockOwned::NG(Block::Unknown(block))
            if [OBSOLETE_PACKET, OBSOLETE_PACKET.swap_bytes()].contains(&block.block_type) =>
        {
            return Err(Problem::Obsolete { packet: number });
        }
        // Names, statistics, secrets and other programs' own.
        PcapBlockOwned::NG(
            Block::NameResolution(_)
            | Block::InterfaceStatistics(_)
            | Block::SystemdJournalExport(_)
            | Block::DecryptionSecrets(_)
            | Block::ProcessInformation(_)
            | Block::Custom(_)
            | Block::Unknown(_),
        ) => return Ok(None),
    };
    Ok(Some(Record {
        number,
        time_ns: interface.time_ns(ticks),
        link_type: interface.link_type,
        bytes,
        captured,
    }))
}

impl Interface {
    fn of_file(header: &PcapHeader) -> Self {
        Self {
            // The upper half says how long checksums are.
            link_type: header.network.0 & 0xffff,
            ticks_per_s: if header.is_nanosecond_precision() {
                1_000_000_000
            } else {
                1_000_000
            },
            offset_s: 0,
        }
    }

    /// `None` if its clock is none.
    fn of_block(block: &InterfaceDescriptionBlock) -> Option<Self> {
        // The library's own decoder knows no powers of two.
        const IS_POWER_OF_TWO: u8 = 0x80;
        let exponent = u32::from(block.if_tsresol & !IS_POWER_OF_TWO);
        let base: u128 = match block.if_tsresol & IS_POWER_OF_TWO {
            0 => 10,
            _ => 2,
        };
        Some(Self {
            link_type: block.linktype.0,
            ticks_per_s: base.checked_pow(exponent)?,
            offset_s: block.if_tsoffset,
        })
    }

    /// Precondition: fewer than 2^66 ticks, so that no number here overflows.
    fn time_ns(&self, ticks: u128) -> i128 {
        let ns = ticks * NS_PER_S as u128 / self.ticks_per_s;
        ns as i128 + i128::from(self.offset_s) * NS_PER_S
    }
}
