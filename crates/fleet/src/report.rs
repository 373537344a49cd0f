//! What a host tells of itself, signed with its own key.

use serde::{Deserialize, Serialize};

use crate::{
    envelope::{self, Kind, Untrusted},
    keys::{PublicKey, Signer},
    labels::{self, Labels},
};

/// Of one host, at one moment. Short: every host sends one a minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The fleet's name.
    pub fleet: String,
    /// The host's identity.
    pub id: String,
    /// Drawn when the agent began: two agents of one identity differ.
    pub instance: String,
    /// Rises with each report of an instance.
    pub seq: u64,
    /// What selectors ask for.
    pub labels: Labels,
    /// The number of the revision that it obeys; 0 is none.
    pub number: u64,
    /// The number of the content in force; 0 is none of the fleet's.
    pub in_force: u64,
    /// Of the policy in force: the beginning of its digest, or nothing.
    pub policy: String,
    /// The number of the content on trial; 0 is none.
    pub trial: u64,
    /// The content that was wanted and taken back; 0 is none.
    pub failed: u64,
    /// Why it was taken back, or cannot be tried.
    pub why: String,
    /// Another policy than the fleet's is in force.
    pub drifted: bool,
    /// What was refused since the agent began.
    pub refused: Counts,
    /// Digest of `takt status`.
    pub sums: Sums,
}

/// Refused messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// By no pinned key.
    pub forged: u64,
    /// Older ones, and second ones of one number.
    pub replayed: u64,
    /// Signed, and of another fleet or not understood.
    pub foreign: u64,
    /// More than a host looks at.
    pub flooded: u64,
    /// Reports of this identity by another agent.
    pub duplicate: u64,
}

/// Of all classes of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sums {
    /// Since the policy was put in force.
    pub sent: u64,
    /// Since then.
    pub dropped: u64,
    /// The class with most drops, as `DEVICE/CLASS`, or nothing.
    pub worst: String,
    /// By takt's own word.
    pub problems: u32,
}

impl Report {
    /// Signs it.
    pub fn seal(&self, signer: &Signer) -> Vec<u8> {
        let content = serde_json::to_vec(self).unwrap_or_default();
        envelope::seal(Kind::Report, &content, signer)
    }

    /// Reads signed bytes. Which key a host has is for the caller to say.
    pub fn open(bytes: &[u8], fleet: &str) -> Result<(PublicKey, Self), Untrusted> {
        let (key, content) = envelope::open(Kind::Report, bytes)?;
        let report: Self = serde_json::from_slice(content).map_err(|_| Untrusted::Malformed)?;
        let is_sound = report.fleet == fleet
            && labels::check_identity(&report.id).is_ok()
            && labels::check(&report.labels).is_ok();
        if is_sound {
            Ok((key, report))
        } else {
            Err(Untrusted::Malformed)
        }
    }
}
