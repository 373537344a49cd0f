//! Why a host refuses a change.

super::reasons! {
KERNEL_LACKS = "takt::host::kernel_lacks": "
The kernel is older than the feature, or was built without it; the message names the feature and the
release that brought it. `takt doctor` tries every feature on the running kernel, and `takt lab exec`
boots one that has them all. Links need Linux 6.16 or newer with CONFIG_NET_SCH_BPF, threads on the
beat 6.16 or newer with CONFIG_SCHED_CLASS_EXT; `takt dispatch` keeps tasks on others.
";
KERNEL_REFUSES = "takt::host::kernel_refuses": "
The kernel answers \"Operation not permitted\" to a process with all capabilities, before it
verifies the program. It was built without a required option, is locked down
(/sys/kernel/security/lockdown), or has a security module that forbids them
(/sys/kernel/security/lsm; `mount -t securityfs none /sys/kernel/security` shows both). Features
that need no such programs work.
";
CAPABILITY = "takt::host::capability": "
Loading programs into the kernel and changing devices requires CAP_NET_ADMIN, CAP_PERFMON and
CAP_BPF, which root has. Other users ask taktd instead: `takt run`, `takt background`, and
reservations on the beat.
";
USER_NAMESPACE = "takt::host::user_namespace": "
The process has capabilities in a user namespace of its own: it runs in a rootless container or
below `unshare -U`. Programs are loaded into the kernel for the whole host, so for them only
capabilities of the host's own user namespace count. Run takt as root of the host. Users without
privileges ask taktd: `takt run`, `takt background`.
";
SECCOMP = "takt::host::seccomp": "
A seccomp filter forbids bpf(2), although the process has the capabilities. Containers have such a
filter by default, and so do units with SystemCallFilter=. systemd: SystemCallFilter=bpf; Docker and
Podman: --security-opt seccomp=FILE with bpf allowed, or --privileged.
";
LOCKDOWN = "takt::host::lockdown": "
A kernel that is locked down to confidentiality does not let BPF programs read its memory, not
even those of root. With integrity, which Secure Boot usually sets, takt works. The level is in
/sys/kernel/security/lockdown and can only be lowered by booting: lockdown=integrity, or without.
";
SECURITY_MODULE = "takt::host::security_module": "
A security module of the kernel, such as SELinux or AppArmor, does not let this process use bpf(2),
although it has the capabilities. Its log names the rule: `ausearch -m avc`, `journalctl -k`.
";
TOO_MANY_FILES = "takt::host::too_many_files": "
Maps and programs in the kernel, sockets and files all count as open files. Their number is limited
for a process (`ulimit -n`, LimitNOFILE= of a unit) and for a host (sysctl fs.file-max). Takt raises
its own limit as far as it may, and checks it before any change: nothing was changed.
";
LACKING = "takt::host::lacking": "
The kernel refused because of the host's settings or state, not because of the policy: its BPF
compiler is off (sysctl net.core.bpf_jit_enable), a control group has no memory left (memory.max),
/run or the BPF file system is read-only, or a driver does not support a request. Correct what the
message names, and repeat the command: nothing was changed.
";
NO_BPFFS = "takt::host::no_bpffs": "
Programs in the kernel stay after `takt apply` has ended because they are pinned in the BPF file
system, usually at /sys/fs/bpf. systemd mounts it; elsewhere `mount -t bpf bpf /sys/fs/bpf` does.
";
OPEN_BPFFS = "takt::host::open_bpffs": "
Every user can write to the BPF file system, and without the sticky bit can remove or replace what
others have pinned there, including takt's programs. `chmod 1777 /sys/fs/bpf` lets all users write,
each only their own files; `chmod 700 /sys/fs/bpf` reserves it for root.
";
NO_CGROUP2 = "takt::host::no_cgroup2": "
Rules by application, user, control group or unit recognise sockets by programs at the root of
cgroup2, which must be mounted: `mount -t cgroup2 none /sys/fs/cgroup`.
";
NO_PROC = "takt::host::no_proc": "
Takt reads its privileges and its network namespace from /proc. A chroot or a rescue system often
lacks it: run `mount -t proc proc /proc`, then mount the file systems that `takt doctor` names.
";
NOT_TRIED = "takt::host::not_tried": "
Qdiscs, classifiers and hooks are tested in a temporary network namespace. Creating one requires
CAP_SYS_ADMIN, and a systemd unit may forbid it (RestrictNamespaces=). What was not tested may or
may not be available.
";
NO_IFB = "takt::host::no_ifb": "
Incoming traffic in the background waits in a device of kind ifb, which takt makes. The kernel has no
such devices: CONFIG_IFB is missing, or its module. receive = false in the classes with priority =
\"background\" leaves incoming traffic alone.
";
NO_INGRESS = "takt::host::no_ingress": "
A program on the device's ingress separates incoming background traffic (tcx, Linux 6.6). receive =
false in the classes with priority = \"background\" leaves incoming traffic alone.
";
QDISC_IN_THE_WAY = "takt::host::qdisc_in_the_way": "
The device already carries a queueing discipline that another program or an administrator set up. Takt
does not remove it unless told to with --replace; `takt revert` then restores it.
";
QDISC_IRREPLACEABLE = "takt::host::qdisc_irreplaceable": "
The device carries a queueing discipline with classes, filters or further disciplines below it. Takt
could not restore it, so it does not replace it, not even with --replace. To replace it, delete it
first: `tc qdisc del dev DEV root`.
";
QDISC_UNPROVED = "takt::host::qdisc_unproved": "
With --replace, takt first tests whether it can restore the queueing discipline: it recreates it on
a device in a temporary network namespace from what the kernel lists, and compares the result. Some
disciplines have settings that the kernel does not list (the size table of stab, red's table,
netem's delay distribution); others are not accepted as they are listed (htb). Those are not
replaced. To replace one anyway, keep the command that sets it up, and delete it: `tc qdisc del dev
DEV root`.
";
QDISC_NOT_RESTORED = "takt::host::qdisc_not_restored": "
The device carried another queueing discipline before takt, and the kernel refused to restore it.
The device now has the kernel's default; takt's qdisc is gone, and all other devices were restored.
Set the discipline up again: `tc qdisc replace dev DEV root ...`. Takt replaces only what it could
restore in a test; an earlier takt did not test, or a kernel module may have been removed since.
";
QDISC_CHANGED = "takt::host::qdisc_changed": "
The device carried takt's qdisc and now carries another one: a user or a network manager changed it.
Takt leaves it as it is. `takt apply` manages the device again if it has no qdisc of its own, `takt
apply --replace` also if it has one; `takt revert` forgets the link.
";
CONGESTION_CHANGED = "takt::host::congestion_changed": "
A policy with [crowd] made takt the congestion control of new flows in this network namespace, and
another one is set now: another program or a user changed net.ipv4.tcp_congestion_control. It is left
as it is. `takt apply` sets takt again.
";
NO_CROWD = "takt::host::no_crowd": "
A policy with [crowd] is in force, and the congestion control takt is not in the kernel any more:
its pins were removed from the BPF file system. Flows go on under CUBIC, without bounds. `takt
apply` loads it again, `takt revert` forgets it.
";
STATIONS = "takt::host::stations": "
A weight was set where stations are not distinguished: the link is not in force, [radio] does not
apply to it, or its stations have another kind of address. `takt station list` shows them.
";
TOO_MANY_STATIONS = "takt::host::too_many_stations": "
A link keeps weights for 256 stations; all others have weight 1. `takt station forget` frees a
place, and so does a station that has been silent for a minute.
";
TOO_MANY_LINKS = "takt::host::too_many_links": "
The programs have room for 64 devices on the host, all network namespaces together; one whose class
in the background receives counts as two. `takt revert` restores those of a namespace.
";
OTHER_VERSION = "takt::host::other_version": "
The programs in the kernel were loaded by another version of takt, whose maps have another layout.
`takt apply` replaces them while packets and beats go on; with --confirm it refuses, because the
previous version could not be restored. `takt revert` removes them. Both know only the devices of
their own network namespace, by the records in /run/takt. If other namespaces have devices of that
version, run `takt revert` there first. The scheduler and the congestion control serve the whole
host.
";
NOT_HANDED_OVER = "takt::host::not_handed_over": "
The programs that the policy needs were verified, but a device or the kernel refused a later step,
when the programs of the previous version were already unpinned. No policy is in force: devices were
restored. `takt apply` starts again.
";
HELPER = "takt::host::helper": "
A helper process does what BPF programs cannot: it supplies links with gap frames, and from an idle
processor it wakes queues that the background's gate blocks. It could not be started or reached.
`takt apply` starts a helper by itself, `takt feed` runs one in the foreground.
";
DRIVER_SOCKET = "takt::host::driver_socket": "
Takt queries drivers through an ordinary socket and could not open one. Usually the process has
reached its limit of open files (`ulimit -n`).
";
OTHER_SCHEDULER = "takt::host::other_scheduler": "
The kernel runs one extensible scheduler (sched_ext) at a time, and another is loaded. Stop it first,
for instance with `systemctl stop scx`.
";
BEATS_ELSEWHERE = "takt::host::beats_elsewhere": "
A host has one table of time slots. The policy whose tasks are in it was applied in another network
namespace; `takt revert` there ends it.
";
CGROUP_LIMITS = "takt::host::cgroup_limits": "
While beats are loaded takt schedules every ordinary thread of the host, and weights of control
groups (cpu.weight, in cgroup v1 cpu.shares) have no effect. Limits (cpu.max, cpu.cfs_quota_us) hold
on Linux 6.17 or newer, where the kernel tells takt of them. The named group has threads and such a
setting. Remove the setting, or stop the processes of the group; in a systemd unit it comes from
CPUQuota=, CPUWeight= and similar keys. `takt doctor` lists all such groups. With
ignore_cgroup_limits = true in [beats] beats are loaded anyway, and the settings have no effect
until `takt revert`.
";
BEATS_ENDED = "takt::host::beats_ended" ["ended"]: "
The scheduler of beats has ended for the quoted reason: a runnable thread did not run for 30 s,
SysRq-S was pressed, or the scheduler failed. Since then the kernel's own scheduler runs every
thread. `takt apply` loads it again, `takt revert` removes what is left.

If a realtime thread never sleeps, takt ends the scheduler: without ext_server, ordinary threads
would get no time on that CPU, while the kernel's own scheduler gives them 5 %. Stop the named
thread, or let it sleep, before you apply again.
";
NOT_STARTED = "takt::host::not_started": "
The kernel loaded the scheduler of beats and ended it at once, for the quoted reason. Nothing was
changed. (-12) means out of memory: from 6.18 on, kernels cannot allocate a scheduler's timers on a
processor without cmpxchg16b, such as an emulated one.
";
NO_PLAN = "takt::host::no_plan": "
Some tasks were removed, and the others could not be planned again. Nothing was changed. Apply the
previous policy, which was possible, or give the policy fewer or longer slots.
";
SOFTIRQ_TIERS = "takt::host::network_level": "
While there are beats, packets are processed in threads and in small batches, which takes settings of
devices and of net.core. One of them could not be written. threaded_napi = false in [beats] leaves
devices as they are.
";
NOT_MOVED = "takt::host::not_moved": "
A program runs in the background by moving to a control group of its own. The kernel refused: the
parent group has controllers enabled, or its owner's limits are reached.
";
NO_SIGNAL = "takt::host::no_signal": "
The device does not report the signal of stations (nl80211): it is not a wireless device, or its
driver reports no signal. Weights can come from reports or from a file: docs/radio.md.
";
FILE = "takt::host::file": "
A file of the kernel's or of takt's own could not be read or written; the message has its path and
the operating system's reason. Takt keeps its records in /run/takt.
";
UNTRUSTED = "takt::host::untrusted": "
Takt runs as root and trusts the files in /run/takt and in its directories of the BPF file system. A
file there belongs to another user, can be written by others, or has the wrong type; the message has
its path, owner and mode. Another user may have created it. Remove it, and repeat the command. A
link without a record is restored to the kernel's default qdisc.
";
BUSY = "takt::host::busy": "
Only one takt may change a host at a time, and another one has been changing it for longer than any
change takes. The message names its process. If it is stopped (`ps -o stat= PID` prints T), `kill
-CONT PID` continues it; if it hangs, `kill PID` ends it, and the next takt repairs an unfinished
change.
";
BAD_RECORD = "takt::host::bad_record": "
Takt records the state before a policy below /run/takt. This record was not written by takt, is
incomplete, or is from a newer takt. Nothing was changed. `takt revert` uses what it understands of
a newer record and ignores any other: the previous state is then unknown, and the device gets the
kernel's default.
";
NETLINK = "takt::host::netlink": "
The kernel refused a request about a device or its queueing discipline; the message quotes the
kernel. All changes were undone.
";
LOAD = "takt::host::load": "
The kernel's verifier refused a program. This is a bug in takt, or the kernel is one that takt was
not tested on; the verifier's log below the message says where. `takt doctor` tries all programs one
by one.
";
BPF = "takt::host::bpf": "
A map or a program in the kernel could not be accessed; the message says during which step. Usually
memory is short, or takt's pins below /sys/fs/bpf were removed.
";
NAME_TAKEN = "takt::host::name_taken": "
What a device receives waits in a device of takt's own, whose alternative name is that of the
device, a dot and `download`. Another program's device has this name, and a policy could not
distinguish the two. Rename that device.
";
DEVICE_GONE = "takt::host::device_gone": "
A policy that was not confirmed was reverted, and a device of the previous policy no longer exists.
Everything else was restored. When the device is back, `takt apply` applies the policy to it.
";
PENDING = "takt::host::pending" ["pending"]: "
A policy was applied with --confirm and is still pending. Until it is decided, takt makes no other
change to the host, in any network namespace, because a revert would undo it as well. The message
says who applied it and how long it waits. `takt confirm` keeps it, `takt cancel` reverts it;
otherwise it is reverted at the timeout.
";
NOTHING_PENDING = "takt::host::nothing_pending": "
`takt confirm` and `takt cancel` decide about a policy that was applied with --confirm, and none is
pending: it was confirmed, cancelled or reverted before. `takt status` shows what is in force.
";
NOT_CONFIRMABLE = "takt::host::not_confirmable": "
A policy that was applied with --confirm can be confirmed while it is in force and its time is not
over. This one was not applied completely, or its time is over and it is being reverted. Apply it
again.
";
PENDING_ELSEWHERE = "takt::host::pending_elsewhere": "
A policy can be reverted only in the network namespace that it was applied in: `ip netns exec NAME
takt cancel`. It can be confirmed from every namespace.
";
NOT_CONFIRMED = "takt::host::not_confirmed": "
A policy was applied with --confirm and reverted: something other than Enter or yes was typed, takt
was interrupted, `takt cancel` was run, or the time passed. The previous policy is in force again.
Takt reports what others changed meanwhile and leaves it alone.
";
NOT_RESTORABLE = "takt::host::not_restorable": "
With --confirm, takt must be able to restore the previous policy. If takt's record of a device is
lost, nothing was changed. If the previous policy can no longer be carried out, the new one is still
in force: `takt cancel` tries again, `takt revert` removes everything of takt.
";
GUARD = "takt::host::guard": "
Before any change, --confirm starts a second process, which reverts the policy if takt itself is
killed. It did not start, so nothing was changed. Usually the limit of processes is reached (`ulimit
-u`), or memory is short.
";
NOT_TAKEN_BACK = "takt::host::not_taken_back": "
A step failed, and so did undoing a part of the earlier steps; the message quotes both errors. `takt
status` shows what is in force now, `takt revert` removes all of it.
";
NO_USER = "takt::host::no_user": "
A match names a user that this host does not have, or that could not be looked up. Names are resolved
when the policy is applied; a number needs no name.
";
}
