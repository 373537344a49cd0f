//! Who of the group says what, and what is not worth a look. What is cheap comes first:
//! length and kind; whether this one has come before; whether too many are coming; and
//! only then the cipher. Nothing is allocated for a datagram.

use std::{collections::HashMap, net::IpAddr, ops::RangeInclusive};

use chacha20poly1305::Tag;
use takt_kernel::Datagrams;
use thiserror::Error;

use super::{
    BODY_MAX_BYTES, HEADER_BYTES, Key, MAGIC, NONCE_AT, NONCE_BYTES, Purpose, Serial, TAG_BYTES,
    strangers::Strangers, window::Window,
};
use crate::rate::{Bucket, Rate};

/// Senders that are remembered.
const SENDERS_MAX: usize = 1024;
/// One that was silent for this long makes room for another.
const SILENT_NS: u64 = 60_000_000_000;
/// Counters so far beyond the newest are no surprise: datagrams get lost.
const AHEAD_MAX: u64 = 1 << 16;

/// Why a datagram was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Rejected {
    /// Length, first bytes, version or purpose are others.
    #[error("it is no datagram of this kind")]
    Malformed,
    /// Its counter has come in this epoch, or is too far behind the newest to tell.
    #[error("it came before, or is older than what came")]
    Replayed,
    /// Its epoch is before the sender's last; or after it, and that was heard a moment ago.
    #[error("its sender has started anew since, or only just before")]
    OldEpoch,
    /// It fits no sender that is known, and so many of those were looked at already.
    #[error("too many come that nobody expects")]
    Flood,
    /// The cipher's tag does not fit.
    #[error("it was not made with this key, or was changed on its way")]
    Forged,
    /// A known sender's share is used up, of what is looked at or of what is taken.
    #[error("its sender says more than it may")]
    TooFast,
    /// None of those has been silent for a minute.
    #[error("there are as many senders as are remembered")]
    Full,
}

/// How many datagrams came to which end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Handed on.
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
    /// All of them.
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

    /// As people are told of them: `not_its_own` of those taken were about another than who
    /// sent them, and the kernel dropped `dropped` unread.
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

/// What a member said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened<'a> {
    /// Its number.
    pub sender: u64,
    /// In the clear, of a length that the receiver takes.
    pub body: &'a [u8],
}

/// What is known of a sender.
struct Known {
    epoch: u64,
    window: Window,
    heard_ns: u64,
    /// Of datagrams that are worth a look.
    looks: Bucket,
    /// Of those that are taken.
    taken: Bucket,
}

/// Opens what members have sealed, for one purpose.
pub struct Receiver {
    key: Key,
    purpose: Purpose,
    body_bytes: RangeInclusive<usize>,
    /// How often a sender is heard.
    rate: Rate,
    /// How often it is worth a look: copies of its next datagrams, with what nobody else
    /// knows of them, cost so much at most.
    look_rate: Rate,
    known: HashMap<u64, Known>,
    strangers: Strangers,
    counters: Counters,
}

impl Receiver {
    /// Bodies have so many bytes, [`BODY_MAX_BYTES`] at most; a sender is heard so often.
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

    /// What became of all that it was shown.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    #[cfg(test)]
    pub(super) fn known_count(&self) -> usize {
        self.known.len()
    }

    /// What the datagram says, in `body`.
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

    /// Is it worth a look?
    ///
    /// Who only sends, and does not overhear, cannot know a sender's epoch and counter. So
    /// what fits is looked at whatever else comes, and a flood of the rest silences nobody
    /// who is known already.
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
                    return match known.looks.take(&self.look_rate, now_ns) {
                        true => Ok(()),
                        false => Err(Rejected::TooFast),
                    };
                }
            }
        }
        match self.strangers.admit(now_ns, source) {
            true => Ok(()),
            false => Err(Rejected::Flood),
        }
    }

    /// A member has made it; may it be heard now?
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
            // A sender that is heard has not started anew: somebody else uses its number.
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

    /// For one more; only who has the key gets here.
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
