//! What takt says, in JSON.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::pair::A;

/// Takt's answer where the cable is, whether it could do it or not.
pub struct Answer {
    pub is_done: bool,
    pub value: Value,
}

pub fn ask(takt: &Path, words: &[&str]) -> Result<Answer> {
    let mut command = Command::new(takt);
    command.args(words).args(["--output", "json"]);
    let output = A.run(|| {
        command.output().map_err(|source| ExperimentError::Start {
            program: takt.display().to_string(),
            source,
        })
    })?;
    let value = serde_json::from_slice(&output.stdout).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        ExperimentError::Output {
            command: format!("takt {}", words.join(" ")),
            reason: format!("{error}; {said}"),
        }
    })?;
    Ok(Answer {
        is_done: output.status.success(),
        value,
    })
}

impl Answer {
    /// The backend of a device's link, in the answer of `status` or `check`; `None`: it has none,
    /// or will have none, since a policy is applied as a whole or not at all.
    pub fn backend_of(&self, device: &str) -> Option<&str> {
        self.link(device)?["backend"]
            .as_str()
            .filter(|_| self.is_done)
    }

    /// The promises for which `check` says that a link gets no backend, by their names.
    pub fn refused_for(&self, device: &str) -> Option<String> {
        let offers = self.link(device)?["offers"].as_array()?;
        let unkept = offers.iter().filter_map(|offer| offer["unkept"].as_array());
        let refusing = unkept.flatten().filter(|unkept| unkept["refuses"] == true);
        let mut names: Vec<&str> = refusing
            .filter_map(|unkept| unkept["promise"].as_str())
            .collect();
        // Of each class.
        names.dedup();
        (!names.is_empty()).then(|| names.join(", "))
    }

    fn link(&self, device: &str) -> Option<&Value> {
        let links = match &self.value["backends"] {
            Value::Null => &self.value["links"],
            backends => &backends["links"],
        };
        let mut links = links.as_array()?.iter();
        links.find(|link| link["device"] == device)
    }

    /// Why it was not done.
    pub fn error(&self) -> Option<&str> {
        self.value["error"].as_str()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(is_done: bool, value: Value) -> Answer {
        Answer { is_done, value }
    }

    #[test]
    fn backends_are_found_in_both_answers() {
        let links = json!([{ "device": "a", "backend": "tree" }, { "device": "b" }]);
        for value in [
            json!({ "links": links }),
            json!({ "links": [], "backends": { "links": links } }),
        ] {
            let found = answer(true, value.clone());
            assert_eq!(found.backend_of("a"), Some("tree"));
            assert_eq!(found.backend_of("b"), None);
            assert_eq!(found.backend_of("c"), None);
            assert_eq!(answer(false, value).backend_of("a"), None);
        }
    }

    #[test]
    fn what_refuses_a_link_is_named_once() {
        let unkept = |promise: &str, refuses| json!({ "promise": promise, "refuses": refuses });
        let offers = json!([
            { "unkept": [] },
            { "unkept": [unkept("gate", false), unkept("owners", true), unkept("owners", true)] },
        ]);
        let links = json!([{ "device": "a", "offers": offers }, { "device": "b", "offers": [] }]);
        let refused = answer(false, json!({ "backends": { "links": links } }));
        assert_eq!(refused.refused_for("a").as_deref(), Some("owners"));
        assert_eq!(refused.refused_for("b"), None);
    }
}
