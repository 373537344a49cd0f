/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The monitor of TCP flows: it reports what the kernel knows of every flow of a network namespace
 * when user space asks, and events of the flows when they happen. It changes nothing, and it
 * exists as long as the process that loaded it. Cooperative middleware, section 3.2, had to
 * compile its monitor into the kernel.
 */
#include "watched.h"
#include "../crowd/crowd_flows_map.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile u64 takt_netns_cookie = 0;	/* namespace of the flows */
u64 takt_events_lost = 0;	/* those that did not fit */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, TAKT_MONITOR_EVENT_BYTES);
} takt_monitor_events SEC(".maps");

/* Events that may occur with every packet are reported once per this time and flow, at most. */
#define TELL_EVERY_NS 10000000ULL

static __always_inline int is_ours(const struct sock *sk)
{
	return sk->__sk_common.skc_net.net->net_cookie == takt_netns_cookie;
}

static __always_inline const struct tcp_skb_cb *tcp_cb(const struct sk_buff *skb)
{
	return bpf_rdonly_cast(skb->cb, bpf_core_type_id_kernel(struct tcp_skb_cb));
}

static void takt_monitor_tell(struct sock *sk, u32 kind, u32 count, u16 from, u16 to)
{
	const struct tcp_sock *tp = tcp_of(sk);
	struct takt_monitor_event *event;

	/* So that it has a cookie, and is among the watched. */
	watch(sk);
	event = bpf_ringbuf_reserve(&takt_monitor_events, sizeof(*event), 0);
	if (!event) {
		__sync_fetch_and_add(&takt_events_lost, 1);
		return;
	}
	__builtin_memset(event, 0, sizeof(*event));
	read_ends(&event->ends, sk);
	event->at_ns = bpf_ktime_get_ns();
	event->kind = kind;
	event->count = count;
	event->cwnd = tp->snd_cwnd;
	event->ssthresh = tp->snd_ssthresh;
	event->in_flight = in_flight(tp);
	event->from = from;
	event->to = to;
	/* User space polls for them: waking it costs more than all this. */
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(takt_monitor_retransmit, struct sock *sk, const struct sk_buff *skb)
{
	if (is_ours(sk))
		takt_monitor_tell(sk, TAKT_MONITOR_RETRANSMIT, tcp_cb(skb)->tcp_gso_segs, 0, 0);
	return 0;
}

/* Called before the state changes. A timeout enters TCP_CA_Loss again each time. */
SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(takt_monitor_congestion, struct sock *sk, const u8 state)
{
	const struct tcp_sock *tp = tcp_of(sk);
	u16 before;

	if (!is_ours(sk))
		return 0;
	before = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	if (state == TCP_CA_LOSS)
		takt_monitor_tell(sk, TAKT_MONITOR_TIMEOUT, 1, 0, 0);
	if (state != before)
		takt_monitor_tell(sk, TAKT_MONITOR_STATE, 1, before, state);
	return 0;
}

static __always_inline int may_tell(u64 *told_ns)
{
	u64 now_ns = bpf_ktime_get_ns();

	if (now_ns - *told_ns < TELL_EVERY_NS)
		return 0;
	*told_ns = now_ns;
	return 1;
}

/*
 * A packet for an established flow, before TCP processes it: so the values here are those after
 * the previous packet. This is the only cost of every packet.
 */
SEC("tp_btf/tcp_probe")
int BPF_PROG(takt_monitor_heard, struct sock *sk, const struct sk_buff *skb)
{
	const struct tcp_sock *tp = tcp_of(sk);
	struct watched *watched;
	u32 limit, echoes;

	if (!is_ours(sk))
		return 0;
	watched = watch(sk);
	if (!watched)
		return 0;
	limit = limit_of(tp);
	echoes = tp->delivered_ce;
	if (limit != watched->limit && may_tell(&watched->limit_told_ns)) {
		takt_monitor_tell(sk, TAKT_MONITOR_LIMIT, 1, watched->limit, limit);
		watched->limit = limit;
	}
	if (echoes != watched->echoes_told && may_tell(&watched->echoes_told_ns)) {
		takt_monitor_tell(sk, TAKT_MONITOR_ECN_ECHO, echoes - watched->echoes_told, 0, 0);
		watched->echoes_told = echoes;
	}
	if ((tcp_cb(skb)->ip_dsfield & INET_ECN_MASK) != INET_ECN_CE)
		return 0;
	watched->marks++;
	if (may_tell(&watched->marks_told_ns)) {
		takt_monitor_tell(sk, TAKT_MONITOR_ECN_MARK, watched->marks - watched->marks_told,
				  0, 0);
		watched->marks_told = watched->marks;
	}
	return 0;
}

static __always_inline void write_sample(struct bpf_iter_meta *meta, struct sock *sk,
					 const struct watched *watched)
{
	struct takt_monitor_sample sample = {};
	u8 state = sk->__sk_common.skc_state;
	const struct takt_crowd_flow *bounded;

	if (state == TCP_LISTEN || state == TCP_CLOSE)
		return;
	sample.at_ns = bpf_ktime_get_ns();
	read_ends(&sample.ends, sk);
	read_flow(&sample, tcp_of(sk));
	sample.state = state;
	sample.send_memory_bytes = sk->sk_wmem_queued;
	sample.ecn_marks = watched->marks;
	sample.tgid = watched->tgid;
	__builtin_memcpy(sample.application, watched->application, TAKT_COMM_BYTES);
	bounded = bpf_sk_storage_get(&takt_crowd_flows, sk, 0, 0);
	if (bounded && bounded->updated_ns) {
		sample.lower = bounded->bounds.lower;
		sample.upper = bounded->bounds.upper;
	}
	bpf_seq_write(meta->seq, &sample, sizeof(sample));
}

/*
 * Run over every TCP socket of the reader's namespace, each locked meanwhile. This walks the
 * host's whole table of connections, however few there are.
 */
SEC("iter/tcp")
int takt_monitor_all(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	const struct watched *watched;
	struct tcp_sock *tp;

	/* Sockets in TIME_WAIT and requests have no window. */
	tp = common ? bpf_skc_to_tcp_sock(common) : 0;
	watched = tp ? watch((struct sock *)tp) : 0;
	if (watched)
		write_sample(ctx->meta, (struct sock *)tp, watched);
	return 0;
}

/* Run over the sockets that are watched already; the cost is proportional to their number. */
SEC("iter/bpf_sk_storage_map")
int takt_monitor_watched(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	const struct watched *watched = ctx->value;
	struct sock *sk = ctx->sk;

	if (sk && watched)
		write_sample(ctx->meta, sk, watched);
	return 0;
}

/* Run over every file of every process; if several hold a socket, the youngest counts. */
SEC("iter/task_file")
int takt_monitor_holders(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct watched *watched;
	struct socket *socket;
	struct sock *sk;

	if (!task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	sk = socket ? socket->sk : 0;
	if (!sk || sk->sk_protocol != IPPROTO_TCP || !is_ours(sk))
		return 0;
	watched = watch(sk);
	if (!watched)
		return 0;
	watched->tgid = task->tgid;
	__builtin_memset(watched->application, 0, TAKT_COMM_BYTES);
	bpf_core_read_str(watched->application, TAKT_COMM_BYTES, &task->group_leader->comm);
	return 0;
}
