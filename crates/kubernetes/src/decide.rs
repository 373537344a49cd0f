//! What the controller does about an object. Nothing here reads or writes.

use kube::ResourceExt;
use takt_fleet::{
    digest::Digest,
    operator::Push,
    revision::{Assignment, Revision},
};

use crate::resource::{FINALIZER, Phase, PolicyStatus, TaktPolicy};

/// What is done next.
#[derive(Debug, Clone)]
pub enum Step {
    /// Note that the fleet may have something of it.
    Hold,
    /// End what the fleet's hosts have of it, if this is said, and let the object go.
    LetGo {
        /// Its policy is assigned.
        end: bool,
    },
    /// Say why not.
    Refuse {
        /// In one word.
        reason: &'static str,
        /// For people.
        why: String,
    },
    /// Sign it, and release its first wave.
    Push(Box<Push>),
    /// Go on with its rollout.
    Follow {
        /// The revision that brought it.
        since: u64,
        /// Let no host begin, or let them again.
        pause: Option<bool>,
    },
    /// Another signer has the last word.
    Superseded {
        /// By this revision.
        number: u64,
    },
    /// It was taken back, and waits for a change.
    Rest,
}

/// The next step for an object: what was said of it last, the object before it with the same
/// hosts, and the fleet's revision.
pub fn step(
    policy: &TaktPolicy,
    said: &PolicyStatus,
    rival: Option<&str>,
    revision: &Revision,
) -> Step {
    let is_held = policy.finalizers().iter().any(|own| own == FINALIZER);
    let push = policy.spec.push();
    let to = push.as_ref().ok().map(|push| &push.to);
    let own = to.and_then(|to| revision.assignments.iter().find(|own| own.to == *to));
    let is_pushed = own.is_some_and(|own| said.revision > 0 && own.target.since == said.revision);
    if policy.metadata.deletion_timestamp.is_some() {
        return if is_held {
            Step::LetGo { end: is_pushed }
        } else {
            // Others hold it.
            Step::Rest
        };
    }
    if !is_held {
        return Step::Hold;
    }
    let push = match push {
        Ok(push) => push,
        Err(why) => return refuse("Invalid", why),
    };
    if let Some(rival) = rival {
        let why = format!(
            "TaktPolicy {rival}, which is older, is for {} as well",
            push.to
        );
        return refuse("Conflict", why);
    }
    let is_same = said.content == policy.spec.content() && said.revision > 0;
    match (is_same, own) {
        (true, Some(own)) if is_pushed => follow(policy, own),
        (true, _) if said.phase == Phase::TakenBack => Step::Rest,
        (true, _) => Step::Superseded {
            number: own.map_or(revision.number, |own| own.target.since),
        },
        // Pushed, and that was not noted: the controller ended between the two.
        (false, Some(own)) if is_of(own, &push) => follow(policy, own),
        (false, _) => Step::Push(Box::new(push)),
    }
}

fn refuse(reason: &'static str, why: String) -> Step {
    Step::Refuse { reason, why }
}

fn follow(policy: &TaktPolicy, own: &Assignment) -> Step {
    Step::Follow {
        since: own.target.since,
        pause: (own.paused != policy.spec.paused).then_some(policy.spec.paused),
    }
}

fn is_of(own: &Assignment, push: &Push) -> bool {
    let digest = push
        .policy
        .as_ref()
        .map(|text| Digest::for_content(text.as_bytes()));
    own.target.policy == digest
        && u128::from(own.target.hold_ms) == push.hold.as_millis()
        && own.target.health == push.health
        && own.plan == push.plan
}

/// For each object the older one with the same hosts, if there is one.
pub fn rival<'a>(
    policy: &TaktPolicy,
    all: impl Iterator<Item = &'a TaktPolicy>,
) -> Option<&'a str> {
    let selector = |policy: &TaktPolicy| {
        let to: Option<takt_fleet::selector::Selector> = policy.spec.to.parse().ok();
        to.map(|to| to.to_string())
    };
    let age = |policy: &TaktPolicy| {
        let made = policy.metadata.creation_timestamp.as_ref();
        (made.map(|made| made.0), policy.name_any())
    };
    let own = selector(policy)?;
    let older = all.filter(|other| age(other) < age(policy));
    let mut older: Vec<_> = older
        .filter(|other| selector(other).as_ref() == Some(&own))
        .collect();
    older.sort_by_key(|other| age(other));
    older
        .first()
        .and_then(|other| other.metadata.name.as_deref())
}

#[cfg(test)]
mod tests {
    use takt_fleet::revision::Content;

    use super::*;

    const TEXT: &str = "[link.eth0]\nrate = \"1gbit\"\n";

