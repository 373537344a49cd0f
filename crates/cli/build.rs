//! Tells the linker how to make `takt` small.

use std::{env, process::Command};

fn main() {
    // One bit each instead of 24 bytes, which is 0.3 MB.
    if loader_reads_packed_relocations() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    // Functions that are the same are there once, which is 0.1 MB.
    if linker_folds_functions() {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// Rust's own linker does, which is the default on x86-64 since Rust 1.90.
fn linker_folds_functions() -> bool {
    let is = |name, value| env::var(name).is_ok_and(|found| found == value);
    let is_default = env::var_os("RUSTC_LINKER").is_none();
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    is_default
        && is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && version(&rustc, "--version", "rustc ") >= (Some(1), Some(90))
}

/// glibc does since 2.36. Like any program that is linked to a newer libc, it does not run with an
/// older one.
fn loader_reads_packed_relocations() -> bool {
    version("getconf", "GNU_LIBC_VERSION", "glibc ") >= (Some(2), Some(36))
}

/// The first two numbers of a version that a program tells; `None`: it does not.
fn version(program: &str, question: &str, name: &str) -> (Option<u32>, Option<u32>) {
    let Ok(answer) = Command::new(program).arg(question).output() else {
        return (None, None);
    };
    let answer = String::from_utf8_lossy(&answer.stdout);
    let version = answer.trim().trim_start_matches(name);
    let mut numbers = version.split('.').map_while(|part| part.parse().ok());
    (numbers.next(), numbers.next())
}
