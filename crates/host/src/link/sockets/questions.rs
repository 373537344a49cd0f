//! A policy's questions about the owners of sockets, in the form of the kernel's lookup.

use std::collections::BTreeMap;

use nix::unistd;
use takt_algo::sys::{TAKT_ASK_APP, TAKT_ASK_CGROUP, TAKT_ASK_UNIT, TAKT_ASK_USER, takt_question};
use takt_planner::Questions;
use takt_policy::{Question, User};
use thiserror::Error;

use crate::{
    bpf::names::{fnv1a, padded},
    link::background::GROUP,
};

/// The key of a lookup, and the bits of the questions whose answer is yes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked(BTreeMap<Term, u32>);

/// The keys of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Term {
    kind: u32,
    uid: u32,
    name: [u64; 2],
}

/// A user's name in a policy that cannot be looked up.
#[derive(Debug, Error)]
pub enum NoUser {
    /// The host's databases have no user of that name.
    #[error("there is no user {name}")]
    Unknown {
        /// As the policy has it.
        name: String,
    },
    /// The databases could not be read.
    #[error("looking up user {name}: {source}")]
    Failed {
        /// As the policy has it.
        name: String,
        /// What the C library says.
        source: nix::errno::Errno,
    },
}

impl NoUser {
    /// As the policy has it.
    pub fn name(&self) -> &str {
        match self {
            Self::Unknown { name } | Self::Failed { name, .. } => name,
        }
    }
}

impl Asked {
    pub(crate) fn resolve(questions: &Questions) -> Result<Self, NoUser> {
        Self::resolve_all(questions.iter())
    }

    /// The bit of a question is its index.
    fn resolve_all<'a>(questions: impl Iterator<Item = &'a Question>) -> Result<Self, NoUser> {
        let mut asked = Self::default();
        for (bit, question) in questions.enumerate() {
            asked.add(Term::from_question(question)?, 1 << bit);
        }
        Ok(asked)
    }

    pub(crate) fn add(&mut self, term: Term, who: u32) {
        *self.0.entry(term).or_default() |= who;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Term, u32)> {
        self.0.iter().map(|(term, who)| (term, *who))
    }
}

impl Term {
    fn from_question(question: &Question) -> Result<Self, NoUser> {
        let term = |kind, uid, name| Self { kind, uid, name };
        Ok(match question {
            Question::App(name) => term(TAKT_ASK_APP, 0, padded(name)),
            Question::User(User::Id(uid)) => term(TAKT_ASK_USER, *uid, [0; 2]),
            Question::User(User::Name(name)) => term(TAKT_ASK_USER, uid_of(name)?, [0; 2]),
            Question::Cgroup(path) => term(TAKT_ASK_CGROUP, 0, [fnv1a(path), 0]),
            Question::Unit(name) => term(TAKT_ASK_UNIT, 0, [fnv1a(name), 0]),
            // The other half, destinations, is looked up by the qdisc itself.
            Question::Registered => term(TAKT_ASK_UNIT, 0, [fnv1a(GROUP), 0]),
        })
    }

    pub(crate) fn kind(&self) -> u32 {
        self.kind
    }

    /// As the policy of this namespace asks for it.
    pub(crate) fn in_namespace(&self, netns_cookie: u64) -> takt_question {
        takt_question {
            netns_cookie,
            kind: self.kind,
            uid: self.uid,
            name: self.name,
        }
    }
}

impl From<&takt_question> for Term {
    fn from(question: &takt_question) -> Self {
        Self {
            kind: question.kind,
            uid: question.uid,
            name: question.name,
        }
    }
}

fn uid_of(name: &str) -> Result<u32, NoUser> {
    let name = || name.to_owned();
    match unistd::User::from_name(&name()) {
        Ok(Some(user)) => Ok(user.uid.as_raw()),
        Ok(None) => Err(NoUser::Unknown { name: name() }),
        Err(source) => Err(NoUser::Failed {
            name: name(),
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_asked_twice_is_one_term_with_both_bits() {
        let root = || Question::User(User::Id(0));
        let named = Question::User(User::Name("root".to_owned()));
        let asked =
            Asked::resolve_all([root(), Question::App("x".to_owned()), named].iter()).unwrap();
        let bits: Vec<u32> = asked.iter().map(|(_, who)| who).collect();
        assert_eq!(bits, [0b010, 0b101]);
    }

    #[test]
    fn a_user_who_is_not_there_is_named() {
        let nobody = Question::User(User::Name("no such user".to_owned()));
        let error = Asked::resolve_all([nobody].iter()).unwrap_err();
        assert!(error.to_string().contains("there is no user no such user"));
    }

    #[test]
    fn names_are_cut_where_the_kernel_cuts_them() {
        assert_eq!(padded("sixteen-letters!"), padded("sixteen-letters"));
        assert_ne!(padded("sixteen-letters"), padded("sixteen-letter"));
    }
}
