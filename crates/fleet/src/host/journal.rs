//! What a host remembers, and what it does next. Decisions only: nothing here reads or writes.

use serde::{Deserialize, Serialize};

use crate::{
    digest::Digest,
    revision::{Content, Wanted},
};

/// Trials that ended with the agent; after these the host gives up.
pub const ATTEMPTS_MAX: u32 = 3;
/// Failures that are remembered, the latest.
const FAILURES_MAX: usize = 16;
const WHY_MAX_BYTES: usize = 160;

/// Of one host, over restarts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The content that was confirmed last. `None`: the fleet has given this host nothing yet.
    pub in_force: Option<InForce>,
    /// A trial that has begun, and of which no end is known.
    pub trial: Option<Attempt>,
    /// Contents that this host has taken back, and does not try again.
    pub failed: Vec<Failure>,
    /// The boot of the host in which the policy was put in force.
    pub boot: String,
    /// The content in force has passed its trial, and takt may not have been told.
    pub unsure: bool,
}

/// A content that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// [`Content::since`].
    pub since: u64,
    /// [`Content::policy`].
    pub policy: Option<Digest>,
}

/// A trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// [`Content::since`].
    pub since: u64,
    /// The first is 1.
    pub number: u32,
}

/// A content that was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// [`Content::since`].
    pub since: u64,
    /// The reason, in short.
    pub why: String,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// Nothing.
    Rest,
    /// Note that the content is in force: it asks for nothing, and the host has nothing.
    Adopt(&'a Content),
    /// Try the content.
    Begin(&'a Content),
    /// Take back what is on trial: it is not wanted any more.
    Cancel,
}

impl Journal {
    /// What to do, if this is wanted and the content of this number is on trial now.
    pub fn step<'a>(&self, wanted: Option<Wanted<'a>>, running: Option<u64>) -> Step<'a> {
        if let Some(since) = running {
            return match wanted {
                Some(wanted) if wanted.content.since == since => Step::Rest,
                _ => Step::Cancel,
            };
        }
        let Some(Wanted { content, paused }) = wanted else {
            return Step::Rest;
        };
        let has = self.in_force.is_some_and(|own| own.since == content.since);
        if has || paused || self.failure(content.since).is_some() {
            return Step::Rest;
        }
        let has_none = self.in_force.is_none_or(|own| own.policy.is_none());
        if content.policy.is_none() && has_none {
            Step::Adopt(content)
        } else {
            Step::Begin(content)
        }
    }

    /// Why a content was taken back here.
    pub fn failure(&self, since: u64) -> Option<&Failure> {
        self.failed.iter().find(|failure| failure.since == since)
    }

    /// A trial begins.
    pub fn begins(&mut self, since: u64) {
        let earlier = self.trial.filter(|earlier| earlier.since == since);
        let number = earlier.map_or(1, |earlier| earlier.number + 1);
        self.trial = Some(Attempt { since, number });
    }

    /// The content on trial stays.
    pub fn keeps(&mut self, content: &Content) {
        self.trial = None;
        self.in_force = Some(InForce {
            since: content.since,
            policy: content.policy,
        });
    }

    /// The content on trial was taken back, for good.
    pub fn fails(&mut self, since: u64, why: &str) {
        self.trial = None;
        self.failed.retain(|failure| failure.since != since);
        if self.failed.len() >= FAILURES_MAX {
            self.failed.remove(0);
        }
        let why = shorten(why);
        self.failed.push(Failure { since, why });
    }

    /// The content on trial was taken back since something else is wanted.
    pub fn gives_up(&mut self) {
        self.trial = None;
    }

    /// The agent begins, and a trial had no end. Whether it gave up.
    pub fn resumes(&mut self) -> bool {
        match self.trial {
            Some(Attempt { since, number }) if number >= ATTEMPTS_MAX => {
                self.fails(since, "the agent ended during each of three trials");
                true
            }
            _ => false,
        }
    }
}

fn shorten(why: &str) -> String {
    let line = why.lines().next().unwrap_or_default();
    let ends = line.char_indices().map(|(at, one)| at + one.len_utf8());
    let end = ends.take_while(|end| *end <= WHY_MAX_BYTES).last();
    line[..end.unwrap_or(0)].to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::health::Health;

    fn content(since: u64, policy: Option<u8>) -> Content {
        Content {
            since,
            policy: policy.map(|byte| Digest::for_content(&[byte])),
            hold_ms: 1_000,
            health: Health::sound(),
        }
    }

    #[derive(Debug, Clone)]
    enum Event {
        Want(u64, Option<u8>, bool),
        Keep,
        Fail,
        Restart,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            (1u64..5, any::<Option<u8>>(), any::<bool>())
                .prop_map(|(since, policy, paused)| Event::Want(since, policy, paused)),
            Just(Event::Keep),
            Just(Event::Fail),
            Just(Event::Restart),
        ]
    }

    proptest! {
        /// Whatever happens: what failed is not tried again, what is in force was wanted and tried,
        /// and a pause begins nothing.
        #[test]
        fn a_host_is_careful(events in prop::collection::vec(event(), 1..60)) {
            let mut journal = Journal::default();
            let mut wanted = None;
            let mut running: Option<Content> = None;
            let mut begun: Vec<u64> = Vec::new();
            for event in events {
                match (event, running.clone()) {
                    (Event::Want(since, policy, paused), _) => {
                        wanted = Some((content(since, policy), paused));
                    }
                    (Event::Keep, Some(content)) => {
                        journal.keeps(&content);
                        running = None;
                    }
                    (Event::Fail, Some(content)) => {
                        journal.fails(content.since, "ill");
                        running = None;
                    }
                    (Event::Restart, _) => {
                        running = None;
                        journal.resumes();
                    }
                    _ => {}
                }
                let failed: Vec<u64> = journal.failed.iter().map(|f| f.since).collect();
                let wants = wanted.as_ref().map(|(content, paused)| Wanted {
                    content,
                    paused: *paused,
                });
                let step = journal.step(wants, running.as_ref().map(|content| content.since));
                match step {
                    Step::Rest => {}
                    Step::Adopt(content) => {
                        prop_assert!(content.policy.is_none());
                        begun.push(content.since);
                        journal.keeps(&content.clone());
                    }
                    Step::Begin(content) => {
                        prop_assert!(!failed.contains(&content.since));
                        prop_assert!(!wanted.as_ref().unwrap().1);
                        prop_assert!(running.is_none());
                        begun.push(content.since);
                        running = Some(content.clone());
                        journal.begins(content.since);
                        prop_assert!(journal.trial.unwrap().number <= ATTEMPTS_MAX);
                    }
                    Step::Cancel => {
                        prop_assert!(running.is_some());
                        running = None;
                        journal.gives_up();
                    }
                }
                if let Some(own) = journal.in_force {
                    prop_assert!(begun.contains(&own.since));
                }
            }
        }
    }

    #[test]
    fn why_is_short() {
        let mut journal = Journal::default();
        for since in 0..40 {
            journal.fails(since, &"ü\n".repeat(300));
            journal.fails(since, &"ü".repeat(300));
        }
        assert_eq!(journal.failed.len(), FAILURES_MAX);
        assert!(journal.failed.iter().all(|f| f.why.len() <= WHY_MAX_BYTES));
    }
}
