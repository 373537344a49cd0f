//! Compiles the qdisc and what watches sockets, and writes their skeletons.

fn main() {
    takt_bpf_build::skeleton("link");
    takt_bpf_build::skeleton("flows");
}
