//! What of a long run is done: it goes on where it stopped, at the same sources.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Noted {
    /// Names the sources.
    sources: String,
    done: BTreeMap<String, Done>,
}

/// What came of one part of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub is_success: bool,
    /// How it ended.
    pub end: String,
    pub seed: u64,
    pub said: String,
}

/// A run, and its file.
#[derive(Debug)]
pub struct Progress {
    path: PathBuf,
    noted: Noted,
}

impl Progress {
    /// What the file says of these sources: nothing if it is about others.
    pub fn read(path: PathBuf, sources: &str) -> anyhow::Result<Progress> {
        let noted = match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text)
                .with_context(|| format!("{} is damaged; remove it", path.display()))?,
            Err(_) => Noted::default(),
        };
        let noted = if noted.sources == sources {
            noted
        } else {
            Noted {
                sources: sources.to_owned(),
                ..Noted::default()
            }
        };
        Ok(Progress { path, noted })
    }

    /// Forget all.
    pub fn clear(&mut self) {
        self.noted.done.clear();
    }

    pub fn done(&self, label: &str) -> Option<&Done> {
        self.noted.done.get(label)
    }

    /// Note it for later runs.
    pub fn note(&mut self, label: &str, done: Done) -> anyhow::Result<()> {
        self.noted.done.insert(label.to_owned(), done);
        let text = serde_json::to_string_pretty(&self.noted).context("a note")?;
        // A run that is ended while it writes has the old file.
        let new = self.path.with_extension("new");
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, &self.path))
            .with_context(|| format!("{}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done() -> Done {
        Done {
            is_success: true,
            end: "exit status: 0".into(),
            seed: 7,
            said: "test result".into(),
        }
    }

    #[test]
    fn a_run_goes_on_at_the_same_sources_only() {
        let folder = tempfile::tempdir().unwrap();
        let read = |sources| Progress::read(folder.path().join("long.json"), sources).unwrap();
        let mut progress = read("ad30");
        assert_eq!(progress.done("takt lab: beats"), None);
        progress.note("takt lab: beats", done()).unwrap();
        assert_eq!(read("ad30").done("takt lab: beats"), Some(&done()));
        assert_eq!(read("ec55").done("takt lab: beats"), None);
        let mut progress = read("ad30");
        progress.clear();
        assert_eq!(progress.done("takt lab: beats"), None);
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.json");
        fs::write(&path, "{").unwrap();
        let error = Progress::read(path, "ad30").unwrap_err().to_string();
        assert!(error.contains("long.json is damaged; remove it"), "{error}");
    }
}
