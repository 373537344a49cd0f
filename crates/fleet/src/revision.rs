//! A revision: what every host of the fleet shall do, numbered and signed.

use serde::{Deserialize, Serialize};

use crate::{
    digest::Digest,
    envelope::{self, Kind},
    health::Health,
    keys::{PublicKey, Signer},
    labels::Labels,
    place::{END, place},
    selector::Selector,
};

/// Of one revision.
pub const ASSIGNMENTS_MAX: usize = 64;
/// Hosts wait at least so long until they keep a policy.
pub const HOLD_MIN_MS: u64 = 1_000;
/// `takt apply --confirm` waits an hour at most, and needs some of it.
pub const HOLD_MAX_MS: u64 = 55 * 60 * 1_000;
const FLEET_MAX_BYTES: usize = 32;
const SALT_MAX_BYTES: usize = 64;
const NOTE_MAX_BYTES: usize = 200;

/// The whole state that the fleet shall have. A later revision replaces an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revision {
    /// The fleet's name: one key may sign for several.
    pub fleet: String,
    /// Rises by one with each revision. A host takes no lower one, ever.
    pub number: u64,
    /// For people.
    pub note: String,
    /// Which hosts get what.
    pub assignments: Vec<Assignment>,
}

/// A policy for some hosts, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// The hosts.
    pub to: Selector,
    /// What they shall have.
    pub target: Content,
    /// What those have that are not released. `None`: whatever they have.
    pub before: Option<Content>,
    /// Gives hosts their places.
    pub salt: String,
    /// Hosts whose place is below may have the target: a wave is released by raising it.
    pub released: u64,
    /// No host begins.
    pub paused: bool,
    /// How the signer goes on.
    pub plan: Plan,
}

/// A policy, and how a host finds out whether it keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The number of the revision that brought it: it tells contents apart.
    pub since: u64,
    /// Of the policy's text. `None`: no policy of the fleet's.
    pub policy: Option<Digest>,
    /// On trial for so long.
    pub hold_ms: u64,
    /// What has to be true at the end of the trial.
    pub health: Health,
}

/// Waves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The first wave's share of the hosts, in millionths.
    pub canary_ppm: u32,
    /// What each later wave adds.
    pub step_ppm: u32,
    /// How long the signer waits for a host after its hold.
    pub grace_ms: u64,
    /// The share of a wave that may fail or fall silent, in millionths.
    pub tolerated_ppm: u32,
}

/// What a revision says to one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// The content to have.
    pub content: &'a Content,
    /// Do not begin now.
    pub paused: bool,
}

/// Why a host refuses a revision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The bytes are not signed, or not by the key that they name.
    #[error("forged: {0}")]
    Untrusted(#[from] envelope::Untrusted),
    /// Signed, by a key that this host does not obey.
    #[error("signed by {0}, which is not pinned here")]
    NotPinned(PublicKey),
    /// Signed, and no revision that this host understands.
    #[error("not understood: {0}")]
    NotUnderstood(String),
    /// Of another fleet.
    #[error("for fleet {0:?}")]
    OtherFleet(String),
    /// Older than one that this host has obeyed.
    #[error("replayed: number {number}, and this host has obeyed {floor}")]
    Replayed {
        /// Its number.
        number: u64,
        /// The highest that was obeyed.
        floor: u64,
    },
    /// A signer signed two revisions with one number.
    #[error("another revision {0} was signed; the one obeyed first stays")]
    Twice(u64),
}

impl Refused {
    /// Whether it was made without a pinned key.
    pub const fn is_forged(&self) -> bool {
        matches!(self, Self::Untrusted(_) | Self::NotPinned(_))
    }
}

impl Revision {
    /// The first of a fleet, with nothing in it. It is never signed.
    pub fn none(fleet: &str) -> Self {
        Self {
            fleet: fleet.to_owned(),
            number: 0,
            note: String::new(),
            assignments: Vec::new(),
        }
    }

