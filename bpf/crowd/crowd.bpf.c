/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The congestion control takt: the kernel's CUBIC, and bounds around its window. What the
 * bounds are, algo/window.h says, once per period and flow; what the group achieves, user
 * space says in a map. Changing the map moves flows that are running. Paper 001, section 6.
 */
#include "tcp.h"
#include "crowd_maps.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Bounds older than so many periods hold nothing up: nobody has tested them. */
#define STALE_PERIODS 3

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct takt_crowd);
} takt_crowd SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct takt_crowd_flow);
} takt_crowd_flows SEC(".maps");

#define BPF_SK_STORAGE_GET_F_CREATE 1

/* The crowd's terms, if there are bounds at all. */
static const struct takt_crowd *terms(void)
{
	u32 only = 0;
	const struct takt_crowd *crowd = bpf_map_lookup_elem(&takt_crowd, &only);

	return crowd && crowd->period_ns ? crowd : 0;
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

/* A period begins: what has been counted so far is not of it. */
static void begin(struct takt_crowd_flow *flow, const struct tcp_sock *tp, u64 now_ns)
{
	flow->updated_ns = now_ns;
	flow->delivered = tp->delivered;
	flow->lost = tp->lost;
	flow->rtt_sum_us = 0;
	flow->rtt_count = 0;
	flow->limited = 0;
}

static void update(struct takt_crowd_flow *flow, const struct takt_crowd *crowd,
		   const struct tcp_sock *tp, u64 now_ns)
{
	u64 passed_us = takt_max((now_ns - flow->updated_ns) / 1000, 1);
	u32 delivered = tp->delivered - flow->delivered;
	struct takt_window_sample sample = {};

	sample.mss_bytes = tp->mss_cache;
	sample.rate = (u64)delivered * sample.mss_bytes * 1000000 / passed_us;
	sample.rtt_us = flow->rtt_sum_us / takt_max(flow->rtt_count, 1);
	sample.rtt_min_us = tp->rtt_min.s[0].v;
	sample.window = tp->snd_cwnd;
	sample.own_flows = 1;
	sample.lost = tp->lost - flow->lost;
	sample.sent = delivered + sample.lost;
	sample.limited = flow->limited;
	takt_window_update(&flow->window, &crowd->params, &crowd->group, &sample, &flow->bounds);
	begin(flow, tp, now_ns);
}

SEC("struct_ops")
void BPF_PROG(takt_init, struct sock *sk)
{
	struct takt_crowd_flow *flow;

	cubictcp_init(sk);
	flow = bpf_sk_storage_get(&takt_crowd_flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!flow)
		return;
	flow->bounds.upper = TAKT_WINDOW_MAX;
	begin(flow, (struct tcp_sock *)sk, bpf_ktime_get_ns());
}

SEC("struct_ops")
void BPF_PROG(takt_acked, struct sock *sk, const struct ack_sample *ack)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct takt_crowd_flow *flow = flow_of(sk);
	const struct takt_crowd *crowd = terms();
	u64 now_ns = bpf_ktime_get_ns();
	s32 rtt_us = ack->rtt_us;

	cubictcp_acked(sk, ack);
	if (!flow || !crowd)
		return;
	if (rtt_us > 0) {
		flow->rtt_sum_us += (u32)rtt_us;
		flow->rtt_count++;
	}
	/* What was in flight when this came; nothing was sent since. */
	if (tp->packets_out + ack->pkts_acked >= tp->snd_cwnd)
		flow->limited = 1;
	if (now_ns - flow->updated_ns >= crowd->period_ns)
		update(flow, crowd, tp, now_ns);
}

SEC("struct_ops")
void BPF_PROG(takt_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct takt_crowd_flow *flow = flow_of(sk);
	const struct takt_crowd *crowd = terms();

	cubictcp_cong_avoid(sk, ack, acked);
	if (flow && crowd)
		tp->snd_cwnd = bound(flow, crowd, tp->snd_cwnd, flow->in_timeout);
}

/* A loss: CUBIC's new window, but not below what the radio's losses are allowed to take. */
SEC("struct_ops")
u32 BPF_PROG(takt_ssthresh, struct sock *sk)
{
	struct takt_crowd_flow *flow = flow_of(sk);
	const struct takt_crowd *crowd = terms();
	u32 threshold = cubictcp_recalc_ssthresh(sk);

	if (!flow || !crowd)
		return threshold;
	flow->threshold = threshold;
	return bound(flow, crowd, threshold, 0);
}

SEC("struct_ops")
void BPF_PROG(takt_set_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct takt_crowd_flow *flow = flow_of(sk);

	cubictcp_state(sk, new_state);
	if (!flow)
		return;
	flow->in_timeout = new_state == TCP_CA_LOSS;
	/* A timeout: what ssthresh has answered just before was for a loss of another kind. */
	if (new_state == TCP_CA_LOSS && flow->threshold)
		tp->snd_ssthresh = takt_min(tp->snd_ssthresh, flow->threshold);
}

SEC("struct_ops")
void BPF_PROG(takt_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

SEC("struct_ops")
void BPF_PROG(takt_tx_start, struct sock *sk)
{
	cubictcp_cwnd_event_tx_start(sk);
}

SEC("struct_ops")
u32 BPF_PROG(takt_undo_cwnd, struct sock *sk)
{
	struct takt_crowd_flow *flow = flow_of(sk);
	const struct takt_crowd *crowd = terms();
	u32 window = tcp_reno_undo_cwnd(sk);

	return flow && crowd ? bound(flow, crowd, window, 1) : window;
}

/* One of the two is registered, as the kernel's structure is. */
SEC(".struct_ops.link")
struct tcp_congestion_ops takt = {
	.init = (void *)takt_init,
	.ssthresh = (void *)takt_ssthresh,
	.cong_avoid = (void *)takt_cong_avoid,
	.set_state = (void *)takt_set_state,
	.cwnd_event = (void *)takt_cwnd_event,
	.pkts_acked = (void *)takt_acked,
	.undo_cwnd = (void *)takt_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "takt",
};

SEC(".struct_ops.link")
struct tcp_congestion_ops___tx_start takt_with_tx_start = {
	.init = (void *)takt_init,
	.ssthresh = (void *)takt_ssthresh,
	.cong_avoid = (void *)takt_cong_avoid,
	.set_state = (void *)takt_set_state,
	.cwnd_event_tx_start = (void *)takt_tx_start,
	.pkts_acked = (void *)takt_acked,
	.undo_cwnd = (void *)takt_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "takt",
};
