//! The last lines of `takt doctor`: what this host can be used for, and what becomes of the policy
//! that is installed on it.

use std::{fmt::Write, path::Path};

use serde::Serialize;
use takt_host::doctor::Finding;

use crate::commands::{
    backends::Backends,
    keys::{self, Unreadable},
};

/// What `takt.service` applies.
const POLICY: &str = "/etc/takt";
/// Without any of these nothing works.
const BASIS: [&str; 3] = ["privileges", "netlink", "bpffs"];

/// Of one capability: the features of which any is enough, from the best on.
const CAPABILITIES: [(&str, &[Way]); 5] = [
    (
        "pacing",
        &[
            Way::full("takt", "pacing"),
            Way::full("departure", "departure"),
            Way::full("tree", "tree"),
            Way::full("flow", "flow"),
        ],
    ),
    (
        "background",
        &[
            Way::full("takt", "pacing"),
            Way::part(
                "tree",
                "tree",
                "no gate between tasks, and nothing is received",
            ),
            Way::part("departure", "departure", "without priorities"),
        ],
    ),
    ("radio", &[Way::full("takt", "pacing")]),
    ("crowd", &[Way::full("congestion control", "crowd")]),
    ("beats", &[Way::full("scheduler", "beats")]),
];

/// A way to have a capability.
struct Way {
    name: &'static str,
    feature: &'static str,
    /// What it does not have of the capability.
    less: Option<&'static str>,
}

impl Way {
    const fn full(name: &'static str, feature: &'static str) -> Self {
        Self {
            name,
            feature,
            less: None,
        }
    }

    const fn part(name: &'static str, feature: &'static str, less: &'static str) -> Self {
        Self {
            name,
            feature,
            less: Some(less),
        }
    }
}

/// Whether a capability can be had.
#[derive(Debug, Serialize)]
pub struct Verdict {
    capability: &'static str,
    /// `None`: it could not be tried.
    works: Option<bool>,
    /// By which it can, from the best on.
    by: Vec<&'static str>,
    /// What the best of them does not have.
    less: Option<&'static str>,
    /// The features of `takt doctor` whose lines say why it cannot.
    lacks: Vec<&'static str>,
}

/// One for each capability.
pub fn of(findings: &[Finding]) -> Vec<Verdict> {
    let of_one = |(capability, ways): &(&'static str, &[Way])| {
        let found = |feature: &str| findings.iter().find(|found| found.feature == feature);
        let works = |feature: &str| found(feature).is_some_and(|found| found.works);
        // Without room for open files only the first was tried.
        let needed = BASIS.into_iter().filter(|feature| found(feature).is_some());
        let basis: Vec<&str> = needed.filter(|feature| !works(feature)).collect();
        let working: Vec<&Way> = ways.iter().filter(|way| works(way.feature)).collect();
        let can_be = basis.is_empty() && !working.is_empty();
        let untried = |feature: &&str| !found(feature).is_some_and(|found| found.tried);
        let lacks = match (can_be, basis.is_empty()) {
            (true, _) => Vec::new(),
            (false, false) => basis,
            (false, true) => ways.iter().map(|way| way.feature).collect(),
        };
        Verdict {
            capability,
            works: (can_be || !lacks.iter().any(untried)).then_some(can_be),
            by: if can_be {
                working.iter().map(|way| way.name).collect()
            } else {
                Vec::new()
            },
            less: working.first().filter(|_| can_be).and_then(|way| way.less),
            lacks,
        }
    };
    CAPABILITIES.iter().map(of_one).collect()
}

/// What would become of the policy in /etc/takt; `None`: there is none. An error is the text of its
/// own errors.
pub fn of_policy() -> Option<Result<Backends, String>> {
    let is_there = |file: &str| Path::new(POLICY).join(file).exists();
    if !is_there("policy.toml") && !is_there("policy.d") {
        return None;
    }
    let loaded = takt_policy::load(Path::new(POLICY)).and_then(|mut loaded| {
        keys::check(&mut loaded.policy, Unreadable::Warned)?;
        Ok(loaded.policy)
    });
    Some(match loaded {
        Ok(policy) => Ok(Backends::here(&policy)),
        Err(found) => Err(found.to_string()),
    })
}

pub fn text(verdicts: &[Verdict], policy: Option<&Result<Backends, String>>) -> String {
    let mut text = "Verdict\n".to_owned();
    for verdict in verdicts {
        let word = match verdict.works {
            Some(true) if verdict.less.is_some() => "in part",
            Some(true) => "works",
            Some(false) => "missing",
            None => "not tried",
        };
        let _ = write!(text, "  {word:<8} {:<11} ", verdict.capability);
        let _ = match (&verdict.by[..], verdict.less) {
            ([], _) => writeln!(text, "see {} above", verdict.lacks.join(", ")),
            (by, None) => writeln!(text, "by {}", by.join(", ")),
            (by, Some(less)) => writeln!(text, "by {}: {less}", by.join(", ")),
        };
    }
    match policy {
        None => {}
        Some(Ok(backends)) => {
            let _ = write!(text, "{POLICY}, {}", backends.text());
        }
        Some(Err(errors)) => {
            let _ = writeln!(text, "{POLICY} is not a valid policy:\n{errors}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(feature: &'static str, works: bool, tried: bool) -> Finding {
        Finding {
            feature,
            works,
            tried,
            proof: "",
            problem: None,
        }
    }

    fn findings(missing: &[&str]) -> Vec<Finding> {
        let ways = CAPABILITIES.iter().flat_map(|(_, ways)| *ways);
        let all = BASIS.into_iter().chain(ways.map(|way| way.feature));
        all.map(|feature| finding(feature, !missing.contains(&feature), true))
            .collect()
    }

    fn word_of(capability: &str, found: &[Finding]) -> String {
        let text = text(&of(found), None);
        let line = text
            .lines()
            .find(|line| line.contains(&format!(" {capability} ")));
        line.expect(&text).trim().to_owned()
    }

    #[test]
    fn any_way_is_enough() {
        assert!(word_of("pacing", &findings(&[])).contains("by takt, departure, tree, flow"));
        let old = findings(&["pacing", "departure", "beats"]);
        assert!(word_of("pacing", &old).contains("by tree, flow"));
        assert!(word_of("background", &old).starts_with("in part"));
        assert_eq!(
            word_of("radio", &old),
            "missing  radio       see pacing above"
        );
        assert!(word_of("beats", &old).starts_with("missing"));
    }

    #[test]
    fn without_the_basis_nothing_works() {
        for verdict in of(&findings(&["bpffs"])) {
            assert_eq!((verdict.works, verdict.lacks), (Some(false), vec!["bpffs"]));
        }
    }

    #[test]
    fn what_could_not_be_tried_is_not_called_missing() {
        let found: Vec<Finding> = { findings(&[]).into_iter() }
            .map(|found| finding(found.feature, false, false))
            .collect();
        for verdict in of(&found) {
            assert_eq!(verdict.works, None, "{}", verdict.capability);
        }
        assert!(text(&of(&found), None).contains("not tried pacing      see privileges, "));
    }
}
