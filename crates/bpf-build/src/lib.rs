//! For build scripts of crates with a BPF program: compiles the programs under `bpf/`.

mod packed;

use std::{env, fs, path::Path, process::Command};

use libbpf_cargo::SkeletonBuilder;

/// clang 17 is the first that supports all features of the programs; CI uses 19. `CLANG`
/// overrides the choice.
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

/// Compile `bpf/NAME/NAME.bpf.c` and write its skeleton to `NAME.skel.rs` in
/// the build's output directory, and the object, compressed, to `NAME.z`. The crate needs `miniz_oxide`.
///
/// # Panics
/// If it does not compile. The message is the compiler's. Or if the skeleton cannot be written.
pub fn skeleton(name: &str) {
    skeleton_in(name, name);
}

/// As [`skeleton`], for `bpf/ROOM/NAME.bpf.c`, a second program in a directory.
///
/// # Panics
/// As [`skeleton`].
pub fn skeleton_in(room: &str, name: &str) {
    let bpf = Path::new("../../bpf");
    let source = bpf.join(room).join(format!("{name}.bpf.c"));
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let skeleton = Path::new(&out).join(format!("{name}.skel.rs"));
    SkeletonBuilder::new()
        .source(&source)
        .clang(clang())
        .clang_args([
            "-I../../algo",
            "-I../../bpf/include",
            "-mcpu=v3",
            // Objects name files and lines, and no machine's paths. Lines are not copied into them:
            // that would be a sixth of an object's bytes, of which the verifier's log shows a few.
            "-ffile-prefix-map=../../=",
            "-fdebug-compilation-dir=takt",
            // Nor do they name columns, which would be as many bytes again as the lines.
            "-gno-column-info",
            "-Wall",
            "-Wextra",
            "-Wno-unused-parameter",
            "-Werror",
        ])
        .build_and_generate(&skeleton)
        .unwrap_or_else(|error| panic!("{} does not compile: {error:#}", source.display()));
    let generated = fs::read_to_string(&skeleton).expect("the skeleton is read");
    let object = format!("{name}.z");
    let (generated, packed) = packed::pack(&generated, &object);
    fs::write(Path::new(&out).join(object), packed).expect("the object is written");
    fs::write(&skeleton, generated).expect("the skeleton is written");
    println!("cargo::rerun-if-changed=../../algo");
    println!("cargo::rerun-if-changed=../../bpf/include");
    println!("cargo::rerun-if-changed=../../bpf/{room}");
    println!("cargo::rerun-if-env-changed=CLANG");
}
