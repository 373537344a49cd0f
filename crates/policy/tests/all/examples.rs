//! The policies in `examples/` work as they are.

use std::path::Path;

#[test]
fn every_example_passes_without_a_warning() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let loaded = takt_policy::load(&path).unwrap_or_else(|error| panic!("{error}"));
            let policy = loaded.policy;
            assert!(policy.warnings.is_empty(), "{}", policy.warnings);
            seen += 1;
        }
    }
    assert!(seen >= 5);
}
