//! Texts of policies: from the engine to the disk, and off it again.

use super::{Agent, Engine};
use crate::{
    digest::Digest,
    host::{
        applier::{Applier, Policy},
        store::Store,
    },
};

impl<E: Engine, A: Applier, S: Store> Agent<E, A, S> {
    /// The text of a policy, from the disk or the engine: its digest is signed.
    pub(super) async fn text(&mut self, digest: &Digest) -> Result<Policy, String> {
        let file = self.store.policy_file(digest);
        if let Some(text) = self.store.policy(digest) {
            return Ok(Policy { file, text });
        }
        let bytes = self.engine.policy(digest).await?;
        let bytes = bytes.ok_or_else(|| format!("the engine has no policy {}", digest.short()))?;
        let text = if Digest::for_content(&bytes) == *digest {
            String::from_utf8(bytes).map_err(|error| error.to_string())?
        } else {
            self.refused.forged += 1;
            return Err(format!("the engine's policy {} is another", digest.short()));
        };
        let kept = self.store.keep_policy(digest, &text);
        kept.map_err(|error| format!("keeping the policy: {error}"))?;
        Ok(Policy { file, text })
    }

    /// Policies that neither the revision nor the host needs.
    pub(super) fn forget_policies(&mut self) {
        let own = self.journal.in_force.and_then(|own| own.policy);
        let revision = self.revision.iter();
        let assigned = revision.flat_map(|(revision, _)| &revision.assignments);
        let assigned = assigned.flat_map(|a| [Some(&a.target), a.before.as_ref()]);
        let assigned = assigned.flatten().filter_map(|content| content.policy);
        let needed: Vec<Digest> = assigned.chain(own).collect();
        self.store.keep_only(&needed);
    }
}
