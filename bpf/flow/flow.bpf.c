// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Sets the rates of TCP connections on their sockets, which fq keeps: the backend `flow`. Nothing
 * runs for a packet. One instance of these programs serves one device.
 *
 * A connection has its rate when it is established, or when the policy comes. What a connection
 * sends is counted when it ends, or when user space asks: from what TCP itself counts.
 */
#include "connection.h"
#include "owner_of.h"
#include "flow_maps.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ALLOW 1		/* the program on the control group only watches */

#define NOT_LIMITED (~0UL)
/* The most that a program can ask for, in bytes/s. */
#define RATE_MOST (~0U - 1)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct takt_rules);
} takt_flow_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct takt_paced_link);
} takt_flow_link SEC(".maps");

/* Bytes/s on the wire, by class; 0: its connections are not paced. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAKT_PACED_CLASSES);
	__type(key, u32);
	__type(value, u64);
} takt_flow_rates SEC(".maps");

/* It outlives policies. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAKT_PACED_CLASSES);
	__type(key, u32);
	__type(value, struct takt_paced_class);
} takt_flow_class SEC(".maps");

struct counted {
	u64 payload_bytes;
	u32 packets;
};

/* A connection's state, as long as its socket lives. */
struct paced {
	u64 own_rate;		/* the application's */
	u64 set_rate;		/* the socket's, as takt left it */
	struct counted before;	/* what it had sent when it came into its class */
	u16 class_id;
	u8 is_in_class;
	u8 is_known;		/* the rates are valid */
};

/* It outlives policies, too. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct paced);
} takt_flow_sock SEC(".maps");

static __always_inline const struct takt_paced_link *the_link(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&takt_flow_link, &zero);
}

static __always_inline struct takt_paced_class *class_of(u32 id)
{
	return bpf_map_lookup_elem(&takt_flow_class, &id);
}

static __always_inline struct counted sent_by(const struct sock *sk)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;
	struct counted sent = {
		.payload_bytes = BPF_CORE_READ(tp, bytes_sent),
		.packets = BPF_CORE_READ(tp, segs_out),
	};

	return sent;
}

/* What it has sent in its class. */
static __always_inline struct counted sent_since(const struct sock *sk, const struct paced *paced)
{
	struct counted sent = sent_by(sk);

	sent.payload_bytes -= paced->before.payload_bytes;
	sent.packets -= paced->before.packets;
	return sent;
}

static __always_inline void enter_class(const struct sock *sk, struct paced *paced, u32 id)
{
	struct takt_paced_class *class = class_of(id);

	paced->before = sent_by(sk);
	paced->class_id = id;
	paced->is_in_class = 1;
	if (class)
		__sync_fetch_and_add(&class->flows, 1);
}

static __noinline void takt_flow_leave(const struct sock *sk, struct paced *paced,
				       const struct takt_key *key,
				       const struct takt_paced_link *link)
{
	struct takt_paced_class *class = class_of(paced->class_id);
	struct counted sent = sent_since(sk, paced);
	u32 overhead = overhead_of(sk, key, link->header_bytes);

	paced->is_in_class = 0;
	if (!class)
		return;
	__sync_fetch_and_add(&class->left, 1);
	__sync_fetch_and_add(&class->packets, sent.packets);
	__sync_fetch_and_add(&class->bytes,
			     sent.payload_bytes + (u64)sent.packets * overhead);
}

/*
 * TCP counts payload when it paces: the part of the rate that full segments leave for it. No
 * more than the application allows, nor less than a byte/s.
 */
static __always_inline u64 rate_for(const struct sock *sk, u64 wire_rate, u32 overhead,
				    u64 own_rate)
{
	u64 payload = BPF_CORE_READ((const struct tcp_sock *)sk, mss_cache);
	u64 rate = wire_rate;

	if (payload)
		rate = rate * payload / (payload + overhead);
	return takt_min(takt_clamp(rate, 1, RATE_MOST), own_rate);
}

/* `at` is what the kernel's function takes for the socket here: itself, or the context. */
static __always_inline void set_rate(void *at, const struct sock *sk, struct paced *paced,
				     u64 rate)
{
	/* An application that asks for more than can be asked for here is not limited. */
	u32 value = rate > RATE_MOST ? ~0U : rate;

	if (BPF_CORE_READ(sk, sk_max_pacing_rate) != rate)
		bpf_setsockopt(at, SOL_SOCKET, SO_MAX_PACING_RATE, &value, sizeof(value));
	paced->set_rate = BPF_CORE_READ(sk, sk_max_pacing_rate);
}

