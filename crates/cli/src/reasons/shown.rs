//! What `takt status`, `takt top`, `takt check` and `takt doctor` show when nothing is amiss: their
//! columns, words and JSON keys. Keys of policies are explained by the policy's own definitions.

super::reasons! {
TRAFFIC = "takt::shown::traffic" [
    "sent", "bytes", "sent_packets", "sent_bytes", "enqueued_packets", "enqueued_bytes",
    "sent_packets_ps", "queued", "queued_packets", "queued_bytes", "delay", "delay_ns",
    "rate_now_bps", "incoming", "queue_limit_packets"
]: "
Packets and bytes of a class, flow, station or device since the policy was applied: `enqueued` were
taken into a queue, `sent` left it, `queued` wait in it now. `delay` is how long a packet that comes now
would wait at the present rate, `rate now` what was sent in the last interval; of a link in `takt
status` it is the wire's rate, which changes with a line that does (`takt explain status::line`). Bytes are counted as on
the device, headers included. `incoming` is what arrives, where the background has incoming traffic wait.
";
SHARES = "takt::shown::shares" [
    "prio", "share_bytes_ps", "capacity_bytes_ps", "is_default",
    "has_stations", "thins_acks", "share", "line", "download_of"
]: "
What a class or tenant may use of its link, as the policy says: `rate` is guaranteed, `ceil` is the
maximum, `floor` is served before all priorities. Spare capacity goes to the better priority first
(`prio`, 0 is the best), and to equal ones by `weight`. In bytes per second where the kernel counts
bytes.
";
LINKS = "takt::shown::links" [
    "links", "conflict", "kind", "attached", "named", "generation", "policy", "device", "problem", "problems", "note",
    "ready", "no carrier", "down", "gone", "view", "rows", "time", "host", "changing"
]: "
A link is a device that the policy names, by its name now (`device`) and in the policy (`named`).
`attached` says whether it carries takt, `policy` and `generation` which file it follows and how many
were applied so far, `device_state` whether the device can send, and `problem` what is wrong. While
another takt changes the host, `changing` names it.
";
BACKENDS = "takt::shown::backends" [
    "backends", "takt", "departure", "tree", "flow", "offers", "lacks", "kernel"
]: "
What carries out a link: `takt`, a queueing discipline written in BPF, which supports every policy;
`departure`, departure times for fq; `tree`, HTB classes with CoDel; `flow`, rates on sockets. Takt
uses the cheapest that supports the policy. `lacks` is what the kernel lacks for a backend.
docs/policy.md has the table of promises and backends.
";
DIAGNOSTICS = "takt::shown::diagnostics" [
    "diagnostics", "code", "severity", "message", "help", "offending", "column"
]: "
What is wrong with a policy, or worth knowing (`severity`): the `code` that `takt explain` takes, the
`message` and the fix (`help`), and the text in the file that it is about (`offending`), by its line and
`column`.
";
UNKEPT = "takt::shown::unkept" [
    "unkept", "not kept", "promise", "refuses", "departure_times", "spacing",
    "spare_capacity", "flow_clocks", "owners", "registrations", "thinning", "gap_frames", "priorities",
    "queue_management", "local_senders", "link_rate", "class_rates", "floors", "other_protocols",
    "forwarded_packets", "packet_fields", "framing", "frames_of_segments"
]: "
What the policy asks for and the link's backend does not support, by class (`promise`). One with
`refuses` rules the backend out, unless the class has best_effort = true. docs/policy.md describes
each promise and the backends that support it.
";
BUFFER = "takt::shown::buffer" [
    "device_buffer", "device buffer", "link clock", "bql", "limit_bytes", "ring", "by_device"
]: "
What keeps packets from waiting in the device's buffer, below the queueing discipline: the kernel's
limit of bytes (BQL), where the driver counts them, or the link's own clock, which is enough where
the wire is no slower than the link's rate. With rate = \"line\" (by_device) there is no clock:
`ring` says that the driver counts no bytes, or none yet, so that all of its ring may fill before
the link.
";
FLOWS = "takt::shown::flows" [
    "flows", "live", "flow_queues", "socket", "created", "flow_totals", "src", "dst", "src_port", "dst_port", "proto", "from", "to",
    "tcp", "udp"
]: "
Flows that have a clock and a queue of their own, in classes with per_flow = true or fq_codel: by address,
port and protocol. `live` have a slot now, `created` is how many came so far.
";
DEPARTURES = "takt::shown::departures" [
    "departures", "departure times", "waiting_packets", "delayed_packets", "gap",
    "gap_bytes", "stocked"
]: "
Packets with a departure time of their own (SO_TXTIME): `delayed` had to wait for it, `waiting` are
waiting now. On a link with pacing = \"gap\": the frames that fill the time between packets, and
their supply.
";
BACKGROUND = "takt::shown::background" [
    "nothing", "waits for", "blocked"
]: "
Whether packets in the background wait, and for what: `nothing`, `link busy` or `task more important`.
`blocked` packets wait for a task. See `takt explain held`.
";
RADIO = "takt::shown::radio" [
    "stations", "station", "applied_ppm", "known", "report", "snr", "soc_centidb", "weight_ppm", "known_by", "mac",
    "address", "law", "points", "piecewise", "group", "heard", "passed", "passed_us", "control", "competes"
]: "
The terminals behind a link that [radio] serves: how well each is heard, since when, by which source, and
its weight, from 1 (1,000,000 ppm) down to 0, by the law of the policy. A weight of 0 holds what is for
the station until it is heard again.
";
CROWD = "takt::shown::crowd" [
    "neighbours", "neighbour", "bounds", "terminals", "multicast", "read", "delivered_bytes", "lost_segments", "sent_segments",
    "rtt_count", "rtt_sum_us", "rtt_min_sum_us", "stand_sum_us", "flow_periods", "limited_periods", "limited_us",
    "batch_packets", "downloads", "forwarded", "usage", "it stands", "lends"
]: "
The terminals of one WLAN that report to each other, and what this host's flows achieved: bytes
delivered, segments sent and lost, sums of round trips and of how long queues stood, and how many
periods flows had bounds. Bounds follow docs/crowd-law.md.
";
BEATS = "takt::shown::beats" [
    "tasks", "ad_hoc_uid", "beat", "beat at", "beat_ns", "cpus", "slots", "frame", "frame_ns", "assigned", "assigned_ppm",
    "free_ppm", "grid_ns", "edges", "tables", "swaps", "begin_ns", "end_ns", "pieces", "offset_ns", "cpu",
    "cpu_share", "running", "thread", "threads", "tid", "runs", "monotonic"
]: "
Tasks run in time slots of a table that repeats every frame, one table per processor: `slots` and
the part of the frame that is `assigned`, `edges` where a slot began so far, `tables` that were put
in force. `beat` is when in its period a task starts. Each slot of a task is a piece, from `begin`
to `end` in the frame.
";
JOBS = "takt::shown::jobs" [
    "releases", "missed_jobs_ps", "overrun_jobs_ps", "lead_max_ns", "started", "completed", "used_ns", "used_max_ns", "most used", "used", "late p50", "late p99",
    "late_p50_ns", "late_p99_ns", "jobs_ps", "early_ns", "lead_auto", "clock_set_by_ns", "tai_offset_s",
    "network", "threaded", "threaded_napi", "devices", "role", "state"
]: "
A job is what a task does in one period. It is released at the beat, started when its thread runs, and
completed when the thread sleeps again. `used` is the processor time of it, `late` how long after the
beat it started, of all jobs so far: half of them (p50), 99 in 100 (p99), and the worst.
";
VERDICTS = "takt::shown::verdicts" [
    "verdicts", "missing", "not tried", "tried", "not_tried", "in part", "features", "feature",
    "proof", "capability", "by", "less", "ok", "warnings"
]: "
What `takt doctor` and `takt check --explain` found by testing: a feature `works`, is `missing` with
its cause, or was `not tried`, because the process lacks privileges or the kernel is another one. A
feature that was not tried may be missing. A capability works if one of its alternatives does.
";
DEVICES = "takt::shown::devices" [
    "offloads", "tso", "gro", "gso", "pause_frames", "pass", "driver", "flow_control", "why",
    "network_threads", "able", "processes", "ext_server", "kept", "ends", "wireless", "cgroup_limits"
]: "
What `takt doctor` says of devices: whether they cut segments into frames themselves (TSO) or merge
what they receive (GRO), let PAUSE frames `pass`, have their packets processed in threads or are
`able` to, and where packets of wireless devices wait. `ext_server`: whether the kernel keeps time
for ordinary threads beside realtime threads that never sleep.
";
TCP = "takt::shown::tcp" [
    "application", "app", "local", "remote", "rtt", "cwnd", "unsent",
    "held by", "uid", "command", "family", "idle", "sleep"
]: "
TCP flows of this host as `takt flows` and `takt top tcp` show them: the program, both ends, round
trip and congestion window, unsent data, and what limits the flow.
";
}
