//! Tells the program which commit it was built from, for its reports.

use std::process::Command;

const SOURCES: [&str; 6] = [
    "Cargo.lock",
    "Cargo.toml",
    "algo",
    "bpf",
    "crates",
    "include",
];

fn main() {
    let describe = Command::new("git")
        .args(["describe", "--always", "--dirty"])
        .output();
    let commit = describe
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=TAKT_COMMIT={commit}");
    // `git describe --dirty` itself writes git's index, so that tells of no change: a commit
    // or a checkout is in the log, and an edit in what takt is made of.
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    for source in SOURCES {
        println!("cargo::rerun-if-changed=../../{source}");
    }
}
