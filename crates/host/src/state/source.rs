//! A policy as it was applied, kept with every record that depends on it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The policy file as it was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// What messages call the file.
    pub name: String,
    /// All of it.
    pub text: String,
    /// Where relative paths in it start.
    #[serde(default)]
    pub folder: PathBuf,
}
