//! What people see: every bad input in `tests/bad/` and every doubtful one in `tests/warned/`,
//! rendered, in `snapshots/`. `cargo insta review` shows what a change does to them.

use std::path::{Path, PathBuf};

use takt_policy::Diagnostics;

fn cases(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

fn assert_golden(name: &str, found: &Diagnostics) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, found.render(false));
    });
}

#[test]
fn every_bad_policy_is_refused_in_clear_words() {
    for (name, text) in cases("bad") {
        let found = takt_policy::parse(&format!("{name}.toml"), &text);
        let found = found.expect_err(&format!("{name} is accepted"));
        assert_golden(&name, &found);
    }
}

#[test]
fn every_doubtful_policy_is_warned_of() {
    for (name, text) in cases("warned") {
        let policy = takt_policy::parse(&format!("{name}.toml"), &text).unwrap();
        assert!(!policy.warnings.is_empty(), "{name} gives no warning");
        assert_golden(&format!("warned_{name}"), &policy.warnings);
    }
}

#[test]
fn either_ceil_of_the_message_settles_a_capped_class() {
    let warnings = |ceil: &str| {
        let text = format!(
            "[link.wan0]\nrate = \"38mbit\"\n\
             [[link.wan0.class]]\nname = \"calls\"\nrate = \"4mbit\"\npriority = 0\n{ceil}\n\
             match = {{ dscp = \"ef\" }}\n\
             [[link.wan0.class]]\nname = \"dns\"\nrate = \"1mbit\"\nmatch = {{ dst_port = 53 }}\n"
        );
        takt_policy::parse("test", &text).unwrap().warnings
    };
    let found = warnings("");
    let help = &found.iter().next().unwrap().help;
    for ceil in ["ceil = \"37mbit\"", "ceil = \"4mbit\""] {
        assert!(help.contains(ceil), "{help}");
        let left = warnings(ceil);
        assert!(left.is_empty(), "{left}");
    }
}
