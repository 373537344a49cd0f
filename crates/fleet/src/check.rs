//! Before a push: would every kind of host carry the policy out?

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use takt_policy::Policy;

use crate::{operator::Roster, selector::Selector};

/// Kinds that are checked.
const KINDS_MAX: usize = 64;

/// Why a policy is not pushed.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct Unfit {
    /// The exit code of takt or takt-sim, if it had one.
    pub code: Option<i32>,
    /// Their reason.
    pub why: String,
}

/// Runs `takt check --kernel`, by this takt, for each kernel of the hosts. The error names the kernel, some of its
/// hosts and takt's reason.
pub fn kernels(
    takt: &Path,
    file: &Path,
    to: &Selector,
    roster: &Roster,
) -> Result<Vec<String>, Unfit> {
    let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for host in roster
        .hosts()
        .filter(|host| to.matches(&host.report.labels))
    {
        if let Some(kernel) = host.report.labels.get("kernel") {
            kinds.entry(kernel).or_default().push(&host.report.id);
        }
    }
    for (kernel, hosts) in kinds.iter().take(KINDS_MAX) {
        let named = hosts.iter().take(3).copied().collect::<Vec<_>>().join(", ");
        let file = file.to_string_lossy();
        run(takt, &["check", &file, "--kernel", kernel]).map_err(|unfit| Unfit {
            why: format!(
                "on kernel {kernel} ({} hosts: {named}): {unfit}",
                hosts.len()
            ),
            ..unfit
        })?;
    }
    Ok(kinds.keys().map(|kernel| (*kernel).to_owned()).collect())
}

/// Runs a takt-sim with recorded traffic on each link: what it refuses is not pushed.
pub fn simulate(sim: &Path, file: &Path, policy: &Policy, traffic: &Path) -> Result<(), Unfit> {
    let (file, traffic) = (file.to_string_lossy(), traffic.to_string_lossy());
    let words = [&*file, "--traffic", &*traffic];
    for link in &policy.links {
        run(sim, &[&words[..], &["--link", &link.device]].concat()).map_err(|unfit| Unfit {
            why: format!("takt sim of {}: {unfit}", link.device),
            ..unfit
        })?;
    }
    match policy.links[..] {
        // It says that there is nothing to simulate.
        [] => run(sim, &words),
        _ => Ok(()),
    }
}

fn run(program: &Path, words: &[&str]) -> Result<(), Unfit> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let ran = Command::new(program)
        .args(["--output", "json"])
        .args(words)
        .stdin(Stdio::null())
        .output();
    let ran = ran.map_err(|error| {
        let why = format!(
            "{}: {error}; it lies beside takt-fleet, or on the path",
            program.display()
        );
        Unfit { code: None, why }
    })?;
    if ran.status.success() {
        return Ok(());
    }
    let value: Option<Value> = serde_json::from_slice(&ran.stdout).ok();
    let why = value.as_ref().and_then(reason);
    let why = why.unwrap_or_else(|| format!("{name} ended with {}", ran.status));
    Err(Unfit {
        code: ran.status.code(),
        why,
    })
}

fn reason(value: &Value) -> Option<String> {
    if let Some(error) = value["errors"][0]["message"].as_str() {
        return Some(error.to_owned());
    }
    // Of `check --kernel`: the links without a backend.
    let links = value["backends"]["links"].as_array()?;
    let lacking = links.iter().filter(|link| link["backend"].is_null());
    let names: Vec<&str> = lacking.filter_map(|link| link["device"].as_str()).collect();
    (!names.is_empty()).then(|| format!("no backend for {}", names.join(", ")))
}
