//! The agent of a node: takt-fleet's, with labels of the node's object.

use std::{
    fs, io,
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::Path,
    process::Command,
};

use futures_util::{FutureExt, future::BoxFuture};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client};
use takt_fleet::{
    beside::beside,
    labels::{self, Labels},
};

use crate::api::soon;

const REMEMBERED: &str = "node-labels.json";

/// A label of the fleet, and the node's label that gives its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    name: String,
    key: String,
}

/// Reads `NAME=KEY`.
pub fn mapping(text: &str) -> Result<Mapping, String> {
    let told = || format!("NAME=KEY, such as zone=topology.kubernetes.io/zone, not {text:?}");
    let (name, key) = text.split_once('=').ok_or_else(told)?;
    labels::check_name(name).map_err(|error| error.to_string())?;
    if key.is_empty() {
        Err(told())
    } else {
        Ok(Mapping {
            name: name.to_owned(),
            key: key.to_owned(),
        })
    }
}

/// The fleet's labels of a node. What a label of a fleet may not have becomes `-`.
pub fn labels_of(node: &Node, mappings: &[Mapping]) -> Labels {
    let own = node.metadata.labels.as_ref();
    let pairs = mappings.iter().filter_map(|mapping| {
        let value = own?.get(&mapping.key)?;
        Some((mapping.name.clone(), labels::tame(value)?))
    });
    pairs.collect()
}

/// The identity of a node in the fleet: its name, without dots.
pub fn identity_of(node: &str) -> String {
    node.replace('.', "-")
}

/// Becomes takt-fleet's agent. Without the API its labels are those of the last start: a node
/// keeps its policy when the control plane is gone.
pub fn run<'a>(
    client: Client,
    node: &'a str,
    mappings: &'a [Mapping],
    state: &'a Path,
    rest: &'a [String],
) -> BoxFuture<'a, io::Error> {
    become_agent(client, node, mappings, state, rest).boxed()
}

async fn become_agent(
    client: Client,
    node: &str,
    mappings: &[Mapping],
    state: &Path,
    rest: &[String],
) -> io::Error {
    let api: Api<Node> = Api::all(client);
    // It may be gone when a node boots.
    let labels = match soon(api.get(node)).await {
        Ok(found) => labels_of(&found, mappings),
        Err(why) => match remembered(state) {
            Some(labels) => {
                eprintln!("takt-kubernetes: node {node}: {why}; its labels are those of before");
                labels
            }
            None => return io::Error::other(format!("node {node}: {why}")),
        },
    };
    if let Err(error) = remember(state, &labels) {
        return io::Error::new(error.kind(), format!("{}: {error}", state.display()));
    }
    let labels = labels
        .iter()
        .flat_map(|(name, value)| ["--label".to_owned(), format!("{name}={value}")]);
    // It returns only if it fails.
    Command::new(beside("takt-fleet"))
        .args(["agent", "--identity", &identity_of(node), "--state"])
        .arg(state)
        .args(labels)
        .args(rest)
        .exec()
}

fn remembered(state: &Path) -> Option<Labels> {
    let text = fs::read(state.join(REMEMBERED)).ok()?;
    let labels: Labels = serde_json::from_slice(&text).ok()?;
    labels::check(&labels).ok().map(|()| labels)
}

fn remember(state: &Path, labels: &Labels) -> io::Result<()> {
    let mut directory = fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(directory.recursive(true), 0o700).create(state)?;
    let next = state.join(format!("{REMEMBERED}.next"));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let text = serde_json::to_vec(labels)?;
    io::Write::write_all(&mut options.open(&next)?, &text)?;
    fs::rename(next, state.join(REMEMBERED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_labels_of_the_fleet() {
        let mappings = [
            "zone=topology.kubernetes.io/zone",
            "pool=example.com/pool",
            "x=none",
        ];
        let mappings: Vec<Mapping> = mappings.iter().map(|text| mapping(text).unwrap()).collect();
        let node: Node = serde_json::from_value(serde_json::json!({ "metadata": { "labels": {
            "topology.kubernetes.io/zone": "eu-1a", "example.com/pool": "gpu/large", "other": "x",
        } } }))
        .unwrap();
        let pairs = [("zone", "eu-1a"), ("pool", "gpu-large")];
        let wanted = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(labels_of(&node, &mappings), Labels::from(wanted));
        assert_eq!(
            identity_of("ip-10-0-0-1.ec2.internal"),
            "ip-10-0-0-1-ec2-internal"
        );
        for text in ["zone", "Zone=x", "zone="] {
            assert!(mapping(text).is_err(), "{text}");
        }
    }

    #[test]
    fn labels_are_remembered() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(remembered(state.path()), None);
        let labels = Labels::from([("zone".to_owned(), "a".to_owned())]);
        remember(state.path(), &labels).unwrap();
        assert_eq!(remembered(state.path()), Some(labels));
    }
}
