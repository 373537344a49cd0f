//! A policy in a namespace of its own, which keeps the programs of links loaded.
//!
//! Verifying them takes the emulator most of a test's time. A link's programs belong to the host
//! and policies to namespaces, so this one makes a test's `takt apply` find them loaded, as on a
//! host with a second link. Tests about loading itself run in a machine without it
//! ([`Machine::alone`](crate::machine::Machine::alone)).

use std::{fs, path::Path, sync::Mutex};

use crate::shell::run;

const NETNS: &str = "keeper";
/// The kept link, and one that has the first place of the host's links until it is removed: tests
/// know that of theirs.
const DEVICES: [&str; 2] = ["first", "keep"];
const POLICY_FILE: &str = "/lab/keeper.toml";
/// Without a background class: that would have a helper, and watch the host's sockets and switches.
const POLICY: &str = "[link.keep]\nrate = \"100mbit\"\n";

const FIRST: &str = "[link.first]\nrate = \"100mbit\"\n";

/// Takt's directories.
const PINS: &str = "/sys/fs/bpf";
const RECORDS: &str = "/run/takt";

/// What the keeper has there; nothing while there is none.
static KEPT: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Starts the keeper, or a new one if a failed test has removed a part of it.
pub fn ensure() {
    let mut kept = KEPT.lock().expect("no test fails with it");
    if !kept.is_empty() && *kept == traces() {
        return;
    }
    // Of a failed test, or of a keeper that is no longer whole.
    run(&format!("ip netns del {NETNS}"));
    run("takt revert");
    for dir in [RECORDS, "/sys/fs/bpf/takt"] {
        let _ = fs::remove_dir_all(dir);
    }
    run(&format!("ip netns add {NETNS}")).ok();
    for device in DEVICES {
        run(&format!("ip -n {NETNS} link add {device} type dummy")).ok();
        run(&format!("ip -n {NETNS} link set {device} up")).ok();
    }
    for policy in [&*format!("{FIRST}{POLICY}"), POLICY] {
        fs::write(POLICY_FILE, policy).expect("the machine has room");
        run(&format!("ip netns exec {NETNS} takt apply {POLICY_FILE}")).ok();
    }
    *kept = traces();
    assert!(!kept.is_empty(), "the keeper keeps nothing");
}

/// Whether takt's directories hold nothing but the keeper's.
pub fn foreign_traces() -> Vec<String> {
    let kept = KEPT.lock().expect("no test fails with it");
    let found = traces();
    let lost = kept.iter().filter(|path| !found.contains(path));
    let lost: Vec<_> = lost.map(|path| format!("{path} (lost)")).collect();
    let new = found.iter().filter(|path| !kept.contains(path)).cloned();
    new.chain(lost).collect()
}

/// Every path in takt's directories. A kernel with bpf_preload shows its own there.
fn traces() -> Vec<String> {
    let mut paths = Vec::new();
    for root in [PINS, RECORDS] {
        walk(Path::new(root), &mut paths);
    }
    if Path::new(RECORDS).exists() {
        paths.push(RECORDS.to_owned());
    }
    paths.retain(|path| !path.ends_with(".debug"));
    paths.sort();
    paths
}

fn walk(dir: &Path, paths: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let before = paths.len();
        if is_dir {
            walk(&path, paths);
        }
        // Directories of pins go with the programs, which the keeper keeps.
        if !is_dir || paths.len() > before || !path.starts_with(PINS) {
            paths.push(path.display().to_string());
        }
    }
}
