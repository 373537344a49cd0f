//! The figures of one row, by name.

use std::collections::BTreeMap;

use serde_json::Value;

pub type Metrics = BTreeMap<String, Value>;

pub fn metrics<const N: usize>(figures: [(&str, Value); N]) -> Metrics {
    figures
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
