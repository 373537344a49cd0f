//! Compiles the qdisc, what watches sockets, what marks packets, what gives them a DSCP, what classifies them for trees,
//! what stamps their departure times, what sets rates on sockets, what stands on the ingress of
//! devices, what finds receivers behind NAT, the scheduler of beats, the congestion control, what
//! moves flows to it, what bounds downloads of this host and of those behind it, and the monitor, and
//! writes their skeletons.

fn main() {
    takt_bpf_build::skeleton("link");
    takt_bpf_build::skeleton("owner");
    takt_bpf_build::skeleton("mark");
    takt_bpf_build::skeleton("dscp");
    takt_bpf_build::skeleton("tree");
    takt_bpf_build::skeleton("edt");
    takt_bpf_build::skeleton("flow");
    takt_bpf_build::skeleton("receive");
    takt_bpf_build::skeleton("inside");
    takt_bpf_build::skeleton("beats");
    takt_bpf_build::skeleton("crowd");
    takt_bpf_build::skeleton_in("crowd", "move");
    takt_bpf_build::skeleton_in("crowd", "download");
    takt_bpf_build::skeleton_in("crowd", "forward");
    takt_bpf_build::skeleton("monitor");
}
