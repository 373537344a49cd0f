//! Compiles the BPF programs and writes their skeletons.

use std::{env, path::PathBuf, process::Command};

use libbpf_cargo::SkeletonBuilder;

/// clang 17 is the first that knows everything the programs use; 19 is what CI
/// runs. `CLANG` overrides the choice.
fn clang() -> String {
    if let Ok(chosen) = env::var("CLANG") {
        return chosen;
    }
    ["clang-19", "clang-20", "clang-21", "clang-18", "clang-17"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok())
        .unwrap_or("clang")
        .to_owned()
}

fn main() {
    let root = PathBuf::from("../..");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));

    for (source, skeleton) in [("bpf/link/link.bpf.c", "link.skel.rs")] {
        SkeletonBuilder::new()
            .source(root.join(source))
            .clang(clang())
            .clang_args([
                "-I../../algo",
                "-I../../bpf/include",
                "-I../../bpf/link",
                "-mcpu=v3",
                "-Wall",
                "-Wextra",
                "-Wno-unused-parameter",
                "-Werror",
            ])
            .build_and_generate(out.join(skeleton))
            .unwrap_or_else(|error| panic!("{source} does not compile: {error:#}"));
    }
    println!("cargo::rerun-if-changed=../../algo");
    println!("cargo::rerun-if-changed=../../bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
}
