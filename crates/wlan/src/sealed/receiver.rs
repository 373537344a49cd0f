//! Opens datagrams and rejects what no member sealed. Cheap checks come first: length and kind,
//! then whether the counter is new, then the rate, and only then the cipher. Nothing is
//! allocated for a datagram.

use std::{collections::HashMap, net::IpAddr, ops::RangeInclusive};

use chacha20poly1305::Tag;
use takt_host::Datagrams;
use thiserror::Error;

use super::{
    BODY_MAX_BYTES, HEADER_BYTES, Key, MAGIC, NONCE_AT, NONCE_BYTES, Purpose, Serial, TAG_BYTES,
    strangers::Strangers, window::Window,
};
use crate::{Bucket, Rate};

/// Senders that are remembered.
const SENDERS_MAX: usize = 1024;
/// A sender that was silent for this long may be replaced.
const SILENT_NS: u64 = 60_000_000_000;
/// Counters up to this far beyond the newest are expected, since datagrams get lost.
const AHEAD_MAX: u64 = 1 << 16;

/// Why a datagram was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Rejected {
    /// Length, first bytes, version or purpose differ.
    #[error("it is not a datagram of this kind")]
    Malformed,
    /// Its counter was received in this epoch, or is too far behind the newest to tell.
    #[error("it is a replay, or older than the last one")]
    Replayed,
    /// Its epoch is before the sender's last, or after it although the last was heard just now.
    #[error("its sender has restarted since, or had restarted just before")]
    OldEpoch,
    /// It is of no known sender, and enough of those were checked already.
    #[error("too many datagrams of unknown senders arrive")]
    Flood,
    /// The cipher's tag does not match.
    #[error("it was not made with this key, or was changed on its way")]
    Forged,
    /// A known sender's rate is used up, of checks or of accepted datagrams.
    #[error("its sender exceeds its rate")]
    TooFast,
    /// The table is full, and no known sender has been silent for a minute.
    #[error("there are too many senders")]
    Full,
}

/// Number of datagrams by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Accepted.
    pub taken: u64,
    /// [`Rejected::Malformed`].
    pub malformed: u64,
    /// [`Rejected::Replayed`].
    pub replayed: u64,
    /// [`Rejected::OldEpoch`].
    pub old_epoch: u64,
    /// [`Rejected::Flood`].
    pub flood: u64,
    /// [`Rejected::Forged`].
    pub forged: u64,
    /// [`Rejected::TooFast`].
    pub too_fast: u64,
    /// [`Rejected::Full`].
    pub full: u64,
}

impl Counters {
    /// The sum of all.
    pub fn read(&self) -> u64 {
        let Self {
            taken,
            malformed,
            replayed,
            old_epoch,
            flood,
            forged,
            too_fast,
            full,
        } = self;
        taken + malformed + replayed + old_epoch + flood + forged + too_fast + full
    }

    /// The user-visible counters. `not_its_own` of the accepted datagrams were about a station
    /// other than their sender, and the kernel dropped `dropped` unread.
    pub fn told(&self, not_its_own: u64, dropped: u64) -> Datagrams {
        Datagrams {
            read: self.read(),
            heard: self.taken - not_its_own,
            malformed: self.malformed,
            forged: self.forged,
            replayed: self.replayed + self.old_epoch,
            unknown: self.flood + self.full,
            too_often: self.too_fast,
            not_its_own,
            dropped,
        }
    }

    fn count(&mut self, rejected: Rejected) {
        *match rejected {
            Rejected::Malformed => &mut self.malformed,
            Rejected::Replayed => &mut self.replayed,
            Rejected::OldEpoch => &mut self.old_epoch,
            Rejected::Flood => &mut self.flood,
            Rejected::Forged => &mut self.forged,
            Rejected::TooFast => &mut self.too_fast,
            Rejected::Full => &mut self.full,
        } += 1;
    }
}

/// An accepted datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened<'a> {
    /// The sender's number.
    pub sender: u64,
    /// The decrypted body, of a length that the receiver accepts.
    pub body: &'a [u8],
}

/// A known sender.
struct Known {
    epoch: u64,
    window: Window,
    heard_ns: u64,
    /// Limits checks of its datagrams.
    looks: Bucket,
    /// Limits accepted datagrams.
    taken: Bucket,
}

/// Opens what members have sealed, for one purpose.
pub struct Receiver {
    key: Key,
    purpose: Purpose,
    body_bytes: RangeInclusive<usize>,
    /// The rate at which a sender's datagrams are accepted.
    rate: Rate,
    /// The rate at which a sender's datagrams are checked: it bounds the cost of copies of its
    /// next datagrams, whose sealed part is made up.
    look_rate: Rate,
    known: HashMap<u64, Known>,
    strangers: Strangers,
    counters: Counters,
}

