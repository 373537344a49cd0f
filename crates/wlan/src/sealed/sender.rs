use super::{
    BODY_MAX_BYTES, DATAGRAM_MAX_BYTES, HEADER_BYTES, Key, MAGIC, NONCE_AT, Purpose, Serial,
};

/// Seals a member's datagrams.
pub struct Sender {
    key: Key,
    purpose: Purpose,
    last: Serial,
}

impl Sender {
    /// `sender`: a number that no other member has. `epoch`: a number above all that this
    /// sender had before, such as the wall clock in nanoseconds.
    pub fn new(key: Key, purpose: Purpose, sender: u64, epoch: u64) -> Self {
        Self {
            key,
            purpose,
            last: Serial {
                sender,
                epoch,
                counter: 0,
            },
        }
    }

    /// The next datagram; `None` if the body is longer than [`BODY_MAX_BYTES`], or all counters
    /// have been used.
    pub fn seal<'a>(
        &mut self,
        body: &[u8],
        datagram: &'a mut [u8; DATAGRAM_MAX_BYTES],
    ) -> Option<&'a [u8]> {
        if body.len() > BODY_MAX_BYTES {
            return None;
        }
        self.last.counter = self.last.counter.checked_add(1)?;
        let (header, rest) = datagram.split_first_chunk_mut::<HEADER_BYTES>()?;
        header[..3].copy_from_slice(&MAGIC);
        header[3] = self.purpose.0;
        header[NONCE_AT..].copy_from_slice(&self.last.to_bytes());
        let (text, rest) = rest.split_at_mut(body.len());
        text.copy_from_slice(body);
        let tag = self.key.encrypt(header, text)?;
        rest[..tag.len()].copy_from_slice(&tag);
        let length = HEADER_BYTES + body.len() + tag.len();
        Some(&datagram[..length])
    }

    #[cfg(test)]
    pub(super) fn seal_last_but_one(&mut self) {
        self.last.counter = u64::MAX - 1;
    }
}
