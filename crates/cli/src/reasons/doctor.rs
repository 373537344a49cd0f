//! Missing features that `takt doctor` finds, one by one.

super::reasons! {
PRIVILEGES = "takt::doctor::privileges" ["privileges"]: "
Takt changes devices and loads programs. It needs root, or CAP_NET_ADMIN, CAP_PERFMON and CAP_BPF,
in the host's initial user namespace. No seccomp filter or security module may forbid it, and it
must be able to open files. Without them doctor cannot tell what else is missing.
";
NETLINK = "takt::doctor::netlink" ["netlink"]: "
Takt queries devices and queueing disciplines through a route socket. If there is none, a sandbox
usually forbids AF_NETLINK.
";
BPFFS = "takt::doctor::bpffs" ["bpffs"]: "
Programs are pinned in the BPF file system: `mount -t bpf bpf /sys/fs/bpf`. Without it nothing can
stay in force after `takt apply` has exited.
";
PACING = "takt::doctor::pacing" ["pacing"]: "
The queueing discipline is a BPF program, for which Linux 6.16 or newer with CONFIG_NET_SCH_BPF,
CONFIG_BPF_SYSCALL and CONFIG_DEBUG_INFO_BTF is needed. Without it links have no pacing, background
traffic or stations.
";
CODEL = "takt::doctor::codel" ["codel"]: "
The backend `tree` manages queues by the kernel's own codel and fq_codel (CONFIG_NET_SCH_CODEL,
CONFIG_NET_SCH_FQ_CODEL). Without them links on it need aqm = \"off\" in their classes; other backends do
without.
";
SOCKETS = "takt::doctor::sockets" ["sockets"]: "
Rules by application, user, control group and unit need cgroup2, CONFIG_CGROUP_BPF and function
tracing. Rules by address and port do without.
";
RECEIVE = "takt::doctor::receive" ["receive"]: "
Incoming traffic in the background goes through a device of kind ifb (CONFIG_IFB, `modprobe ifb`), led
there by a tcx program (Linux 6.6). receive = false in a class does without.
";
DOWNLOAD = "takt::doctor::download" ["download"]: "
What a device receives is divided on a device of kind ifb (CONFIG_IFB), where a filter on its ingress
sends it (CONFIG_NET_SCH_INGRESS, CONFIG_NET_CLS_MATCHALL, CONFIG_NET_ACT_MIRRED). A link without a
table `download` does without.
";
GAP_FRAMES = "takt::doctor::gap_frames" ["gap frames"]: "
Gap frames come from a packet socket (CONFIG_PACKET, CAP_NET_RAW). pacing = \"timer\", the default, does
without.
";
BEATS = "takt::doctor::beats" ["beats"]: "
Threads on the beat need Linux 6.16 or newer with CONFIG_SCHED_CLASS_EXT, not PREEMPT_RT, and no other
extensible scheduler loaded. Links do without. `takt dispatch` keeps tasks on other kernels.
";
CROWD = "takt::doctor::crowd" ["crowd"]: "
Bounds on the windows of TCP flows are a congestion control written in BPF: Linux 6.12 or newer with
CONFIG_BPF_SYSCALL and CONFIG_DEBUG_INFO_BTF.
";
FILTERED = "takt::doctor::swallowed" ["filtered", "swallowed"]: "
The driver drops PAUSE frames that the host sends, or the device has no wire of its own, so the gap
frames of pacing = \"gap\" would have no effect. pacing = \"timer\" works on every device.
";
BACKLOG = "takt::doctor::backlog" ["softirq", "backlog"]: "
Packets of devices without NAPI of their own are processed in softirqs, before any thread, so they
take time from beats. With the kernel argument thread_backlog_napi (Linux 6.10) threads process
them, which run after beats.
";
BELOW = "takt::doctor::below" ["below"]: "
The wireless driver keeps its own queues below the queueing discipline, which then has no backlog to
schedule. Shape slightly below the rate of the air, on the gateway before the access point
(docs/radio.md).
";
}
