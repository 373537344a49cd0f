//! Why a host cannot carry out a part of a policy. The errors point into the policy.

super::reasons! {
DEVICE_MISSING = "takt::device::missing": "
The policy names a network device that this host does not have, at least not in this network
namespace. `ip link` lists those it has, with the alternative names (altname) that a policy may use
as well. The exit code is 5, as the device may appear later: takt.service then tries again.
";
TWO_NAMES = "takt::device::two_names": "
A device has a name and may have alternative ones, which `ip link` shows as altname. A policy may
call a device by any of them, but by the same one in all of its tables: two links of one device
would be two rates of one wire.
";
TOO_MANY_RULES = "takt::device::too_many_rules": "
The matches of a link are turned into table entries: one for each combination of a source port block
and a destination port block. A port range takes up to 30 blocks, fewer if it begins and ends at
multiples of powers of two. A link holds 8192 entries, of 64 different combinations of fields and
prefix lengths. No host has more room, so `takt check` finds it as well.
";
NO_GAP = "takt::device::no_gap": "
Gap frames fill the time between packets with Ethernet PAUSE frames, so the device must be an
Ethernet device with an MTU of at least 174 bytes, and the overhead at most 68. `takt doctor` says
which devices filter PAUSE frames. pacing = \"timer\" works on every device.
";
NO_PUSH_BACK = "takt::device::no_push_back": "
rate = \"line\" has no number: the device decides, since its driver stops the queue while enough is on
its way. veth, ifb, bridges, VLANs, tunnels and other devices without hardware take every packet at
once, or keep hundreds of them, so the link would have no order. The line behind such a device has a
rate, or one that changes: rate = { min = \"5mbit\", base = \"20mbit\", max = \"60mbit\" } with
reflectors. The device below it may be one that pushes back.
";
NO_RECEIVE = "takt::device::no_receive": "
A class with priority = \"background\" treats incoming packets as it does those that are sent: they
take a turn through a device of kind ifb, which takt makes, and come back to where they were. They
come back by their Ethernet header, which tun devices, PPP and WireGuard do not have. receive =
false in the class leaves incoming packets alone.
";
NO_BACKEND = "takt::kernel::no_backend": "
A link is carried out by takt's own qdisc, which needs Linux 6.16 with CONFIG_NET_SCH_BPF=y, or by a
tree of HTB classes. A tree does not know stations, flows with clocks of their own, gap frames and
registered destinations, nor the owners of sockets before Linux 6.1, so a link whose policy asks for
one of them is refused on an older kernel, unless each class that does says best_effort = true.
`takt check --kernel 6.1 --explain` says which backend each link gets on a kernel, and why.
";
DOES_NOT_FIT = "takt::task::does_not_fit": "
The tasks before this one, or those that have their slots already, leave no room for it. A task
occupies the same slots in each of its periods, and a part of every CPU's time is never assigned
(free, in [beats]). Tasks that need most of a CPU are placed first; periods that divide each other
fit together best. The message says what holds the CPUs, and the nearest that would fit.
";
}
