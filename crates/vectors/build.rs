//! Compiles `bpf/vectors` twice: natively, with bindings, and for the kernel.

use std::{env, path::PathBuf};

fn main() {
    takt_bpf_build::skeleton("vectors");

    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let wrappers = out.join("wrappers.c");
    bindgen::Builder::default()
        .header("../../bpf/vectors/vectors.h")
        .clang_arg("-I../../algo")
        .allowlist_item("(takt_vector|TAKT_VECTOR)_.*")
        // The rest of algo/ is bound in takt-algo.
        .allowlist_recursively(false)
        .raw_line("use takt_algo::sys::*;")
        .wrap_static_fns(true)
        .wrap_static_fns_path(&wrappers)
        .layout_tests(false)
        .derive_default(true)
        .generate()
        .expect("bpf/vectors binds")
        .write_to_file(out.join("sys.rs"))
        .expect("OUT_DIR is writable");
    cc::Build::new()
        .file(&wrappers)
        .include("../../algo")
        .include(env::current_dir().expect("cargo sets the directory"))
        .opt_level(2)
        .flag("-Wno-unused-parameter")
        .compile("takt_vectors");
}
