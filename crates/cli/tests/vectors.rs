//! algo/'s test vectors inside the kernel's BPF machine, in the lab.

mod guest;

use std::{env, mem::MaybeUninit};

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
        guest::boot(test, VARIABLE, machine);
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
