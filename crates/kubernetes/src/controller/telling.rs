//! What became of an object is told, as its status.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::Controller;
use crate::{
    api::soon,
    status::{Outcome, after},
};

impl Controller {
    /// Decides on a status.
    pub(super) fn say(&mut self, name: &str, outcome: &Outcome) {
        let Some(own) = self.objects.get_mut(name) else {
            return;
        };
        let now = k8s_openapi::jiff::Timestamp::now();
        let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let generation = own.policy.metadata.generation.unwrap_or_default();
        let content = own.policy.spec.content();
        let next = after(&own.said, generation, &content, outcome, &now);
        if next == own.said {
            return;
        }
        if next.phase != own.said.phase {
            eprintln!("takt-kubernetes: {name}: {:?} {}", next.phase, next.why);
        }
        own.said = next;
        own.is_told = false;
    }

    /// Writes an object's status, if the API has another. Rollouts do not wait for that.
    pub(super) async fn tell(&mut self, name: &str) {
        let Some(own) = self.objects.get_mut(name).filter(|own| !own.is_told) else {
            return;
        };
        let patch = Patch::Merge(json!({ "status": own.said }));
        let terms = PatchParams::default();
        match soon(self.api.patch_status(name, &terms, &patch)).await {
            Ok(_) => own.is_told = true,
            Err(error) => eprintln!("takt-kubernetes: the status of {name}: {error}"),
        }
    }
}
