//! Compiles the qdisc and writes its skeleton.

fn main() {
    takt_bpf_build::skeleton("link");
}
