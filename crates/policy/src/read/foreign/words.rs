//! Words of tc, nft, CAKE, sqm, wondershaper, docker, Kubernetes, systemd and SCHED_DEADLINE.

use super::{Hint, Line, Word};
use crate::read::place::Place::{self, *};

const LINKS: &[Place] = &[File, Link, Download, Tenant, Class, Match];
/// Where a class or a tenant is described.
const PARTS: &[Place] = &[Tenant, Class, Match];
const TASKS: &[Place] = &[Beats, Task, TaskMatch];
const GROUPS: &[Place] = &[Radio, Crowd];

const LINK: &[Place] = &[Link];
const DIRECTIONS: &[Place] = &[Link, Download];
const CLASS: &[Place] = &[Class];
const CLASS_OR_TENANT: &[Place] = &[Class, Tenant];
const MATCH: &[Place] = &[Match];
const TASK: &[Place] = &[Task];
const THREAD: &[Place] = &[TaskMatch];

const fn word(names: &'static [&'static str], hints: &'static [Hint]) -> Word {
    Word { names, hints }
}

/// It is `lines` here.
const fn same(told_in: &'static [Place], lines: &'static [Line]) -> Hint {
    differs(told_in, "", lines)
}

/// There is nothing like it.
const fn absent(told_in: &'static [Place], fact: &'static str) -> Hint {
    differs(told_in, fact, &[])
}

const fn differs(told_in: &'static [Place], fact: &'static str, lines: &'static [Line]) -> Hint {
    Hint {
        told_in,
        fact,
        lines,
    }
}

const fn line(places: &'static [Place], text: &'static str) -> Line {
    choice(places, text, "")
}

const fn choice(places: &'static [Place], text: &'static str, purpose: &'static str) -> Line {
    Line {
        places,
        text,
        purpose,
    }
}

const LINK_RATE: Line = line(LINK, "rate = \"100mbit\"");
const WASH: Line = line(DIRECTIONS, "wash = true");
const BEST_EFFORT: Line = line(CLASS, "set_dscp = \"cs0\"");
const DOWNLOAD: Line = line(LINK, "download = { rate = \"240mbit\" }");
const GUARANTEE: Line = choice(CLASS_OR_TENANT, "rate = \"25mbit\"", "for a guarantee");
const CEILING: Line = choice(CLASS_OR_TENANT, "ceil = \"50mbit\"", "for a limit");
const QUEUE: Line = choice(CLASS, "queue_packets = 1000", "for the length of a queue");
const MARK: Line = line(MATCH, "mark = \"0x10\"");
const BY_WEIGHT: &str = "rates are absolute, and what is spare is shared by weight";
const WEIGHT: Line = line(CLASS_OR_TENANT, "weight = 2");
const HOSTS: Line = line(LINK, "share = \"hosts\"");
const SOURCE: Line = line(MATCH, "src = \"192.0.2.0/24\"");
const DESTINATION: Line = line(MATCH, "dst = \"192.0.2.0/24\"");
const UDP: Line = line(MATCH, "proto = \"udp\"");
const EF: Line = line(MATCH, "dscp = \"ef\"");
const PERIOD: Line = line(TASK, "period = \"40ms\"");
const BUDGET: Line = line(TASK, "budget = \"8ms\"");
const PERIOD_FIRST: Line = choice(TASK, "period = \"40ms\"", "for how often it runs");
const OFFSET: Line = choice(TASK, "offset = \"5ms\"", "for when in its period");
const COMMAND: Line = line(THREAD, "command = \"mixer\"");

const NO_PRIORITIES: &str = "among tasks there are no priorities: in its slots a thread goes \
                             before all ordinary ones";
const OF_DEVICE: &str = "a class is of the device in its table's name, [[link.eth0.class]]";

