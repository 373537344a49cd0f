//! Tells the linker how to write down the addresses that the loader adjusts.

use std::process::Command;

fn main() {
    // One bit each instead of 24 bytes, which is 0.3 MB.
    if loader_reads_packed_relocations() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// glibc does since 2.36. Like any program that is linked to a newer libc, it does not run with an
/// older one.
fn loader_reads_packed_relocations() -> bool {
    let Ok(answer) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else {
        return false;
    };
    let answer = String::from_utf8_lossy(&answer.stdout);
    let version = answer.trim().trim_start_matches("glibc ");
    let mut numbers = version.split('.').map_while(|part| part.parse().ok());
    (numbers.next(), numbers.next()) >= (Some(2u32), Some(36u32))
}
