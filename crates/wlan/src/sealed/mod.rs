//! Small datagrams that only members of a group can have made: XChaCha20-Poly1305 with a
//! key that they share.
//!
//! ```text
//!  0   "Tk", version 1, purpose
//!  4   sender                          big-endian, as the next two
//!  12  epoch: when the sender started
//!  20  counter, from 1 in each epoch
//!  28  body, encrypted; its lengths are fixed by the purpose
//!  ..  tag, 16 bytes, over all of the above, and the group's name
//! ```
//!
//! Sender, epoch and counter are the cipher's nonce, so a combination must never occur twice
//! with one key. No two senders have the same number (a hardware address, for instance), and a
//! restarted sender has a newer epoch, by the clock.
//!
//! A key's purpose is part of what is sealed, and so is the group's name if it has one: a
//! datagram for one purpose or group is invalid for another.

mod receiver;
mod sender;
mod strangers;
mod window;

use chacha20poly1305::{KeyInit, Tag, XChaCha20Poly1305, XNonce, aead::AeadInOut};

pub use receiver::{Counters, Opened, Receiver, Rejected};
pub use sender::Sender;

/// What a datagram is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purpose(u8);

impl Purpose {
    /// Stations' reports to their access point.
    pub const RADIO: Self = Self(1);
    /// Reports of terminals that share the air.
    pub const CROWD: Self = Self(2);
    /// An aggregator's sum of such reports.
    pub const CROWD_SUM: Self = Self(3);
}

const MAGIC: [u8; 3] = [b'T', b'k', 1];
const NONCE_AT: usize = 4;
const NONCE_BYTES: usize = 24;
const HEADER_BYTES: usize = NONCE_AT + NONCE_BYTES;
const TAG_BYTES: usize = 16;

/// The longest body.
pub const BODY_MAX_BYTES: usize = 256;
/// The longest datagram.
pub const DATAGRAM_MAX_BYTES: usize = HEADER_BYTES + BODY_MAX_BYTES + TAG_BYTES;

/// The longest name of a group, in bytes; further bytes are ignored.
const GROUP_MAX_BYTES: usize = 256;

/// The key that members of a group share.
#[derive(Clone)]
pub struct Key {
    cipher: XChaCha20Poly1305,
    group: Box<[u8]>,
}

impl Key {
    /// The length of the secret from which the key is made.
    pub const BYTES: usize = 32;

    /// For a group without a name.
    pub fn new(bytes: &[u8; Self::BYTES]) -> Self {
        Self {
            cipher: XChaCha20Poly1305::new(bytes.into()),
            group: Box::default(),
        }
    }

    /// For one of several groups that have the same key.
    pub fn of_group(self, name: &str) -> Self {
        let name = name.as_bytes();
        Self {
            group: name[..name.len().min(GROUP_MAX_BYTES)].into(),
            ..self
        }
    }

    /// A number for a name in this group, which only an owner of the key can compute or check: the
    /// name's Poly1305 tag, which is kept nowhere, is the nonce under which the number is encrypted.
    pub(crate) fn pseudonym(&self, name: &[u8]) -> Option<[u8; TAG_BYTES]> {
        let length = (self.group.len() as u64).to_be_bytes();
        let beside = [&length, &self.group[..], name].concat();
        // A datagram's counter, the last of a nonce, begins with 1.
        let mut nonce = [0; NONCE_BYTES];
        let mut number = [0; TAG_BYTES];
        let tag = self
            .cipher
            .encrypt_inout_detached(&nonce.into(), &beside, (&mut [][..]).into())
            .ok()?;
        nonce[..TAG_BYTES].copy_from_slice(&tag);
        self.cipher
            .encrypt_inout_detached(&nonce.into(), &[], number[..].as_mut().into())
            .ok()?;
        Some(number)
    }

    fn encrypt(&self, header: &[u8; HEADER_BYTES], text: &mut [u8]) -> Option<Tag> {
        let (beside, length) = self.beside(header);
        self.cipher
            .encrypt_inout_detached(&nonce(header), &beside[..length], text.into())
            .ok()
    }

    /// Whether an owner of the key made it.
    fn decrypt(&self, header: &[u8; HEADER_BYTES], text: &mut [u8], tag: &Tag) -> bool {
        let (beside, length) = self.beside(header);
        self.cipher
            .decrypt_inout_detached(&nonce(header), &beside[..length], text.into(), tag)
            .is_ok()
    }

    /// The authenticated data outside the body.
    fn beside(&self, header: &[u8; HEADER_BYTES]) -> ([u8; HEADER_BYTES + GROUP_MAX_BYTES], usize) {
        let mut beside = [0; HEADER_BYTES + GROUP_MAX_BYTES];
        let length = HEADER_BYTES + self.group.len();
        beside[..HEADER_BYTES].copy_from_slice(header);
        beside[HEADER_BYTES..length].copy_from_slice(&self.group);
        (beside, length)
    }
}

fn nonce(header: &[u8; HEADER_BYTES]) -> XNonce {
    let mut nonce = [0; NONCE_BYTES];
    nonce.copy_from_slice(&header[NONCE_AT..]);
    nonce.into()
}

/// A datagram's sender, epoch and counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Serial {
    sender: u64,
    epoch: u64,
    counter: u64,
}

impl Serial {
    fn to_bytes(self) -> [u8; NONCE_BYTES] {
        let mut bytes = [0; NONCE_BYTES];
        bytes[..8].copy_from_slice(&self.sender.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.epoch.to_be_bytes());
        bytes[16..].copy_from_slice(&self.counter.to_be_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; NONCE_BYTES]) -> Self {
        let number = |at: usize| {
            let mut eight = [0; 8];
            eight.copy_from_slice(&bytes[at..at + 8]);
            u64::from_be_bytes(eight)
        };
        Self {
            sender: number(0),
            epoch: number(8),
            counter: number(16),
        }
    }
}

#[cfg(test)]
mod tests;
