//! algo/'s test vectors inside the kernel's BPF machine, in the lab.

use std::{env, mem::MaybeUninit, process::Command};

use takt_vectors::{Kernel, files};

/// Says that we are in the lab's machine, there.
const VARIABLE: &str = "TAKT_TEST_VECTORS";

#[test]
fn default_kernel_answers_as_recorded() {
    run("default_kernel_answers_as_recorded", &[]);
}

#[test]
fn newest_kernel_answers_as_recorded() {
    run("newest_kernel_answers_as_recorded", &["--kernel", "newest"]);
}

fn run(test: &str, machine: &[&str]) {
    if env::var_os(VARIABLE).is_some() {
        replay();
    } else {
        boot(test, machine);
    }
}

/// In the machine: every answer, and every byte of the state.
fn replay() {
    let mut memory = MaybeUninit::uninit();
    let mut kernel = Kernel::load(&mut memory).unwrap_or_else(|failure| panic!("{failure}"));
    for file in files() {
        match file.replay(&mut kernel) {
            Ok(steps) => println!("algo/vectors/{}: {steps} steps", file.name),
            Err(failure) => panic!("{failure}"),
        }
    }
}

/// Outside: this very test, in a machine.
fn boot(test: &str, machine: &[&str]) {
    let program = env::current_exe().expect("this program has a file");
    let name = program.file_name().expect("and the file a name");
    let done = Command::new(env!("CARGO_BIN_EXE_takt"))
        .args(["lab", "exec"])
        .args(machine)
        .arg("--add")
        .arg(&program)
        .args(["--", "env", &format!("{VARIABLE}=1")])
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
