//! The policy's questions about the owners of sockets, and the bit of a key for each answer.

use takt_policy::{Link, Match, QUESTIONS_MAX, Question};

/// The different questions of a whole policy, in the order of their first use. A question's index
/// is its bit in `takt_key.who`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Questions(Vec<Question>);

impl Questions {
    /// Of all links of a policy together: a socket's owner is looked up once, for all devices.
    pub fn of(links: &[Link]) -> Self {
        let mut questions = Vec::new();
        for question in links
            .iter()
            .flat_map(|link| &link.classes)
            .flat_map(|class| &class.matches)
            .flat_map(Match::questions)
        {
            // A checked policy does not ask for more than there are bits.
            if questions.len() < QUESTIONS_MAX && !questions.contains(&question) {
                questions.push(question);
            }
        }
        Self(questions)
    }

    /// In the order of their bits.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Question> {
        self.0.iter()
    }

    /// Whether there are no questions.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bit that answers it.
    pub fn bit(&self, question: &Question) -> Option<u32> {
        let index = self.0.iter().position(|known| known == question)?;
        Some(index as u32)
    }

    /// The answers that an entry requires; `None` if one of its questions is not asked.
    pub(super) fn bits(&self, entry: &Match) -> Option<u32> {
        entry
            .questions()
            .try_fold(0, |bits, question| Some(bits | 1 << self.bit(&question)?))
    }
}
