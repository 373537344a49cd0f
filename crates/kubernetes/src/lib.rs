//! Takt in Kubernetes: a fleet's rollouts as objects, nodes as a fleet's hosts, and limits of pods.
//!
//! Decisions are apart from the API: [`resource`] reads a spec, [`decide`] says what is done about
//! an object, [`status`] what is said of it, and [`quantity`] what an annotation means.

pub mod agent;
mod api;
pub mod bandwidth;
pub mod controller;
pub mod decide;
pub mod health;
pub mod quantity;
pub mod resource;
pub mod status;

use kube::CustomResourceExt;

/// The definition of the custom resource, as packaging/kubernetes has it. Kubernetes reads JSON
/// wherever it reads YAML.
pub fn definition() -> String {
    let json = serde_json::to_string_pretty(&resource::TaktPolicy::crd());
    json.unwrap_or_default() + "\n"
}