impl Receiver {
    /// Bodies have one of these lengths, at most [`BODY_MAX_BYTES`]; `rate` limits each sender.
    pub fn new(key: Key, purpose: Purpose, body_bytes: RangeInclusive<usize>, rate: Rate) -> Self {
        Self {
            key,
            purpose,
            body_bytes,
            rate,
            look_rate: Rate::new(rate.interval_ns() / 4, 8 * rate.burst()),
            known: HashMap::with_capacity(SENDERS_MAX),
            strangers: Strangers::new(),
            counters: Counters::default(),
        }
    }

    /// The number of datagrams by outcome.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    #[cfg(test)]
    pub(super) fn known_count(&self) -> usize {
        self.known.len()
    }

    /// Opens a datagram into `body`.
    pub fn open<'a>(
        &mut self,
        now_ns: u64,
        source: IpAddr,
        datagram: &[u8],
        body: &'a mut [u8; BODY_MAX_BYTES],
    ) -> Result<Opened<'a>, Rejected> {
        let length = datagram.len().checked_sub(HEADER_BYTES + TAG_BYTES);
        let length = length.filter(|length| self.body_bytes.contains(length));
        let body = length.and_then(|length| body.get_mut(..length));
        let Some(body) = body else {
            self.counters.malformed += 1;
            return Err(Rejected::Malformed);
        };
        match self.admit_and_open(now_ns, source, datagram, body) {
            Ok(sender) => {
                self.counters.taken += 1;
                Ok(Opened { sender, body })
            }
            Err(rejected) => {
                self.counters.count(rejected);
                Err(rejected)
            }
        }
    }

    fn admit_and_open(
        &mut self,
        now_ns: u64,
        source: IpAddr,
        datagram: &[u8],
        body: &mut [u8],
    ) -> Result<u64, Rejected> {
        let Some((header, rest)) = datagram.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Rejected::Malformed);
        };
        if header[..3] != MAGIC || header[3] != self.purpose.0 {
            return Err(Rejected::Malformed);
        }
        let mut serial = [0; NONCE_BYTES];
        serial.copy_from_slice(&header[NONCE_AT..]);
        let serial = Serial::from_bytes(&serial);
        self.admit(now_ns, source, serial)?;

        let (text, tag) = rest.split_at(body.len());
        body.copy_from_slice(text);
        let tag = Tag::try_from(tag).map_err(|_| Rejected::Malformed)?;
        if !self.key.decrypt(header, body, &tag) {
            return Err(Rejected::Forged);
        }
        self.take(now_ns, serial)?;
        Ok(serial.sender)
    }

    /// Decides whether the cipher is worth its cost.
    ///
    /// A sender that cannot overhear the members does not know their epochs and counters. So
    /// expected datagrams are checked whatever else arrives, and a flood of others silences no
    /// known sender.
    fn admit(&mut self, now_ns: u64, source: IpAddr, serial: Serial) -> Result<(), Rejected> {
        if let Some(known) = self.known.get_mut(&serial.sender) {
            if serial.epoch < known.epoch {
                return Err(Rejected::OldEpoch);
            }
            if serial.epoch == known.epoch {
                if !known.window.is_new(serial.counter) {
                    return Err(Rejected::Replayed);
                }
                if serial.counter.saturating_sub(known.window.newest()) <= AHEAD_MAX {
                    return if known.looks.take(&self.look_rate, now_ns) {
                        Ok(())
                    } else {
                        Err(Rejected::TooFast)
                    };
                }
            }
        }
        if self.strangers.admit(now_ns, source) {
            Ok(())
        } else {
            Err(Rejected::Flood)
        }
    }

    /// Accepts a member's datagram, if its rate allows.
    fn take(&mut self, now_ns: u64, serial: Serial) -> Result<(), Rejected> {
        if !self.known.contains_key(&serial.sender) {
            self.make_room(now_ns)?;
        }
        let known = self.known.entry(serial.sender).or_insert(Known {
            epoch: serial.epoch,
            window: Window::default(),
            heard_ns: now_ns,
            looks: Bucket::default(),
            taken: Bucket::default(),
        });
        if serial.epoch != known.epoch {
            // An active sender has not restarted: another host uses its number.
            let silent_ns = now_ns.saturating_sub(known.heard_ns);
            if silent_ns < 2 * self.rate.interval_ns() {
                return Err(Rejected::OldEpoch);
            }
            (known.epoch, known.window) = (serial.epoch, Window::default());
        }
        known.window.mark(serial.counter);
        if !known.taken.take(&self.rate, now_ns) {
            return Err(Rejected::TooFast);
        }
        known.heard_ns = now_ns;
        Ok(())
    }

    /// Makes room for one more sender; only an owner of the key gets here.
    fn make_room(&mut self, now_ns: u64) -> Result<(), Rejected> {
        if self.known.len() < SENDERS_MAX {
            return Ok(());
        }
        let longest = self
            .known
            .iter()
            .min_by_key(|(sender, known)| (known.heard_ns, **sender));
        let gone = longest.filter(|(_, known)| now_ns.saturating_sub(known.heard_ns) >= SILENT_NS);
        let sender = *gone.ok_or(Rejected::Full)?.0;
        self.known.remove(&sender);
        Ok(())
    }
}
