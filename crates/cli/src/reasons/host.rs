//! Why a host refuses a change.

super::reasons! {
KERNEL_LACKS = "takt::host::kernel_lacks": "
The kernel is older than the feature, or was built without it; the message names the feature and the
release that brought it. `takt doctor` tries every feature on the running kernel, and `takt lab exec`
boots one that has them all. Links need Linux 6.16 or newer with CONFIG_NET_SCH_BPF, threads on the
beat 6.16 or newer with CONFIG_SCHED_CLASS_EXT; `takt dispatch` keeps tasks on others.
";
KERNEL_REFUSES = "takt::host::kernel_refuses": "
The kernel answers \"Operation not permitted\" before it has looked at the program, to a process with all
capabilities. It was built without what such programs need, is locked down (/sys/kernel/security/lockdown),
or has a security module that forbids them (/sys/kernel/security/lsm; `mount -t securityfs none
/sys/kernel/security` shows both). What does not need these programs works.
";
CAPABILITY = "takt::host::capability": "
Loading programs into the kernel and changing devices takes privileges: CAP_NET_ADMIN,
CAP_PERFMON and CAP_BPF, which root has. What other users may ask for goes through taktd instead:
`takt run`, `takt background`, and reservations on the beat.
";
USER_NAMESPACE = "takt::host::user_namespace": "
The process has capabilities in a user namespace of its own: it runs in a rootless container or below
`unshare -U`. Programs are loaded into the kernel for the whole host, so for them only capabilities of
the host's own user namespace count. Run takt as root of the host. What does not take privileges
goes through taktd: `takt run`, `takt background`.
";
SECCOMP = "takt::host::seccomp": "
A filter of system calls refuses bpf(2), although the process has the capabilities. Containers have
such a filter by default, and units with SystemCallFilter=. systemd: SystemCallFilter=bpf; Docker and
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
Maps and programs in the kernel, sockets and files are all open files, of which a process may have so
many (`ulimit -n`, LimitNOFILE= of a unit), and a host (sysctl fs.file-max). Takt raises its own limit
as far as it may, and begins nothing that it has no room to finish: nothing was changed.
";
LACKING = "takt::host::lacking": "
The kernel refused for a reason that lies in the host's settings or its state, not in the policy: its
compiler of BPF programs is off (sysctl net.core.bpf_jit_enable), a control group has no memory left
(memory.max), /run or the BPF file system is read-only, or a driver does not support a request. What the
message names can be changed, and then the same command repeated: nothing was changed.
";
NO_BPFFS = "takt::host::no_bpffs": "
Programs in the kernel stay after `takt apply` has ended because they are pinned in the BPF file
system, usually at /sys/fs/bpf. systemd mounts it; elsewhere `mount -t bpf bpf /sys/fs/bpf` does.
";
OPEN_BPFFS = "takt::host::open_bpffs": "
Every user can write into the BPF file system, and without the sticky bit take away or replace what
others have pinned there, takt's programs among it. `chmod 1777 /sys/fs/bpf` keeps it open to all
users and each to their own, `chmod 700 /sys/fs/bpf` leaves it to root.
";
NO_CGROUP2 = "takt::host::no_cgroup2": "
Rules by application, user, control group or unit recognise sockets by programs at the root of
cgroup2, so that has to be mounted: `mount -t cgroup2 none /sys/fs/cgroup`.
";
NO_PROC = "takt::host::no_proc": "
In /proc takt reads which privileges it has and in which network namespace it runs. A chroot or a rescue
system often lacks it: `mount -t proc proc /proc`, and the file systems that `takt doctor` names then.
";
NOT_TRIED = "takt::host::not_tried": "
Qdiscs, classifiers and hooks are tried in a network namespace that is gone afterwards. Making one takes
CAP_SYS_ADMIN, and a unit of systemd's may forbid it (RestrictNamespaces=). What was not tried may be
there or not.
";
NO_IFB = "takt::host::no_ifb": "
Incoming traffic in the background waits in a device of kind ifb, which takt makes. The kernel has no
such devices: CONFIG_IFB is missing, or its module. receive = false in the classes with priority =
\"background\" leaves incoming traffic alone.
";
NO_INGRESS = "takt::host::no_ingress": "
Incoming traffic in the background is told apart by a program on the device's ingress (tcx, Linux
6.6). receive = false in the classes with priority = \"background\" leaves incoming traffic alone.
";
QDISC_IN_THE_WAY = "takt::host::qdisc_in_the_way": "
The device already carries a queueing discipline that another program or an administrator set up. Takt
does not remove it unless told to with --replace; `takt revert` then restores it.
";
QDISC_IRREPLACEABLE = "takt::host::qdisc_irreplaceable": "
The device carries a queueing discipline with classes, filters or further disciplines below it. Takt
could not put that back as it was, so it does not take it away, not even with --replace. If it is to
go, delete it: `tc qdisc del dev DEV root`.
";
QDISC_UNPROVED = "takt::host::qdisc_unproved": "
With --replace, takt first tries whether the queueing discipline comes back: it puts what the kernel
lists of it on a device in a network namespace of its own, and compares what is listed there. Some
disciplines have settings that the kernel does not list (the size table of stab, red's table, a netem's
distribution of delays), others are not taken back as they are listed (htb). Those are not
replaced. If it is to go, delete it, and keep the command that sets it up: `tc qdisc del dev DEV root`.
";
QDISC_NOT_RESTORED = "takt::host::qdisc_not_restored": "
The device carried another queueing discipline before takt, and the kernel refused to have it back. The
device has the kernel's default now, takt's is gone from it, and all other devices were given back as
ever. Set the discipline up again as at first: `tc qdisc replace dev DEV root ...`. Takt replaces only what
came back in a trial; an earlier takt did not try, and a kernel's module may be gone by now.
";
QDISC_CHANGED = "takt::host::qdisc_changed": "
The device carried takt, and carries something else now: a user changed it with tc, or a network
manager did. It is left as it is. `takt apply` takes a device again that has no qdisc of its own, `takt
apply --replace` one that has; `takt revert` forgets the link.
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
A weight was asked for where no stations are told apart: the link is not in force, or [radio] is not
about it, or its stations are known by another kind of address. `takt station list` shows them.
";
TOO_MANY_STATIONS = "takt::host::too_many_stations": "
A link tells 256 stations by weight; all others count as 1 each. `takt station forget` makes room, and
a station that has been silent for a minute makes room by itself.
";
TOO_MANY_LINKS = "takt::host::too_many_links": "
The programs have room for 64 devices on the host, all network namespaces together; one whose class
in the background receives counts as two. `takt revert` gives those of a namespace back.
";
OTHER_VERSION = "takt::host::other_version": "
The programs in the kernel were loaded by another version of takt, and what they keep in their maps
is laid out differently. `takt apply` puts its own in their place, while packets and beats go on; with
--confirm it does not, since the version before could not come back. `takt revert` removes them. Both
know the devices of their own network namespace by the records in /run/takt, so where others are of
that version, `takt revert` is to be run there first. The scheduler and the congestion control are
those of the whole host.
";
NOT_HANDED_OVER = "takt::host::not_handed_over": "
The programs that the policy needs had been verified, and the devices or the kernel refused a later
step, when those of the version before had lost their name. Nothing of takt is in force: devices are
as they were found. `takt apply` begins anew.
";
HELPER = "takt::host::helper": "
A process of takt's own does what BPF cannot: it keeps links in stock of gap frames, and comes from
an idle processor for what the background's gate blocks elsewhere. It could not be started or spoken
to. `takt apply` starts one by itself, `takt feed` runs one in the foreground.
";
DRIVER_SOCKET = "takt::host::driver_socket": "
Drivers say through an ordinary socket what they are, and the process could not open one. Most often
it has as many files open as it may (`ulimit -n`).
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
While beats are loaded takt schedules every ordinary thread of the host, and weights of control groups
(cpu.weight, in cgroup v1 cpu.shares) have no effect. Limits (cpu.max, cpu.cfs_quota_us) hold on Linux
6.17 or newer, where the kernel tells takt of them. The group that is named has threads and such a
setting. Take the setting away, or stop what runs in the group; a unit of systemd
has it from CPUQuota=, CPUWeight= or their kin. `takt doctor` lists all such groups. With
ignore_cgroup_limits = true in [beats] beats are loaded all the same, and the settings have no effect
until `takt revert`.
";
BEATS_ENDED = "takt::host::beats_ended" ["ended"]: "
The scheduler of beats has ended, with the reason that is quoted: a thread that could run was not let
run for 30 s, SysRq-S was pressed, or the scheduler failed. Every thread is the kernel's own
scheduler's since then. `takt apply` loads it anew, `takt revert` clears what is left.

