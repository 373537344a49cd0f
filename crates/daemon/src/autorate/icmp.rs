//! Messages of ICMP that hosts answer: echo (RFC 792, RFC 4443) and, of IPv4, time stamps (RFC 792).

const ECHO_V4: u8 = 8;
const ECHO_REPLY_V4: u8 = 0;
const STAMP: u8 = 13;
const STAMP_REPLY: u8 = 14;
const ECHO_V6: u8 = 128;
const ECHO_REPLY_V6: u8 = 129;

const ECHO_BYTES: usize = 16;
const STAMP_BYTES: usize = 20;
/// A time stamp that is not milliseconds since midnight has this bit (RFC 792).
const NOT_STANDARD: u32 = 1 << 31;

/// Answers that a socket of IPv4 and of IPv6 is to hear.
pub(super) const REPLIES_V4: [u8; 2] = [ECHO_REPLY_V4, STAMP_REPLY];
pub(super) const REPLY_V6: u8 = ECHO_REPLY_V6;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    EchoV4,
    EchoV6,
    /// Only of IPv4.
    Stamps,
}

/// A question, and what its answer has to repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Question {
    pub kind: Kind,
    pub id: u16,
    pub sequence: u16,
    /// Not known to others: who did not see the question cannot answer it.
    pub secret: u64,
}

/// Milliseconds since midnight, of the host that answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamps {
    pub received_ms: u32,
    pub sent_ms: u32,
}

impl Question {
    /// The message, without an IP header.
    pub fn bytes(&self) -> Vec<u8> {
        let kind = match self.kind {
            Kind::EchoV4 => ECHO_V4,
            Kind::EchoV6 => ECHO_V6,
            Kind::Stamps => STAMP,
        };
        let mut bytes = vec![kind, 0, 0, 0];
        bytes.extend(self.id.to_be_bytes());
        bytes.extend(self.sequence.to_be_bytes());
        match self.kind {
            Kind::EchoV4 | Kind::EchoV6 => bytes.extend(self.secret.to_be_bytes()),
            Kind::Stamps => {
                bytes.extend(self.originated().to_be_bytes());
                bytes.extend([0; 8]);
            }
        }
        // The kernel fills in that of IPv6, which covers addresses as well (RFC 3542, section 3.1).
        if self.kind != Kind::EchoV6 {
            let sum = checksum(&bytes).to_be_bytes();
            bytes[2..4].copy_from_slice(&sum);
        }
        bytes
    }

    /// A stamp of this host, which says nothing of its clock.
    fn originated(&self) -> u32 {
        self.secret as u32 | NOT_STANDARD
    }

    /// Whether this message, without an IP header, is the answer, and its stamps if it has any.
    pub fn is_answered_by(&self, message: &[u8]) -> Option<Option<Stamps>> {
        let (kind, bytes) = match self.kind {
            Kind::EchoV4 => (ECHO_REPLY_V4, ECHO_BYTES),
            Kind::EchoV6 => (ECHO_REPLY_V6, ECHO_BYTES),
            Kind::Stamps => (STAMP_REPLY, STAMP_BYTES),
        };
        let message = message.get(..bytes)?;
        let is_its = message[0] == kind
            && message[1] == 0
            && message[4..6] == self.id.to_be_bytes()
            && message[6..8] == self.sequence.to_be_bytes();
        match self.kind {
            _ if !is_its => None,
            Kind::EchoV4 | Kind::EchoV6 => {
                (message[8..16] == self.secret.to_be_bytes()).then_some(None)
            }
            Kind::Stamps => {
                let number = |at: usize| {
                    u32::from_be_bytes([
                        message[at],
                        message[at + 1],
                        message[at + 2],
                        message[at + 3],
                    ])
                };
                let (received_ms, sent_ms) = (number(12), number(16));
                let are_standard = (received_ms | sent_ms) & NOT_STANDARD == 0;
                (number(8) == self.originated()).then_some(are_standard.then_some(Stamps {
                    received_ms,
                    sent_ms,
                }))
            }
        }
    }
}

/// The sequence number of an answer; `None`: it is none of this id.
pub(super) fn sequence_of(message: &[u8], id: u16) -> Option<u16> {
    let [_, _, _, _, id_high, id_low, high, low, ..] = *message else {
        return None;
    };
    (u16::from_be_bytes([id_high, id_low]) == id).then_some(u16::from_be_bytes([high, low]))
}

/// What follows the IP header of a packet of IPv4.
pub(super) fn behind_header(packet: &[u8]) -> Option<&[u8]> {
    let words = usize::from(packet.first()? & 0xf);
    packet.get(4 * words.max(5)..)
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|word| {
        let low = word.get(1).copied().unwrap_or_default();
        u32::from(u16::from_be_bytes([word[0], low]))
    });
    let mut sum: u32 = words.sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(kind: Kind) -> Question {
        Question {
            kind,
            id: 0x1234,
            sequence: 7,
            secret: 0x0123_4567_89ab_cdef,
        }
    }

    /// As a host answers: the question with another type, and its stamps.
    fn answer(question: &Question) -> Vec<u8> {
        let mut bytes = question.bytes();
        bytes[0] = match question.kind {
            Kind::EchoV4 => ECHO_REPLY_V4,
            Kind::EchoV6 => ECHO_REPLY_V6,
            Kind::Stamps => STAMP_REPLY,
        };
        if question.kind == Kind::Stamps {
            bytes[12..16].copy_from_slice(&1_000u32.to_be_bytes());
            bytes[16..20].copy_from_slice(&1_001u32.to_be_bytes());
        }
        bytes
    }

    #[test]
    fn each_question_knows_its_answer() {
        let stamps = Stamps {
            received_ms: 1_000,
            sent_ms: 1_001,
        };
        for (kind, stamps) in [
            (Kind::EchoV4, None),
            (Kind::EchoV6, None),
            (Kind::Stamps, Some(stamps)),
        ] {
            let question = question(kind);
            let answer = answer(&question);
            assert_eq!(question.is_answered_by(&answer), Some(stamps));
            assert_eq!(sequence_of(&answer, 0x1234), Some(7));
            assert_eq!(sequence_of(&answer, 0x1235), None);
            for end in 0..answer.len() {
                assert_eq!(question.is_answered_by(&answer[..end]), None);
            }
            for at in (0..2).chain(4..12) {
                let mut forged = answer.clone();
                forged[at] ^= 1;
                assert_eq!(question.is_answered_by(&forged), None, "{kind:?} {at}");
            }
        }
    }

    #[test]
    fn stamps_that_count_something_else_are_none() {
        let question = question(Kind::Stamps);
        let mut answer = answer(&question);
        answer[12] |= 0x80;
        assert_eq!(question.is_answered_by(&answer), Some(None));
    }

    #[test]
    fn a_message_with_its_checksum_adds_up_to_nothing() {
        for kind in [Kind::EchoV4, Kind::Stamps] {
            assert_eq!(checksum(&question(kind).bytes()), 0);
        }
        assert_eq!(checksum(&[0x45, 0, 1]), 0xb9ff);
    }

    #[test]
    fn a_header_has_the_length_that_it_says() {
        let mut packet = vec![0x46];
        packet.resize(24, 0);
        packet.extend([1, 2]);
        assert_eq!(behind_header(&packet), Some(&[1, 2][..]));
        assert_eq!(behind_header(&packet[..10]), None);
        assert_eq!(behind_header(&[]), None);
    }
}
