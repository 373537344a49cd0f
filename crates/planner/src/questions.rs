//! What a policy asks about the owners of sockets, and which bit of a key holds each answer.

use takt_policy::{Link, Match, QUESTIONS_MAX, Question};

/// The different questions of a whole policy, in the order in which it asks them first. A question's
/// index is its bit in `takt_key.who`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Questions(Vec<Question>);

impl Questions {
    /// Of all links of a policy together: a socket is asked once, wherever its packets leave.
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

    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bit that answers it.
    pub fn bit(&self, question: &Question) -> Option<u32> {
        let index = self.0.iter().position(|known| known == question)?;
        Some(index as u32)
    }

    /// The answers that an entry wants to be yes; `None` if one of them is not asked for.
    pub(crate) fn bits(&self, entry: &Match) -> Option<u32> {
        entry
            .questions()
            .try_fold(0, |bits, question| Some(bits | 1 << self.bit(&question)?))
    }
}