/* An established connection of the link gets its class, and its rate if that has one. */
static __noinline void takt_flow_pace(void *at, void *sk, struct paced *paced,
				      const struct takt_paced_link *link, u64 cookie)
{
	u64 rate_now = BPF_CORE_READ((const struct sock *)sk, sk_max_pacing_rate);
	const struct takt_rules *rules;
	u32 zero = 0, id, overhead;
	struct takt_key key;
	const u64 *rate;

	rules = bpf_map_lookup_elem(&takt_flow_rules, &zero);
	if (!rules)
		return;
	takt_flow_key(&key, sk);
	if (takt_flow_asked)
		key.who = owner_of(sk, cookie);
	id = takt_classify(rules, &key);
	if (paced->is_in_class && paced->class_id != id)
		takt_flow_leave(sk, paced, &key, link);
	if (!paced->is_in_class)
		enter_class(sk, paced, id);
	/* The application may have asked for another rate meanwhile. */
	if (!paced->is_known || rate_now != paced->set_rate)
		paced->own_rate = rate_now;
	paced->is_known = 1;
	rate = bpf_map_lookup_elem(&takt_flow_rates, &id);
	overhead = overhead_of(sk, &key, link->header_bytes);
	set_rate(at, sk, paced,
		 rate && *rate ? rate_for(sk, *rate, overhead, paced->own_rate) : paced->own_rate);
}

/* A connection is established. */
SEC("sockops")
int takt_flow_event(struct bpf_sock_ops *ctx)
{
	const struct takt_paced_link *link;
	struct bpf_sock *sk = ctx->sk;
	struct paced *paced;
	struct tcp_sock *tp;

	if (ctx->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB &&
	    ctx->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return ALLOW;
	link = the_link();
	if (!link || !sk || bpf_get_netns_cookie(ctx) != link->netns_cookie)
		return ALLOW;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp || device_of((const struct sock *)tp) != link->ifindex)
		return ALLOW;
	paced = bpf_sk_storage_get(&takt_flow_sock, tp, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (paced)
		takt_flow_pace(ctx, tp, paced, link, bpf_get_socket_cookie(ctx));
	return ALLOW;
}

/* A connection ends, in whichever way. Its socket may connect again. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(takt_flow_state, struct sock *sk, int old_state, int new_state)
{
	const struct takt_paced_link *link = the_link();
	struct paced *paced;
	struct takt_key key;

	if (!link || new_state != TCP_CLOSE || sk->sk_protocol != IPPROTO_TCP)
		return 0;
	paced = bpf_sk_storage_get(&takt_flow_sock, sk, NULL, 0);
	if (!paced || !paced->is_in_class)
		return 0;
	takt_flow_key(&key, sk);
	takt_flow_leave(sk, paced, &key, link);
	return 0;
}

/* The connection that an iterator has come to. */
static __always_inline struct tcp_sock *visited(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;

	/* Requests and sockets in TIME_WAIT are none. */
	return common ? bpf_skc_to_tcp_sock(common) : NULL;
}

static __always_inline int is_connected(const struct sock *sk)
{
	u8 state = BPF_CORE_READ(sk, __sk_common.skc_state);

	return state != TCP_LISTEN && state != TCP_SYN_SENT && state != TCP_CLOSE;
}

/* Its socket gets back what the application had asked for, if takt has set its rate. */
static __noinline void takt_flow_give(struct tcp_sock *tp)
{
	const struct sock *sk = (const struct sock *)tp;
	struct paced *paced = bpf_sk_storage_get(&takt_flow_sock, tp, NULL, 0);

	if (!paced || !paced->is_known)
		return;
	if (BPF_CORE_READ(sk, sk_max_pacing_rate) == paced->set_rate)
		set_rate(tp, sk, paced, paced->own_rate);
	bpf_sk_storage_delete(&takt_flow_sock, tp);
}

/* The policy has come: run over the connections of its namespace. */
SEC("iter/tcp")
int takt_flow_take(struct bpf_iter__tcp *ctx)
{
	const struct takt_paced_link *link = the_link();
	struct tcp_sock *tp = visited(ctx);
	struct paced *paced;
	u32 device;

	if (!tp || !link || !is_connected((const struct sock *)tp))
		return 0;
	device = device_of((const struct sock *)tp);
	if (device && device != link->ifindex) {
		takt_flow_give(tp);
		return 0;
	}
	/* One without a route now stays as it is known. */
	paced = bpf_sk_storage_get(&takt_flow_sock, tp, NULL,
				   device ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (paced)
		takt_flow_pace(tp, tp, paced, link, bpf_get_socket_cookie(tp));
	return 0;
}

/* The policy goes: likewise. */
SEC("iter/tcp")
int takt_flow_back(struct bpf_iter__tcp *ctx)
{
	struct tcp_sock *tp = visited(ctx);

	if (tp)
		takt_flow_give(tp);
	return 0;
}

/* Writes a report of each connection. */
SEC("iter/tcp")
int takt_flow_count(struct bpf_iter__tcp *ctx)
{
	const struct takt_paced_link *link = the_link();
	struct takt_paced_report report = {};
	struct tcp_sock *tp = visited(ctx);
	struct counted sent;
	struct paced *paced;
	u32 overhead;

	if (!tp || !link)
		return 0;
	paced = bpf_sk_storage_get(&takt_flow_sock, tp, NULL, 0);
	if (!paced || !paced->is_in_class)
		return 0;
	takt_flow_key(&report.key, (const struct sock *)tp);
	overhead = overhead_of((const struct sock *)tp, &report.key, link->header_bytes);
	sent = sent_since((const struct sock *)tp, paced);
	report.packets = sent.packets;
	report.bytes = sent.payload_bytes + (u64)sent.packets * overhead;
	report.class_id = paced->class_id;
	bpf_seq_write(ctx->meta->seq, &report, sizeof(report));
	return 0;
}
