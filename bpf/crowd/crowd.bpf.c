/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The congestion control `takt`: the kernel's CUBIC, with bounds on its window. algo/window.h
 * computes the bounds, once per period and flow; user space writes into a map what the group
 * achieves. A change of the map affects running flows from their next period on. Cooperative
 * middleware, section 6. Each network namespace has its own terms; without them, and on other
 * devices, it is CUBIC.
 */
#include "tcp.h"
#include "crowd_flows_map.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Lower bounds older than this many periods do not apply: they are untested. */
#define STALE_PERIODS 3

/* How often a flow without bounds checks whether there are terms for its route's device. */
#define ELSEWHERE_NS 250000000ULL

/* Network namespaces that may have a crowd at the same time. */
#define NAMESPACES 1024

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NAMESPACES);
	__type(key, u64);
	__type(value, struct takt_crowd);
} takt_crowd SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NAMESPACES);
	__type(key, u64);
	__type(value, struct takt_crowd_group);
} takt_crowd_groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NAMESPACES);
	__type(key, u64);
	__type(value, struct takt_crowd_terminal);
} takt_crowd_terminals SEC(".maps");

#define BPF_SK_STORAGE_GET_F_CREATE 1

static u64 namespace_of(const struct sock *sk)
{
	return sk->__sk_common.skc_net.net->net_cookie;
}

/* The terms of the socket's namespace, if they apply to this flow. */
static const struct takt_crowd *terms_of(const struct sock *sk,
					 const struct takt_crowd_flow *flow)
{
	u64 cookie = namespace_of(sk);
	const struct takt_crowd *crowd = bpf_map_lookup_elem(&takt_crowd, &cookie);

	return crowd && crowd->period_ns && crowd->ifindex == flow->ifindex ? crowd : 0;
}

static struct takt_crowd_flow *flow_of(struct sock *sk)
{
	return bpf_sk_storage_get(&takt_crowd_flows, sk, 0, 0);
}

static u32 bound(const struct takt_crowd_flow *flow, const struct takt_crowd *crowd, u32 window,
		 u32 after_timeout)
{
	u64 age_ns = bpf_ktime_get_ns() - flow->updated_ns;

	return takt_window_bound(&flow->bounds, window,
				 after_timeout || age_ns > STALE_PERIODS * crowd->period_ns);
}

static void no_bounds(struct takt_crowd_flow *flow)
{
	flow->bounds.lower = 0;
	flow->bounds.upper = TAKT_WINDOW_MAX;
}

/*
 * A period begins: reset the counts, and read the route and its terms, which may be others. They
 * are not looked up at each acknowledgement.
 */
static void activate(struct takt_crowd_flow *flow, struct sock *sk, u64 now_ns)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	const struct dst_entry *route = sk->sk_dst_cache;
	const struct takt_crowd *crowd;

	if (route)
		flow->ifindex = route->dev->ifindex;
	crowd = terms_of(sk, flow);
	flow->period_ns = crowd ? crowd->period_ns : 0;
	if (!crowd)
		no_bounds(flow);
	flow->updated_ns = now_ns;
	flow->delivered = tp->delivered;
	flow->lost = tp->lost;
	takt_round_trips_forget(&flow->trips);
	flow->acks = 0;
	flow->backlogged_acks = 0;
	flow->limited = 0;
}

/* Counts for user space, which reports to the group what this terminal gets. */
static void count(u64 cookie, const struct takt_window_sample *sample, u32 uses, u64 passed_us)
{
	struct takt_crowd_terminal *sum = bpf_map_lookup_elem(&takt_crowd_terminals, &cookie);

	if (!sum)
		return;
	__sync_fetch_and_add(&sum->delivered_bytes,
			     (u64)(sample->sent - sample->lost) * sample->mss_bytes);
	__sync_fetch_and_add(&sum->flow_periods, 1);
	__sync_fetch_and_add(&sum->limited_periods, uses);
	__sync_fetch_and_add(&sum->passed_us, passed_us);
	__sync_fetch_and_add(&sum->limited_us, uses ? passed_us : 0);
	if (sample->rtt_us && sample->stand_us) {
		__sync_fetch_and_add(&sum->rtt_sum_us, sample->rtt_us);
		__sync_fetch_and_add(&sum->rtt_min_sum_us, sample->rtt_min_us);
		__sync_fetch_and_add(&sum->stand_sum_us, sample->stand_us);
		__sync_fetch_and_add(&sum->rtt_count, 1);
	}
	__sync_fetch_and_add(&sum->sent, sample->sent);
	__sync_fetch_and_add(&sum->lost, sample->lost);
}

