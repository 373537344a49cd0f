//! What taktd has heard of stations.

use serde::{Deserialize, Serialize};
use takt_host::Heard;

/// Only what was heard in the caller's network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedRadio {
    /// One for each source of strengths that taktd follows.
    pub sources: Vec<Heard>,
}
