//! Tells the linker how to make `takt` small, and compresses the explanations of reasons.

use std::{env, fs, path::Path, process::Command};

use miniz_oxide::deflate::compress_to_vec;

/// The explanations, as `reasons!` declares them.
const REASONS: &str = "src/reasons";
/// The best, and the slowest.
const LEVEL: u8 = 10;

fn main() {
    explanations();
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

/// Writes `explanations.z`: codes and texts in turns, each with a zero behind it. As they are, the texts
/// would be a hundredth of `takt`. `crates/cli/src/reasons/mod.rs` reads it.
fn explanations() {
    println!("cargo::rerun-if-changed={REASONS}");
    let files = fs::read_dir(REASONS).expect("the reasons");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    let mut all = String::new();
    for path in paths {
        let source = fs::read_to_string(&path).expect("a source");
        for (code, text) in declared(&source) {
            all += &format!("{code}\0{text}\0");
        }
    }
    let directory = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let path = Path::new(&directory).join("explanations.z");
    fs::write(path, compress_to_vec(all.as_bytes(), LEVEL))
        .expect("cargo's directory can be written");
}

/// `NAME = "code" ["word", …]: "text";`, with the words or without.
fn declared(source: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some((_, behind)) = rest.split_once(" = \"takt::") {
        let (code, behind) = behind.split_once('"').expect("the code ends");
        let (_, behind) = behind.split_once(": \"").expect("a text follows");
        let (text, behind) = behind.split_once("\";\n").expect("the text ends");
        found.push((code, text.replace("\\\"", "\"")));
        rest = behind;
    }
    found
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