    /// Reads signed bytes, if a pinned key signed them for this fleet.
    pub fn open(bytes: &[u8], pins: &[PublicKey], fleet: &str) -> Result<Self, Refused> {
        // First what is cheap: a flood of other keys' revisions costs no curve arithmetic.
        let claimed = envelope::claimed(Kind::Revision, bytes)?;
        if !pins.contains(&claimed) {
            return Err(Refused::NotPinned(claimed));
        }
        let (_, content) = envelope::open(Kind::Revision, bytes)?;
        let revision: Self = serde_json::from_slice(content)
            .map_err(|error| Refused::NotUnderstood(error.to_string()))?;
        revision.check().map_err(Refused::NotUnderstood)?;
        if revision.fleet == fleet {
            Ok(revision)
        } else {
            Err(Refused::OtherFleet(revision.fleet))
        }
    }

    /// Signs it.
    pub fn seal(&self, signer: &Signer) -> Vec<u8> {
        let content = serde_json::to_vec(self).unwrap_or_default();
        envelope::seal(Kind::Revision, &content, signer)
    }

    /// Bounds, and what contradicts itself.
    pub fn check(&self) -> Result<(), String> {
        check_fleet(&self.fleet)?;
        if self.note.len() > NOTE_MAX_BYTES {
            return Err(format!("a note has at most {NOTE_MAX_BYTES} bytes"));
        }
        if self.assignments.len() > ASSIGNMENTS_MAX {
            return Err(format!("more than {ASSIGNMENTS_MAX} assignments"));
        }
        for (at, assignment) in self.assignments.iter().enumerate() {
            let earlier = &self.assignments[..at];
            if earlier.iter().any(|other| other.to == assignment.to) {
                return Err(format!("two assignments to {}", assignment.to));
            }
            assignment.check(self.number)?;
        }
        Ok(())
    }

    /// What a host with this identity and these labels shall have: of the assignments to it, the
    /// one with most terms says so, and of those the one that was pushed last. `None`: what it
    /// has.
    pub fn wanted(&self, identity: &str, labels: &Labels) -> Option<Wanted<'_>> {
        self.assignment(labels)?.wanted(identity)
    }

    /// The assignment that counts for a host.
    pub fn assignment(&self, labels: &Labels) -> Option<&Assignment> {
        let own = self.assignments.iter().filter(|a| a.to.matches(labels));
        own.max_by_key(|a| (a.to.terms(), a.target.since))
    }
}

impl Assignment {
    fn check(&self, number: u64) -> Result<(), String> {
        let contents = [Some(&self.target), self.before.as_ref()];
        for content in contents.into_iter().flatten() {
            if !(HOLD_MIN_MS..=HOLD_MAX_MS).contains(&content.hold_ms) {
                return Err(format!("a hold of {} ms", content.hold_ms));
            }
            if !(1..=number).contains(&content.since) {
                return Err(format!("content of revision {}", content.since));
            }
        }
        if self.salt.len() > SALT_MAX_BYTES || self.released > END {
            return Err(format!("places of {}", self.to));
        }
        let Plan {
            canary_ppm,
            step_ppm,
            tolerated_ppm,
            ..
        } = self.plan;
        let are_shares = [canary_ppm, step_ppm]
            .iter()
            .all(|ppm| (1..=1_000_000).contains(ppm));
        if are_shares && tolerated_ppm < 1_000_000 {
            Ok(())
        } else {
            Err(format!("waves of {canary_ppm} and {step_ppm} millionths"))
        }
    }

    /// Whether a host may have the target.
    pub fn is_released(&self, identity: &str) -> bool {
        place(&self.salt, identity) < self.released
    }

    /// What it says to a host.
    pub fn wanted(&self, identity: &str) -> Option<Wanted<'_>> {
        if self.is_released(identity) {
            Some(Wanted {
                content: &self.target,
                paused: self.paused,
            })
        } else {
            self.before.as_ref().map(|content| Wanted {
                content,
                paused: false,
            })
        }
    }

    /// Whether every host may have the target.
    pub const fn is_complete(&self) -> bool {
        self.released >= END
    }
}

/// Checks the name of a fleet.
pub fn check_fleet(name: &str) -> Result<(), String> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if (1..=FLEET_MAX_BYTES).contains(&name.len()) && name.bytes().all(known) {
        Ok(())
    } else {
        Err(format!(
            "the name of a fleet has 1 to {FLEET_MAX_BYTES} of A-Z, a-z, 0-9, `_` and `-`"
        ))
    }
}
