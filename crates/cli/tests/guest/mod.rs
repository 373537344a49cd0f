//! A test program that runs one of its tests in a machine.

use std::{env, process::Command};

/// Outside: this very test, in a machine where `variable` says that it is there.
pub fn boot(test: &str, variable: &str, machine: &[&str]) {
    let program = env::current_exe().expect("this program has a file");
    let name = program.file_name().expect("and the file a name");
    let done = Command::new(env!("CARGO_BIN_EXE_takt"))
        .args(["lab", "exec"])
        .args(machine)
        .arg("--add")
        .arg(&program)
        .args(["--", "env", &format!("{variable}=1")])
        .arg(name)
        .args(["--exact", test])
        .output()
        .expect("takt starts");
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}