/* What was heard of the group, unless that is too long ago. */
static void hear(struct takt_window_group *group, struct takt_window_sample *sample,
		 const struct takt_crowd *crowd, u64 cookie, u64 now_ns)
{
	const struct takt_crowd_group *heard = bpf_map_lookup_elem(&takt_crowd_groups, &cookie);

	sample->own_flows = 1;
	if (!heard || now_ns - heard->heard_ns > TAKT_CROWD_STALE_PERIODS * crowd->period_ns)
		return;
	*group = heard->sum;
	sample->own_flows = heard->own_flows;
}

static void update(struct takt_crowd_flow *flow, const struct takt_crowd *crowd,
		   const struct sock *sk, u64 now_ns)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;
	const struct takt_round_trips *trips = &flow->trips;
	u64 cookie = namespace_of(sk);
	u64 passed_us = takt_max((now_ns - flow->updated_ns) / 1000, 1);
	u32 delivered = tp->delivered - flow->delivered;
	struct takt_window_sample sample = {};
	struct takt_window_group group = {};

	hear(&group, &sample, crowd, cookie, now_ns);
	sample.mss_bytes = tp->mss_cache;
	sample.rate = (u64)delivered * sample.mss_bytes * 1000000 / passed_us;
	sample.rtt_us = trips->sum_us / takt_max(trips->count, 1);
	sample.stand_us = trips->stand_sum_us / takt_max(trips->stand_count, 1);
	sample.rtt_min_us = tp->rtt_min.s[0].v;
	sample.window = tp->snd_cwnd;
	sample.lost = tp->lost - flow->lost;
	sample.sent = delivered + sample.lost;
	sample.limited = flow->limited;
	sample.pacing_rate = sk->sk_max_pacing_rate;
	sample.backlogged = 2 * flow->backlogged_acks >= flow->acks;
	sample.starting = tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH;
	takt_window_update(&flow->window, &crowd->params, &group, &sample, &flow->bounds);
	/* A flow that was silent for longer had nothing to send. */
	count(cookie, &sample, takt_window_uses(&group, &sample),
	      takt_min(passed_us, TAKT_CROWD_STALE_PERIODS * crowd->period_ns / 1000));
}

/* Half a round trip of the first slow start is over. */
static void begin(struct takt_crowd_flow *flow, const struct takt_crowd *crowd,
		  const struct sock *sk, u64 now_ns, u32 stand_us)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;
	struct takt_window_sample sample = {};
	struct takt_window_group group = {};

	hear(&group, &sample, crowd, namespace_of(sk), now_ns);
	sample.mss_bytes = tp->mss_cache;
	sample.stand_us = stand_us;
	sample.rtt_min_us = tp->rtt_min.s[0].v;
	sample.window = tp->snd_cwnd;
	sample.starting = 1;
	takt_window_begin(&flow->window, &crowd->params, &group, &sample, &flow->bounds);
}

SEC("struct_ops")
void BPF_PROG(takt_crowd_init, struct sock *sk)
{
	struct takt_crowd_flow *flow;

	cubictcp_init(sk);
	flow = bpf_sk_storage_get(&takt_crowd_flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!flow)
		return;
	/* The flow may have had this congestion control before, and another one since. */
	__builtin_memset(flow, 0, sizeof(*flow));
	no_bounds(flow);
	activate(flow, sk, bpf_ktime_get_ns());
}

/* A period is over: bounds for the next, if the terms are still there. */
static void end_period(struct takt_crowd_flow *flow, struct sock *sk, u64 now_ns)
{
	const struct takt_crowd *crowd = flow->period_ns ? terms_of(sk, flow) : 0;

	if (crowd)
		update(flow, crowd, sk, now_ns);
	activate(flow, sk, now_ns);
}

/*
 * The kernel calls this before takt_crowd_avoid() for each acknowledgement, so that one never
 * applies bounds that are older than STALE_PERIODS.
 */