pub(super) const WORDS: &[Word] = &[
    // Rates.
    word(
        &["bandwidth", "bandwith", "bw", "speed", "capacity"],
        &[
            same(&[File, Link], &[LINK_RATE]),
            same(PARTS, &[GUARANTEE, CEILING]),
        ],
    ),
    word(
        &["rate_limit", "limit_rate", "throttle", "shape", "shaper"],
        &[same(&[File, Link], &[LINK_RATE]), same(PARTS, &[CEILING])],
    ),
    word(
        &[
            "ceiling",
            "max_rate",
            "rate_max",
            "maximum",
            "max",
            "max_bandwidth",
        ],
        &[same(&[File, Link], &[LINK_RATE]), same(PARTS, &[CEILING])],
    ),
    word(
        &[
            "min_rate",
            "rate_min",
            "minimum",
            "min",
            "guarantee",
            "guaranteed",
            "cir",
            "commit",
        ],
        &[same(LINKS, &[GUARANTEE])],
    ),
    word(
        &["limit"],
        &[
            same(
                &[File, Link],
                &[choice(LINK, "rate = \"100mbit\"", "for the device"), QUEUE],
            ),
            same(PARTS, &[CEILING, QUEUE]),
        ],
    ),
    word(
        &["peakrate"],
        &[differs(
            LINKS,
            "packets are spaced, so bursts need no rate of their own",
            &[CEILING],
        )],
    ),
    word(
        &[
            "egress",
            "upload",
            "uplink",
            "up",
            "tx",
            "outgoing",
            "output",
            "direction",
        ],
        &[
            differs(
                &[File, Link],
                "a link is for what its device sends",
                &[LINK_RATE],
            ),
            differs(PARTS, "a class is of what its device sends", &[CEILING]),
        ],
    ),
    word(
        &["ingress", "downlink", "down", "rx", "incoming", "input"],
        &[
            differs(
                LINKS,
                "what a device receives is a table of its own",
                &[DOWNLOAD],
            ),
            same(&[Crowd], &[line(&[Crowd], "downloads = true")]),
        ],
    ),
    word(
        &["download"],
        &[
            same(&[File, Download, Tenant, Class, Match], &[DOWNLOAD]),
            same(&[Crowd], &[line(&[Crowd], "downloads = true")]),
        ],
    ),
    word(
        &["autorate", "autorate_ingress"],
        &[absent(
            LINKS,
            "a line that changes has rate = { min = …, base = …, max = … }, and reflectors = [ … ] in \
             [link.DEV] to measure it by",
        )],
    ),
    word(
        &["quota", "volume", "data_cap"],
        &[
            differs(
                LINKS,
                "there is no limit of bytes, only one of the rate",
                &[CEILING],
            ),
            same(TASKS, &[BUDGET]),
        ],
    ),
    // What is shared, and in which order.
    word(
        &["quantum"],
        &[
            differs(
                LINKS,
                "classes share by weight, not by a quantum of bytes",
                &[WEIGHT],
            ),
            same(TASKS, &[BUDGET]),
        ],
    ),
    word(
        &["r2q"],
        &[absent(
            LINKS,
            "classes share by weight, so there is no quantum to compute: leave it out",
        )],
    ),
    // A link's own key has another meaning.
    word(&["share"], &[differs(PARTS, BY_WEIGHT, &[WEIGHT])]),
    word(
        &["shares", "ratio", "percent", "percentage"],
        &[differs(LINKS, BY_WEIGHT, &[WEIGHT])],
    ),
    word(
        &["prio", "precedence", "importance", "pref", "preference"],
        &[
            same(
                LINKS,
                &[choice(CLASS_OR_TENANT, "priority = 3", "(0 goes first)")],
            ),
            absent(TASKS, NO_PRIORITIES),
        ],
    ),
    word(
        &[
            "priority",
            "nice",
            "rt_priority",
            "sched_priority",
            "sched_policy",
            "policy",
        ],
        &[absent(TASKS, NO_PRIORITIES)],
    ),
    // Queues.
    word(
        &[
            "cburst",
            "buffer",
            "maxburst",
            "burst_size",
            "bucket",
            "bucket_size",
        ],
        &[differs(
            LINKS,
            "burst is a time, for rate and ceil alike",
            &[line(&[Class, Link], "burst = \"1ms\"")],
        )],
    ),
    word(
        &[
            "queue",
            "qlen",
            "queue_len",
            "queue_length",
            "queue_limit",
            "queue_size",
            "txqueuelen",
            "flow_limit",
            "memlimit",
            "memory_limit",
            "depth",
            "backlog",
        ],
        &[differs(
            LINKS,
            "queues are limited in packets",
            &[line(CLASS, "queue_packets = 1000")],
        )],
    ),
    word(
        &["latency", "delay", "max_delay", "max_latency", "dmax"],
        &[same(
            LINKS,
            &[choice(
                CLASS,
                "target = \"5ms\"",
                "for the delay that a queue may keep",
            )],
        )],
    ),
    word(
        &["rtt"],
        &[same(
            LINKS,
            &[choice(
                CLASS,
                "interval = \"100ms\"",
                "for an acceptable round trip",
            )],
        )],
    ),
    word(
        &["netem", "loss", "jitter", "corrupt", "duplicate", "reorder"],
        &[absent(
            LINKS,
            "Takt does not impair traffic: `tc qdisc` with netem does, on another device",
        )],
    ),
    word(
        &[
            "qdisc",
            "discipline",
            "leaf",
            "fq_codel",
            "codel",
            "cake",
            "sfq",
            "htb",
            "script",
        ],
        &[differs(
            LINKS,
            "Takt has its own qdisc, and queues that CoDel manages",
            &[choice(
                CLASS,
                "aqm = \"fq_codel\"",
                "for flows that take turns",
            )],
        )],
    ),
    word(
        &["ce_threshold", "l4s"],
        &[same(LINKS, &[line(LINK, "ecn = true")])],
    ),
    // Of CAKE.
    word(
        &["nat", "masquerade"],
        &[differs(
            LINKS,
            "hosts behind NAT are told apart by themselves; classes by their addresses need marks, from \
             nft",
            &[HOSTS, MARK],
        )],
    ),
    word(
        &["dscp"],
        &[same(
            CLASS,
            &[
                choice(MATCH, "dscp = \"ef\"", "to tell the class by it"),
                choice(CLASS, "set_dscp = \"ef\"", "to set it"),
            ],
        )],
    ),
    word(&["wash"], &[same(CLASS_OR_TENANT, &[BEST_EFFORT])]),
    word(
        &["squash_dscp", "squash_ingress"],
        &[
            same(DIRECTIONS, &[WASH]),
            same(CLASS_OR_TENANT, &[BEST_EFFORT]),
        ],
    ),
    word(
        &["set_dscp_class", "dscp_mark", "remark"],
        &[same(LINKS, &[line(CLASS, "set_dscp = \"ef\"")])],
    ),
    word(
        &["diffserv4", "diffserv"],
        &[same(LINKS, &[line(DIRECTIONS, "preset = \"diffserv4\"")])],
    ),
    word(
        &["diffserv3", "diffserv8", "tin", "tins"],
        &[differs(
            LINKS,
            "there are no tins: make a class for each kind of traffic, by DSCP",
            &[EF],
        )],
    ),
    word(
        &[
            "triple_isolate",
            "dual_srchost",
            "dual_dsthost",
            "srchost",
            "dsthost",
            "per_host",
        ],
        &[same(LINKS, &[HOSTS])],
    ),
    word(
        &["ack_filter", "ack_filter_aggressive"],
        &[same(LINKS, &[line(LINK, "acks = \"thin\"")])],
    ),
    word(
        &["split_gso", "gso", "tso"],
        &[same(
            LINKS,
            &[choice(LINK, "packets = \"mtu\"", "for one frame each")],
        )],
    ),
    word(&["mpu"], &[same(LINKS, &[line(LINK, "min_frame = 64")])]),
    word(
        &["linklayer", "atm", "ptm", "stab", "tsize"],
        &[same(
            LINKS,
            &[
                choice(LINK, "framing = \"pppoe-ptm\"", "by the line's name"),
                choice(LINK, "cells = \"atm\"", "for its cells alone"),
            ],
        )],
    ),
    word(
        &["mtu"],
        &[absent(
            LINKS,
            "the MTU is the device's: `ip link set DEV mtu 1500` sets it",
        )],
    ),
    // The tree of tc.
    word(
        &["handle", "classid", "flowid", "minor", "major", "id"],
        &[differs(
            LINKS,
            "classes have names instead of numbers",
            &[line(CLASS_OR_TENANT, "name = \"web\"")],
        )],
    ),
    word(
        &["parent", "root", "children"],
        &[differs(
            LINKS,
            "a class is below its link, or below a tenant of it",
            &[line(CLASS, "tenant = \"acme\"")],
        )],
    ),
    word(
        &["default", "default_class"],
        &[differs(
            LINKS,
            "a class named default takes what no other matches",
            &[line(CLASS, "name = \"default\"")],
        )],
    ),
    // Which packets.
    word(
        &[
            "filter",
            "filters",
            "rule",
            "rules",
            "classifier",
            "u32",
            "flower",
            "selector",
        ],
        &[differs(
            LINKS,
            "a class has its own match",
            &[line(
                CLASS,
                "match = { proto = \"udp\", dst_port = \"5004-5100\" }",
            )],
        )],
    ),
    word(
        &["port", "ports"],
        &[
            same(
                LINKS,
                &[
                    choice(MATCH, "dst_port = 443", "for the receiver's"),
                    choice(MATCH, "src_port = 443", "for the sender's"),
                ],
            ),
            same(&[Radio], &[line(&[Radio], "listen = 7641")]),
            absent(&[Crowd], "reports always go to port 7642"),
        ],
    ),
    word(
        &["dport", "destination_port", "dest_port", "remote_port"],
        &[same(LINKS, &[line(MATCH, "dst_port = 443")])],
    ),
    word(
        &["sport", "source_port", "local_port"],
        &[same(LINKS, &[line(MATCH, "src_port = 443")])],
    ),
    word(
        &[
            "saddr",
            "source",
            "src_ip",
            "src_addr",
            "source_address",
            "local",
        ],
        &[same(LINKS, &[SOURCE])],
    ),
    word(
        &[
            "daddr",
            "destination",
            "dest",
            "dst_ip",
            "dst_addr",
            "destination_address",
            "remote",
        ],
        &[same(LINKS, &[DESTINATION])],
    ),
    word(
        &["ip", "addr", "address", "cidr", "subnet", "network"],
        &[same(
            LINKS,
            &[
                choice(MATCH, "dst = \"192.0.2.0/24\"", "for the receiver's"),
                choice(MATCH, "src = \"192.0.2.0/24\"", "for the sender's"),
            ],
        )],
    ),
    word(
        &["domain", "hostname", "host", "fqdn", "url", "sni"],
        &[differs(
            LINKS,
            "names are not resolved, since what they mean may change",
            &[DESTINATION],
        )],
    ),
    word(
        &[
            "mac",
            "src_mac",
            "dst_mac",
            "smac",
            "dmac",
            "ether",
            "hwaddr",
            "mac_address",
        ],
        &[differs(
            LINKS,
            "Takt does not match MAC addresses, but IP addresses",
            &[SOURCE],
        )],
    ),
    word(
        &["vlan", "vid", "vlan_id"],
        &[differs(
            LINKS,
            "Takt does not match VLANs; the device of a VLAN may have a link of its own",
            &[line(&[File], "[link.\"eth0.100\"]")],
        )],
    ),
    word(
        &[
            "protocol",
            "l4proto",
            "ip_protocol",
            "ip_proto",
            "nexthdr",
            "tcp",
            "udp",
        ],
        &[same(LINKS, &[UDP])],
    ),
    word(
        &["ip_version", "ethertype", "nfproto", "ipv4", "ipv6", "ip6"],
        &[same(LINKS, &[line(MATCH, "family = \"ipv6\"")])],
    ),
    word(
        &["tos", "traffic_class", "tclass", "dsfield"],
        &[differs(
            LINKS,
            "the DSCP is the upper six bits of this byte",
            &[EF],
        )],
    ),
    word(
        &["fwmark", "nfmark", "meta_mark", "skb_mark", "fw"],
        &[same(LINKS, &[MARK])],
    ),
    word(
        &["connmark", "ct_mark"],
        &[differs(
            LINKS,
            "Takt matches a packet's mark; nft copies the connection's: `meta mark set ct mark`",
            &[MARK],
        )],
    ),
    word(
        &["not", "invert", "negate", "except", "exclude", "unless"],
        &[absent(
            LINKS,
            "a match has no negation, and the first class in the file that matches wins: put a \
             class that matches the exceptions before this one",
        )],
    ),
    word(
        &["or", "any", "any_of", "either", "and", "all", "all_of"],
        &[differs(
            LINKS,
            "all keys of a match have to hold, and any match of a list is enough",
            &[line(
                CLASS,
                "match = [{ dst_port = 53 }, { dscp = \"ef\" }]",
            )],
        )],
    ),
    word(
        &[
            "ct_state",
            "conntrack",
            "connbytes",
            "state",
            "length",
            "packet_size",
            "ttl",
            "tcp_flags",
            "syn",
            "ack",
            "ipset",
            "geoip",
        ],
        &[differs(
            LINKS,
            "Takt does not match this; let nft mark such packets",
            &[MARK],
        )],
    ),
    word(
        &["l7", "layer7", "ndpi", "dpi", "l7proto"],
        &[differs(
            LINKS,
            "Takt does not look into payloads",
            &[line(MATCH, "app = \"iperf3\"")],
        )],
    ),
    word(
        &["iif", "iifname", "in_interface", "in_iface", "indev"],
        &[differs(
            LINKS,
            "Takt does not match the device that a packet came from; let nft mark it by that",
            &[MARK],
        )],
    ),
    // Whose packets.
    word(
        &["uid", "uid_owner", "skuid", "username", "owner"],
        &[
            same(LINKS, &[line(MATCH, "user = \"alice\"")]),
            differs(
                TASKS,
                "tasks are not found by user",
                &[line(THREAD, "unit = \"mixer.service\"")],
            ),
        ],
    ),
    word(
        &["user"],
        &[differs(
            TASKS,
            "tasks are not found by user",
            &[line(THREAD, "unit = \"mixer.service\"")],
        )],
    ),
    word(
        &["gid", "gid_owner", "skgid", "group"],
        &[differs(
            LINKS,
            "Takt does not match groups of users",
            &[
                line(MATCH, "user = \"alice\""),
                line(MATCH, "cgroup = \"backup.slice\""),
            ],
        )],
    ),
    word(
        &[
            "process",
            "process_name",
            "comm",
            "exe",
            "program",
            "executable",
            "application",
            "cmd",
        ],
        &[
            same(LINKS, &[line(MATCH, "app = \"iperf3\"")]),
            same(TASKS, &[COMMAND]),
        ],
    ),
    word(
        &["command"],
        &[same(LINKS, &[line(MATCH, "app = \"iperf3\"")])],
    ),
    word(&["app"], &[same(TASKS, &[COMMAND])]),
    word(
        &["pid", "tid"],
        &[
            differs(
                LINKS,
                "numbers of processes change, names stay",
                &[line(MATCH, "app = \"iperf3\"")],
            ),
            differs(TASKS, "numbers of processes change, names stay", &[COMMAND]),
        ],
    ),
    word(
        &["service", "systemd_unit", "systemd"],
        &[
            same(LINKS, &[line(MATCH, "unit = \"nginx.service\"")]),
            same(TASKS, &[line(THREAD, "unit = \"mixer.service\"")]),
        ],
    ),
    word(
        &["slice", "cgroup_path", "cgroupv2", "net_cls"],
        &[
            same(LINKS, &[line(MATCH, "cgroup = \"backup.slice\"")]),
            same(TASKS, &[line(THREAD, "cgroup = \"studio.slice\"")]),
        ],
    ),
    word(
        &["container", "docker", "image", "podman"],
        &[
            differs(
                LINKS,
                "a container is found by its control group: run it with --cgroup-parent=web.slice",
                &[line(MATCH, "cgroup = \"web.slice\"")],
            ),
            differs(
                TASKS,
                "a container is found by its control group: run it with \
                 --cgroup-parent=studio.slice",
                &[line(THREAD, "cgroup = \"studio.slice\"")],
            ),
        ],
    ),
    word(
        &[
            "pod",
            "pods",
            "label",
            "labels",
            "annotation",
            "k8s",
            "kubernetes",
        ],
        &[absent(
            LINKS,
            "a policy does not know pods; takt-kubernetes limits a pod by its annotation \
             kubernetes.io/egress-bandwidth",
        )],
    ),
    word(
        &["namespace", "netns"],
        &[absent(
            LINKS,
            "a policy is for the network namespace in which `takt apply` runs",
        )],
    ),
    // Devices.
    word(
        &[
            "interface",
            "interfaces",
            "iface",
            "dev",
            "ifname",
            "nic",
            "oif",
            "oifname",
        ],
        &[
            same(&[File], &[line(&[File], "[link.eth0]")]),
            differs(
                LINK,
                "the table's name is the device",
                &[line(&[File], "[link.eth0]")],
            ),
            absent(PARTS, OF_DEVICE),
            same(GROUPS, &[line(&[Crowd, Radio], "device = \"wlan0\"")]),
        ],
    ),
    word(
        &["device", "devices"],
        &[
            same(&[File], &[line(&[File], "[link.eth0]")]),
            differs(
                LINK,
                "the table's name is the device",
                &[line(&[File], "[link.eth0]")],
            ),
            absent(PARTS, OF_DEVICE),
        ],
    ),
    // Time.
    word(
        &[
            "schedule", "time", "times", "hours", "weekdays", "days", "cron",
        ],
        &[
            absent(
                LINKS,
                "a policy has no times of day: let timers of systemd run `takt apply` with one \
                 policy or another",
            ),
            same(TASKS, &[PERIOD_FIRST, OFFSET]),
        ],
    ),
    word(
        &[
            "interval",
            "rate",
            "cycle",
            "frequency",
            "freq",
            "hz",
            "fps",
            "every",
        ],
        &[same(&[Task, TaskMatch], &[PERIOD])],
    ),
    word(
        &[
            "runtime",
            "wcet",
            "execution_time",
            "duration",
            "cpu_quota",
            "cpu_max",
            "cpu_limit",
        ],
        &[same(TASKS, &[BUDGET])],
    ),
    word(
        &["deadline", "relative_deadline"],
        &[differs(
            TASKS,
            "a task has no deadline: its slots are at the same time in every period",
            &[OFFSET],
        )],
    ),
    word(&["phase", "start", "start_time"], &[same(TASKS, &[OFFSET])]),
    word(
        &[
            "cpu",
            "core",
            "cores",
            "affinity",
            "cpu_affinity",
            "cpuset",
            "cpuset_cpus",
            "cpulist",
        ],
        &[same(TASKS, &[line(&[Task, Beats], "cpus = \"0-3,6\"")])],
    ),
    word(
        &["cpu_shares", "cpu_weight", "weight"],
        &[absent(
            TASKS,
            "tasks have slots, not shares; CPUWeight= of a systemd unit shares the time between",
        )],
    ),
    word(
        &["thread_name"],
        &[same(TASKS, &[line(THREAD, "thread = \"audio\"")])],
    ),
    word(
        &["threads"],
        &[same(
            TASKS,
            &[line(TASK, "members = [\"decode\", \"mix\"]")],
        )],
    ),
    word(
        &["memory", "mem", "io", "iops"],
        &[absent(
            TASKS,
            "Takt shares links and the time of CPUs; MemoryMax= and IOWeight= of a systemd unit \
             limit the rest",
        )],
    ),
    // Of files.
    word(
        &["include", "import"],
        &[absent(
            &[File],
            "a directory is one policy: DIR/policy.toml and DIR/policy.d/*.toml",
        )],
    ),
    word(
        &["enabled", "enable", "disabled"],
        &[absent(
            &[File, Link, Tenant, Class, Radio, Crowd, Beats, Task],
            "what the policy has is in force; take the table out to switch it off",
        )],
    ),
    word(
        &["comment", "description", "note"],
        &[absent(&Place::ALL, "a comment begins with #")],
    ),
];