    fn policy() -> TaktPolicy {
        let object = serde_json::json!({
            "apiVersion": "fleet.takt/v1alpha1",
            "kind": "TaktPolicy",
            "metadata": {
                "name": "voice", "generation": 1, "finalizers": [FINALIZER],
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": { "to": "zone=a", "policy": TEXT },
        });
        serde_json::from_value(object).unwrap()
    }

    /// A fleet to which this object was pushed by revision 3.
    fn pushed(policy: &TaktPolicy) -> (Revision, PolicyStatus) {
        let push = policy.spec.push().unwrap();
        let mut revision = Revision::none("test");
        revision.number = 3;
        revision.assignments.push(Assignment {
            to: push.to.clone(),
            target: Content {
                since: 3,
                policy: push
                    .policy
                    .as_ref()
                    .map(|text| Digest::for_content(text.as_bytes())),
                hold_ms: 600_000,
                health: push.health.clone(),
            },
            before: None,
            salt: String::new(),
            released: 0,
            paused: false,
            plan: push.plan,
        });
        let said = PolicyStatus {
            content: policy.spec.content(),
            revision: 3,
            phase: Phase::RollingOut,
            ..PolicyStatus::default()
        };
        (revision, said)
    }

    #[test]
    fn a_new_object_is_held_and_pushed() {
        let mut policy = policy();
        let (none, said) = (Revision::none("test"), PolicyStatus::default());
        assert!(matches!(step(&policy, &said, None, &none), Step::Push(_)));
        policy.metadata.finalizers = None;
        assert!(matches!(step(&policy, &said, None, &none), Step::Hold));
    }

    #[test]
    fn what_was_pushed_is_followed() {
        let mut policy = policy();
        let (revision, said) = pushed(&policy);
        let follows = |step| match step {
            Step::Follow { since: 3, pause } => Some(pause),
            _ => None,
        };
        assert_eq!(follows(step(&policy, &said, None, &revision)), Some(None));
        // Nothing was noted.
        let none = PolicyStatus::default();
        assert_eq!(follows(step(&policy, &none, None, &revision)), Some(None));
        policy.spec.paused = true;
        let paused = follows(step(&policy, &said, None, &revision));
        assert_eq!(paused, Some(Some(true)));
        // A change is another push.
        policy.spec.rollout.hold = "5m".to_owned();
        assert!(matches!(
            step(&policy, &said, None, &revision),
            Step::Push(_)
        ));
    }

    #[test]
    fn what_was_taken_back_is_not_tried_again() {
        let mut policy = policy();
        let (mut revision, mut said) = pushed(&policy);
        revision.number = 5;
        revision.assignments[0].target.since = 5;
        revision.assignments[0].target.policy = None;
        said.phase = Phase::TakenBack;
        assert!(matches!(step(&policy, &said, None, &revision), Step::Rest));
        policy.spec.paused = true;
        assert!(matches!(step(&policy, &said, None, &revision), Step::Rest));
        policy.spec.note = "again".to_owned();
        assert!(matches!(
            step(&policy, &said, None, &revision),
            Step::Push(_)
        ));
    }

    #[test]
    fn another_signer_is_not_fought() {
        let policy = policy();
        let (mut revision, said) = pushed(&policy);
        revision.number = 4;
        revision.assignments[0].target.since = 4;
        let next = step(&policy, &said, None, &revision);
        assert!(matches!(next, Step::Superseded { number: 4 }));
    }

    #[test]
    fn mistakes_and_rivals_are_refused() {
        let mut policy = policy();
        let (none, said) = (Revision::none("test"), PolicyStatus::default());
        let next = step(&policy, &said, Some("other"), &none);
        assert!(matches!(
            next,
            Step::Refuse {
                reason: "Conflict",
                ..
            }
        ));
        policy.spec.policy = "rate = 1".to_owned();
        let next = step(&policy, &said, None, &none);
        assert!(matches!(
            next,
            Step::Refuse {
                reason: "Invalid",
                ..
            }
        ));
    }

    #[test]
    fn the_older_of_two_has_the_hosts() {
        let (one, mut two) = (policy(), policy());
        two.metadata.name = Some("aaa".to_owned());
        two.metadata.creation_timestamp =
            serde_json::from_value("2026-01-02T00:00:00Z".into()).unwrap();
        // The same hosts, written in another way.
        two.spec.to = "zone = a".to_owned();
        let is_same = two.spec.push().is_ok();
        let all = [one.clone(), two.clone()];
        assert_eq!(rival(&one, all.iter()), None);
        assert_eq!(rival(&two, all.iter()).is_some(), is_same);
    }

    #[test]
    fn a_deleted_object_ends_what_it_brought() {
        let mut policy = policy();
        let (mut revision, said) = pushed(&policy);
        policy.metadata.deletion_timestamp =
            serde_json::from_value("2026-01-02T00:00:00Z".into()).unwrap();
        let next = step(&policy, &said, None, &revision);
        assert!(matches!(next, Step::LetGo { end: true }));
        // Another signer's is left alone.
        revision.assignments[0].target.since = 9;
        let next = step(&policy, &said, None, &revision);
        assert!(matches!(next, Step::LetGo { end: false }));
        policy.metadata.finalizers = None;
        assert!(matches!(step(&policy, &said, None, &revision), Step::Rest));
    }
}