If a realtime thread never sleeps, takt ends the scheduler: kernels without ext_server would give
ordinary threads no time until then, and the kernel's own scheduler gives them 5 % of that CPU. Stop
the thread that is named, or have it sleep, before you apply again.
";
NOT_STARTED = "takt::host::not_started": "
The kernel took the scheduler of beats and ended it at once, with the reason that is quoted. Nothing
was changed. (-12) is memory: kernels from 6.18 on have none for a scheduler's timers on a processor
without cmpxchg16b, such as an emulated one.
";
NO_PLAN = "takt::host::no_plan": "
Some tasks went, and the others could not be planned anew. Nothing was changed. What stood before
was possible, so apply that, or give the policy fewer or longer slots.
";
SOFTIRQ_TIERS = "takt::host::network_level": "
While there are beats, packets are processed in threads and in small batches, which takes settings of
devices and of net.core. One of them could not be written. threaded_napi = false in [beats] leaves
devices as they are.
";
NOT_MOVED = "takt::host::not_moved": "
A program goes to the background by moving to a control group of its own. The kernel did not let it:
the group above it has its own controllers switched on, or its owner's limits are reached.
";
NO_SIGNAL = "takt::host::no_signal": "
The device was asked how well stations hear (nl80211), and does not tell: it is no wireless device,
or its driver reports no signal. Weights can come from reports or from a file: docs/radio.md.
";
FILE = "takt::host::file": "
A file of the kernel's or of takt's own could not be read or written; the message has its path and
the operating system's reason. Takt keeps its records in /run/takt.
";
UNTRUSTED = "takt::host::untrusted": "
Takt runs with root's rights and goes by what lies in /run/takt and in its directories of the BPF
file system. Something there belongs to another user, can be written by others, or is not what it
should be; the message has its path, owner and mode. Another user may have put it there. Take it away,
and repeat the command. A link whose record is gone is given back with the kernel's default queueing.
";
BUSY = "takt::host::busy": "
One takt at a time changes a host, and another one has been at it for longer than any change takes.
The message names its process. If it is stopped (`ps -o stat= PID` says T), `kill -CONT PID` lets it go
on; if it hangs, `kill PID` ends it, and what it had not finished is put right by the next takt.
";
BAD_RECORD = "takt::host::bad_record": "
What was on the host before a policy is recorded below /run/takt, and this record was not written by
takt, or not to its end, or by a newer takt. Nothing was changed. `takt revert` takes a newer record
for what it knows of it, and goes on without any other: what was there before is then not known, and
a device gets the kernel's default.
";
NETLINK = "takt::host::netlink": "
The kernel refused a request about a device or its queueing discipline; the message quotes its own
words. Nothing stays half done: what had been changed was changed back.
";
LOAD = "takt::host::load": "
The kernel's verifier refused a program. That is takt's fault, or a kernel that it was not tried on; the
verifier's log below the message says where. `takt doctor` tries all programs one by one.
";
BPF = "takt::host::bpf": "
A map or a program in the kernel could not be reached; the message says what was being done. Most
often memory was short, or takt's pins were removed below /sys/fs/bpf.
";
NAME_TAKEN = "takt::host::name_taken": "
What a device receives waits in a device of takt's own, whose alternative name is that of the device, a
dot and `download`. Another program's device is called so, and a policy could not tell the two apart.
Give that one another name.
";
DEVICE_GONE = "takt::host::device_gone": "
A policy that was not confirmed was taken back, and a device of the policy before it is not there any
more. The rest was put back. When the device is there again, `takt apply` has it follow the policy.
";
PENDING = "takt::host::pending" ["pending"]: "
A policy was applied with --confirm and is not decided yet. Until it is, no other change is made to
the host, in no network namespace: it would be undone with it. The message says who applied it and how
long it waits. `takt confirm` keeps it, `takt cancel` takes it back; otherwise it goes at the end of its
time.
";
NOTHING_PENDING = "takt::host::nothing_pending": "
`takt confirm` and `takt cancel` decide about a policy that was applied with --confirm, and none
waits: it was confirmed, cancelled or taken back before. `takt status` shows what is in force.
";
NOT_CONFIRMABLE = "takt::host::not_confirmable": "
A policy that was applied with --confirm can be confirmed while it is in force and its time is not over.
This one was not applied to its end, or its time is over and it is being taken back. Apply it again.
";
PENDING_ELSEWHERE = "takt::host::pending_elsewhere": "
What a policy changed is put back in the network namespace that it was applied in: `ip netns exec NAME
takt cancel`. It can be confirmed from every namespace.
";
NOT_CONFIRMED = "takt::host::not_confirmed": "
A policy was applied with --confirm and not kept: something other than Enter or yes was typed, takt was
interrupted, `takt cancel` was run, or the time passed. What was in force before is again. What others
changed meanwhile is left as they made it, and named.
";
NOT_RESTORABLE = "takt::host::not_restorable": "
What is in force before a policy with --confirm must be known and be possible again. Either takt's
record of a device is lost, then nothing was changed; or the policy before cannot be carried any more,
then the new one is still in force. `takt cancel` tries again, `takt revert` takes all of takt away.
";
GUARD = "takt::host::guard": "
--confirm starts a second process before anything is changed, which takes the policy back if takt
itself is killed. It did not start, so nothing was changed: most often the limit of processes is
reached (`ulimit -u`), or memory is short.
";
NOT_TAKEN_BACK = "takt::host::not_taken_back": "
Something failed half-way, and so did putting back a part of what had been changed until then; the
message quotes both. `takt status` says what is in force now, `takt revert` takes all of it away.
";
NO_USER = "takt::host::no_user": "
A match names a user that this host does not have, or that could not be looked up. Names are resolved
when the policy is applied; a number needs no name.
";
}
