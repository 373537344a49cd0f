//! Tells the linker how to write down the addresses that the loader adjusts.

fn main() {
    // One bit each instead of 24 bytes, which is 0.3 MB. glibc reads this since 2.36 and musl since
    // 1.2.4, both older than the oldest kernel that Takt runs on.
    println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    println!("cargo::rerun-if-changed=build.rs");
}
