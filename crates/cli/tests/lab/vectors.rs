//! algo/'s test vectors inside the kernel's BPF machine.

use std::mem::MaybeUninit;

use takt_vectors::{Kernel, files};

use crate::machine::{DEFAULT, NEWEST};

#[test]
fn default_kernel_answers_as_recorded() {
    DEFAULT.run(|| {
        every_answer_is_as_recorded();
    });
}

#[test]
fn newest_kernel_answers_as_recorded() {
    NEWEST.run(|| {
        every_answer_is_as_recorded();
    });
}

/// Every answer, and every byte of the state.
fn every_answer_is_as_recorded() {
    let mut memory = MaybeUninit::uninit();
    let mut kernel = Kernel::load(&mut memory).unwrap_or_else(|failure| panic!("{failure}"));
    for file in files() {
        match file.replay(&mut kernel) {
            Ok(steps) => println!("algo/vectors/{}: {steps} steps", file.name),
            Err(failure) => panic!("{failure}"),
        }
    }
}
