//! An aggregator's sum: the body of a sealed datagram, or of several. Each entry has its
//! terminal's number, so that a terminal can leave itself out, and limit what it counts of each
//! other one.

use super::Activity;
use crate::sealed::BODY_MAX_BYTES;

const HEAD_BYTES: usize = 8;
const ENTRY_BYTES: usize = 8 + Activity::BYTES;
/// Entries that fit one datagram.
pub const ENTRIES_MAX: usize = (BODY_MAX_BYTES - HEAD_BYTES) / ENTRY_BYTES;
pub const SUM_MIN_BYTES: usize = HEAD_BYTES + ENTRY_BYTES;
pub const SUM_MAX_BYTES: usize = HEAD_BYTES + ENTRIES_MAX * ENTRY_BYTES;

/// Terminals that belong to no group, as an access point counts them where it keeps every
/// station's share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Strangers {
    /// Those that upload; 0: there are none, or no access point counts them.
    pub count: u16,
    /// What they get together, in bytes per second.
    pub rate_bytes_ps: u32,
}

/// What is said once in a datagram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Head {
    /// The next sum comes within this time.
    pub within_ms: u16,
    pub strangers: Strangers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub number: u64,
    pub activity: Activity,
}

/// Writes the head, and up to [`ENTRIES_MAX`] entries of number and activity. Returns the length
/// in bytes.
pub fn write(
    head: Head,
    entries: impl Iterator<Item = Entry>,
    body: &mut [u8; BODY_MAX_BYTES],
) -> &[u8] {
    let (place, rest) = body.split_at_mut(HEAD_BYTES);
    place[..2].copy_from_slice(&head.within_ms.to_be_bytes());
    place[2..4].copy_from_slice(&head.strangers.count.to_be_bytes());
    place[4..].copy_from_slice(&head.strangers.rate_bytes_ps.to_be_bytes());
    let mut length = HEAD_BYTES;
    for (place, entry) in rest.chunks_exact_mut(ENTRY_BYTES).zip(entries) {
        let (number, activity) = place.split_at_mut(8);
        number.copy_from_slice(&entry.number.to_be_bytes());
        activity.copy_from_slice(&entry.activity.to_bytes());
        length += ENTRY_BYTES;
    }
    &body[..length]
}

/// `None`: no number of entries has this length.
pub fn read(body: &[u8]) -> Option<(Head, impl Iterator<Item = Entry>)> {
    let ([w0, w1, s0, s1, r0, r1, r2, r3], rest) = body.split_first_chunk::<HEAD_BYTES>()?;
    let head = Head {
        within_ms: u16::from_be_bytes([*w0, *w1]),
        strangers: Strangers {
            count: u16::from_be_bytes([*s0, *s1]),
            rate_bytes_ps: u32::from_be_bytes([*r0, *r1, *r2, *r3]),
        },
    };
    let (entries, rest) = rest.as_chunks::<ENTRY_BYTES>();
    let entry = |bytes: &[u8; ENTRY_BYTES]| {
        let (mut number, mut activity) = ([0; 8], [0; Activity::BYTES]);
        number.copy_from_slice(&bytes[..8]);
        activity.copy_from_slice(&bytes[8..]);
        Entry {
            number: u64::from_be_bytes(number),
            activity: Activity::from_bytes(activity),
        }
    };
    rest.is_empty().then(|| (head, entries.iter().map(entry)))
}
