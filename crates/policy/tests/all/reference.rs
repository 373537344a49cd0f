//! `docs/policy.md` and `takt explain policy::unknown_key` know every key.

use serde_json::Value;
use takt_policy::{Code, json_schema};

/// Where the schema has the keys of each table, in the order of the explanation.
const TABLES: &[(&str, &str)] = &[
    ("[link.DEV]", "/link/additionalProperties"),
    (
        "[link.DEV.download]",
        "/link/additionalProperties/properties/download",
    ),
    (
        "[[link.DEV.tenant]]",
        "/link/additionalProperties/properties/tenant/items",
    ),
    (
        "[[link.DEV.class]]",
        "/link/additionalProperties/properties/class/items",
    ),
    (
        "match",
        "/link/additionalProperties/properties/class/items/properties/match/anyOf/0",
    ),
    ("[radio]", "/radio"),
    ("[crowd]", "/crowd"),
    ("[beats]", "/beats"),
    ("[[task]]", "/task/items"),
    ("a task's match", "/task/items/properties/match"),
];

fn keys(schema: &Value, table: &str) -> Vec<String> {
    let keys = schema.pointer(&format!("/properties{table}/properties"));
    let keys = keys.and_then(Value::as_object).unwrap();
    keys.keys().cloned().collect()
}

#[test]
fn every_key_is_in_the_reference() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.md");
    let reference = std::fs::read_to_string(path).unwrap();
    let schema = json_schema();
    for (_, table) in TABLES {
        for key in keys(&schema, table) {
            assert!(reference.contains(&format!("`{key}`")), "{key}");
        }
    }
}

#[test]
fn every_key_is_in_the_explanation() {
    let explanation = Code::UnknownKey.explanation();
    let (_, listed) = explanation.split_once("Known keys:").unwrap();
    // Tables and their keys are in two columns.
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for line in listed.lines().filter(|line| line.len() > 26) {
        let (table, keys) = line.split_at(26);
        if !table.trim().is_empty() {
            found.push((table.trim(), Vec::new()));
        }
        let (_, of_table) = found.last_mut().unwrap();
        of_table.extend(keys.split_whitespace().map(str::to_owned));
    }
    let schema = json_schema();
    assert_eq!(found.len(), TABLES.len());
    for ((table, mut listed), (expected, place)) in found.into_iter().zip(TABLES) {
        listed.sort();
        assert_eq!((table, listed), (*expected, keys(&schema, place)));
    }
}
