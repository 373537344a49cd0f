//! The kernel's requests to a device: `struct vduse_dev_request` and `struct
//! vduse_dev_response`, 152 bytes each.

use crate::abi;

pub const MESSAGE_BYTES: usize = 152;
/// The offset of the part that differs by type.
const BODY: usize = 24;

#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    id: u32,
    pub question: Question,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Question {
    /// The driver asks for the device's position in a queue.
    QueueState { index: u32 },
    /// The driver sets the device's status.
    Status(u8),
    /// The address mapping has changed.
    Remap,
    /// A request of a later kernel.
    Unknown(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Done,
    QueueState { index: u32, avail_index: u16 },
    Failed,
}

impl Request {
    pub fn parse(bytes: &[u8; MESSAGE_BYTES]) -> Request {
        let word = |at: usize| {
            u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let question = match word(0) {
            abi::GET_VQ_STATE => Question::QueueState { index: word(BODY) },
            abi::SET_STATUS => Question::Status(bytes[BODY]),
            abi::UPDATE_IOTLB => Question::Remap,
            other => Question::Unknown(other),
        };
        Request {
            id: word(4),
            question,
        }
    }

    pub fn answered(&self, answer: Answer) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [0; MESSAGE_BYTES];
        let result = match answer {
            Answer::Failed => abi::RESULT_FAILED,
            Answer::Done | Answer::QueueState { .. } => abi::RESULT_OK,
        };
        bytes[..4].copy_from_slice(&self.id.to_ne_bytes());
        bytes[4..8].copy_from_slice(&result.to_ne_bytes());
        if let Answer::QueueState { index, avail_index } = answer {
            bytes[BODY..BODY + 4].copy_from_slice(&index.to_ne_bytes());
            bytes[BODY + 4..BODY + 6].copy_from_slice(&avail_index.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: u32, body: &[u8]) -> Request {
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[..4].copy_from_slice(&kind.to_ne_bytes());
        bytes[4..8].copy_from_slice(&77_u32.to_ne_bytes());
        bytes[BODY..BODY + body.len()].copy_from_slice(body);
        Request::parse(&bytes)
    }

    #[test]
    fn questions_are_told_apart() {
        let state = request(abi::GET_VQ_STATE, &1_u32.to_ne_bytes());
        assert_eq!(state.question, Question::QueueState { index: 1 });
        assert_eq!(request(abi::SET_STATUS, &[7]).question, Question::Status(7));
        assert_eq!(request(abi::UPDATE_IOTLB, &[]).question, Question::Remap);
        assert_eq!(request(9, &[]).question, Question::Unknown(9));
    }

    #[test]
    fn an_answer_carries_the_questions_number() {
        let asked = request(abi::GET_VQ_STATE, &1_u32.to_ne_bytes());
        let answer = asked.answered(Answer::QueueState {
            index: 1,
            avail_index: 513,
        });
        assert_eq!(answer[..4], 77_u32.to_ne_bytes());
        assert_eq!(answer[4..8], 0_u32.to_ne_bytes());
        assert_eq!(answer[24..28], 1_u32.to_ne_bytes());
        assert_eq!(answer[28..30], 513_u16.to_ne_bytes());
        assert_eq!(asked.answered(Answer::Failed)[4..8], 1_u32.to_ne_bytes());
    }
}
