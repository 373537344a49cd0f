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
    let sections = [
        "[link.DEV]",
        "[[link.DEV.tenant]]",
        "[[link.DEV.class]]",
        "match",
    ];
    let keys: Vec<&str> = listed
        .split_whitespace()
        .filter(|word| !sections.contains(word))
        .collect();
    assert!(keys.len() > 30);
    for key in keys {
        assert!(reference.contains(&format!("`{key}`")), "{key}");
    }
}
