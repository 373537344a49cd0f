//! Tells the program which commit it was built from, for its reports.

use std::{fs, process::Command};

/// What takt is made of, beside the sources of its crates.
const MADE_OF: [&str; 5] = ["Cargo.lock", "Cargo.toml", "algo", "bpf", "include"];

fn main() {
    let commit = git(&["describe", "--always", "--dirty"]);
    println!(
        "cargo::rustc-env=TAKT_COMMIT={}",
        commit.as_deref().unwrap_or("unknown")
    );
    // `git describe --dirty` itself writes git's index, so that tells of no change: a commit
    // or a checkout is in the log, and an edit in what takt is made of.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    for part in MADE_OF {
        println!("cargo::rerun-if-changed=../../{part}");
    }
    for member in fs::read_dir("..").expect("the crates") {
        let source = member.expect("a crate").path().join("src");
        println!("cargo::rerun-if-changed={}", source.display());
    }
}

/// What git says of this tree, if it is one of git's.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| said.trim().to_owned())
}
