//! Completions as bash asks for them.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

const TAKT: &str = env!("CARGO_BIN_EXE_takt");

/// What bash offers for the last of the words; takt is the one in this folder.
fn offered(folder: &Path, words: &[&str]) -> Vec<String> {
    const SCRIPT: &str = r#"
        source <(takt completions bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
        _clap_complete_takt takt "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let path = std::env::var("PATH").unwrap_or_default();
    let done = Command::new("bash")
        .args(["--norc", "-c", SCRIPT, "bash"])
        .args(words)
        .env("PATH", format!("{}:{path}", folder.display()))
        .output()
        .expect("bash is there");
    let said = String::from_utf8_lossy(&done.stdout);
    said.lines().map(|word| word.trim().to_owned()).collect()
}

/// A folder with takt, and a takt-sim that prints how it is asked.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(TAKT, folder.path().join("takt")).expect("a link");
    folder
}

#[test]
fn commands_options_and_values_are_offered() {
    let folder = folder();
    let offered = |words: &[&str]| offered(folder.path(), words);
    assert_eq!(offered(&["takt", "conf"]), ["confirm"]);
    assert!(offered(&["takt", "apply", "--"]).contains(&"--dry-run".to_owned()));
    assert!(offered(&["takt", "station", "list", "--device", ""]).contains(&"lo".to_owned()));
    assert_eq!(offered(&["takt", "explain", "thrott"]), ["throttled"]);
    assert_eq!(offered(&["takt", "completions", "zs"]), ["zsh"]);
}

#[test]
fn no_hidden_command_is_offered() {
    let folder = folder();
    let commands = offered(folder.path(), &["takt", ""]);
    assert!(commands.contains(&"apply".to_owned()), "{commands:?}");
    assert!(!commands.contains(&"guard".to_owned()), "{commands:?}");
}

#[test]
fn words_behind_another_programs_command_are_that_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    // Beside a link takt would look where the link leads.
    fs::copy(TAKT, folder.path().join("takt")).expect("a copy");
    for name in ["takt-sim", "takt-lab"] {
        let program = folder.path().join(name);
        let script =
            "#!/bin/sh\nprintf '%s ' \"$TAKT_COMPLETE\" \"$_CLAP_COMPLETE_INDEX\" \"$@\"\n";
        fs::write(&program, script).expect("a script");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    let offered = |words: &[&str]| offered(folder.path(), words);
    assert_eq!(
        offered(&["takt", "sim", "a.toml", "--be"]),
        ["bash 2 -- takt-sim a.toml --be"]
    );
    assert_eq!(
        offered(&["takt", "bench", "co"]),
        ["bash 2 -- takt-lab bench co"]
    );
    assert_eq!(offered(&["takt", "sim"]), ["sim"]);
}
