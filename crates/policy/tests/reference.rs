//! `docs/policy.md` knows every key.

use takt_policy::Code;

#[test]
fn every_key_is_in_the_reference() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.md");
    let reference = std::fs::read_to_string(path).unwrap();
    let (_, listed) = Code::UnknownKey
        .explanation()
        .split_once("Known keys:")
        .unwrap();
    // Tables and their keys are in two columns.
    let keys: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.get(26..))
        .flat_map(str::split_whitespace)
        .collect();
    assert!(keys.len() > 50);
    for key in keys {
        assert!(reference.contains(&format!("`{key}`")), "{key}");
    }
}