SEC("struct_ops")
void BPF_PROG(takt_crowd_acked, struct sock *sk, const struct ack_sample *ack)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct takt_crowd_flow *flow = flow_of(sk);
	u64 now_ns = bpf_ktime_get_ns(), passed_ns;
	u32 stand_us = 0;
	s32 rtt_us = ack->rtt_us;

	cubictcp_acked(sk, ack);
	if (!flow)
		return;
	if (rtt_us > 0)
		stand_us = takt_round_trips_add(&flow->trips, now_ns, rtt_us, tp->srtt_us / 8);
	if (stand_us && !flow->window.target_q10 && tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH) {
		const struct takt_crowd *crowd = terms_of(sk, flow);

		if (crowd)
			begin(flow, crowd, sk, now_ns, stand_us);
	}
	/* packets_out and pkts_acked: in flight when the ACK arrived, as nothing was sent since. */
	if (tp->packets_out + ack->pkts_acked >= tp->snd_cwnd)
		flow->limited = 1;
	flow->acks++;
	if (tp->write_seq - tp->snd_nxt >= tp->mss_cache)
		flow->backlogged_acks++;
	passed_ns = now_ns - flow->updated_ns;
	if (passed_ns < (flow->period_ns ?: ELSEWHERE_NS))
		return;
	/* A long round trip may leave a period without half of one. */
	if (!flow->trips.stand_count && passed_ns < STALE_PERIODS * flow->period_ns)
		return;
	end_period(flow, sk, now_ns);
}

SEC("struct_ops")
void BPF_PROG(takt_crowd_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct takt_crowd_flow *flow = flow_of(sk);

	cubictcp_cong_avoid(sk, ack, acked);
	if (flow && flow->period_ns)
		tp->snd_cwnd = takt_window_bound(&flow->bounds, tp->snd_cwnd, flow->in_timeout);
}

/* A loss: CUBIC's new window, but not below the lower bound, as the radio loses packets too. */
SEC("struct_ops")
u32 BPF_PROG(takt_crowd_ssthresh, struct sock *sk)
{
	struct takt_crowd_flow *flow = flow_of(sk);
	const struct takt_crowd *crowd = flow ? terms_of(sk, flow) : 0;
	u32 threshold = cubictcp_recalc_ssthresh(sk);

	if (!flow || !crowd)
		return threshold;
	flow->threshold = threshold;
	return bound(flow, crowd, threshold, 0);
}

SEC("struct_ops")
void BPF_PROG(takt_crowd_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct takt_crowd_flow *flow = flow_of(sk);

	cubictcp_state(sk, new_state);
	if (!flow)
		return;
	flow->in_timeout = new_state == TCP_CA_LOSS;
	/* A timeout: the lower bound in ssthresh's answer does not apply to this kind of loss. */
	if (new_state == TCP_CA_LOSS && flow->threshold)
		tp->snd_ssthresh = takt_min(tp->snd_ssthresh, flow->threshold);
}

SEC("struct_ops")
void BPF_PROG(takt_crowd_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

SEC("struct_ops")
void BPF_PROG(takt_crowd_tx_start, struct sock *sk)
{
	cubictcp_cwnd_event_tx_start(sk);
}

SEC("struct_ops")
u32 BPF_PROG(takt_crowd_undo, struct sock *sk)
{
	struct takt_crowd_flow *flow = flow_of(sk);
	const struct takt_crowd *crowd = flow ? terms_of(sk, flow) : 0;
	u32 window = tcp_reno_undo_cwnd(sk);

	return crowd ? bound(flow, crowd, window, 1) : window;
}

/* One of the two is registered, depending on the kernel's structure. */
SEC(".struct_ops.link")
struct tcp_congestion_ops takt_crowd_ops = {
	.init = (void *)takt_crowd_init,
	.ssthresh = (void *)takt_crowd_ssthresh,
	.cong_avoid = (void *)takt_crowd_avoid,
	.set_state = (void *)takt_crowd_state,
	.cwnd_event = (void *)takt_crowd_event,
	.pkts_acked = (void *)takt_crowd_acked,
	.undo_cwnd = (void *)takt_crowd_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "takt",
};

SEC(".struct_ops.link")
struct tcp_congestion_ops___tx_start takt_crowd_ops_tx = {
	.init = (void *)takt_crowd_init,
	.ssthresh = (void *)takt_crowd_ssthresh,
	.cong_avoid = (void *)takt_crowd_avoid,
	.set_state = (void *)takt_crowd_state,
	.cwnd_event_tx_start = (void *)takt_crowd_tx_start,
	.pkts_acked = (void *)takt_crowd_acked,
	.undo_cwnd = (void *)takt_crowd_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "takt",
};
