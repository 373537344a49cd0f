//! Events that `kubectl describe pod` shows.

use k8s_openapi::{
    api::core::v1::{Event, EventSource, ObjectReference, Pod},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};
use kube::{Api, Client, ResourceExt, api::PostParams};
use takt_fleet::digest::Digest;

use crate::api::{Unasked, soon};

const MESSAGE_MAX_CHARS: usize = 1_000;
const NAME_MAX_CHARS: usize = 200;

/// The event that tells of a problem. The same problem of the same pod has the same name, so that
/// it is told once.
pub fn event(pod: &Pod, node: &str, why: &str, now: Timestamp) -> Event {
    let name: String = pod.name_any().chars().take(NAME_MAX_CHARS).collect();
    let uid = pod.uid().unwrap_or_default();
    let digest = Digest::for_content(format!("{uid} {why}").as_bytes()).short();
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{name}.{digest}")),
            namespace: pod.namespace(),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            name: pod.metadata.name.clone(),
            namespace: pod.namespace(),
            uid: pod.uid(),
            ..ObjectReference::default()
        },
        type_: Some("Warning".to_owned()),
        reason: Some("EgressBandwidth".to_owned()),
        message: Some(why.chars().take(MESSAGE_MAX_CHARS).collect()),
        source: Some(EventSource {
            component: Some("takt-kubernetes".to_owned()),
            host: Some(node.to_owned()),
        }),
        first_timestamp: Some(Time(now)),
        last_timestamp: Some(Time(now)),
        count: Some(1),
        ..Event::default()
    }
}

/// Tells of a problem. That it cannot be told is a line in the log.
pub async fn tell(client: &Client, pod: &Pod, node: &str, why: &str) {
    let api: Api<Event> = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    let event = event(pod, node, why, Timestamp::now());
    match soon(api.create(&PostParams::default(), &event)).await {
        Ok(_) => {}
        // Told before.
        Err(Unasked::Refused(kube::Error::Api(status))) if status.code == 409 => {}
        Err(error) => eprintln!(
            "takt-kubernetes: an event of pod {}: {error}",
            pod.name_any()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_told_once() {
        let pod: Pod = serde_json::from_value(serde_json::json!({
            "metadata": { "name": "web", "namespace": "shop", "uid": "u" },
        }))
        .unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let [one, again, other] = ["a", "a", "b"].map(|why| event(&pod, "n", why, now));
        assert_eq!(one.metadata.name, again.metadata.name);
        assert_ne!(one.metadata.name, other.metadata.name);
        assert_eq!(one.involved_object.uid.as_deref(), Some("u"));
        assert_eq!(one.metadata.namespace.as_deref(), Some("shop"));
    }
}
