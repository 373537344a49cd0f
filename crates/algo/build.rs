//! Compiles algo/ natively and binds it: the same lines that BPF runs. Constants that the qdisc
//! shares with user space are bound, too.

use std::{env, path::PathBuf};

fn main() {
    let algo = PathBuf::from("../../algo");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let wrappers = out.join("wrappers.c");

    bindgen::Builder::default()
        .header(algo.join("headers.h").display().to_string())
        .header(algo.join("dscp.h").display().to_string())
        .header(algo.join("ports.h").display().to_string())
        .header(algo.join("gap.h").display().to_string())
        .header(algo.join("short_way.h").display().to_string())
        .header(algo.join("download.h").display().to_string())
        .header(algo.join("soc.h").display().to_string())
        .header(algo.join("forwarded.h").display().to_string())
        .header("../../bpf/edt/edt_maps.h")
        .header("../../bpf/flow/flow_maps.h")
        .header("../../bpf/link/link_maps.h")
        .header("../../bpf/owner/owner_maps.h")
        .header("../../bpf/beats/beats_maps.h")
        .header("../../bpf/crowd/crowd_maps.h")
        .header("../../bpf/monitor/monitor_maps.h")
        .clang_arg(format!("-I{}", algo.display()))
        .clang_arg("-I../../bpf/include")
        .allowlist_item("(takt|TAKT)_.*")
        .wrap_static_fns(true)
        .wrap_static_fns_path(&wrappers)
        .layout_tests(false)
        .derive_default(true)
        .derive_eq(true)
        .derive_partialeq(true)
        .generate()
        .expect("algo/ binds")
        .write_to_file(out.join("sys.rs"))
        .expect("OUT_DIR is writable");

    // A debug build also runs the scheduler at full speed: the property tests send thousands of
    // millions of frames through it.
    cc::Build::new()
        .file(&wrappers)
        .include(&algo)
        .include("../../bpf/include")
        .include(env::current_dir().expect("cargo sets the directory"))
        .opt_level(2)
        .warnings(true)
        .extra_warnings(true)
        .flag("-Wno-unused-parameter")
        .compile("takt_algo");
    println!("cargo::rerun-if-changed=../../algo");
    println!("cargo::rerun-if-changed=../../bpf/include");
    println!("cargo::rerun-if-changed=../../bpf/edt/edt_maps.h");
    println!("cargo::rerun-if-changed=../../bpf/flow/flow_maps.h");
    println!("cargo::rerun-if-changed=../../bpf/link/link_maps.h");
    println!("cargo::rerun-if-changed=../../bpf/owner/owner_maps.h");
    println!("cargo::rerun-if-changed=../../bpf/beats/beats_maps.h");
    println!("cargo::rerun-if-changed=../../bpf/crowd/crowd_maps.h");
    println!("cargo::rerun-if-changed=../../bpf/monitor/monitor_maps.h");
}
