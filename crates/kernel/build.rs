//! Compiles the qdisc, what watches sockets and what stands on the ingress of
//! devices, and writes their skeletons.

fn main() {
    takt_bpf_build::skeleton("link");
    takt_bpf_build::skeleton("flows");
    takt_bpf_build::skeleton("receive");
}
