/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bounds what sockets of this host receive: algo/download.h computes an upper bound from round
 * trips that the receiver measures, and TCP_WINDOW_CLAMP has the sender keep to it. Two passes
 * over the sockets of the network namespace of the process that reads the iterator: one, once a
 * period, sets the bounds; the other gives each socket back what it had.
 */
#include "tcp.h"
#include "downloads_map.h"
#include "download.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SOL_TCP 6
#define TCP_WINDOW_CLAMP 10
#define TCP_ESTABLISHED 1
#define BPF_SK_STORAGE_GET_F_CREATE 1

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct takt_download);
} takt_crowd_receivers SEC(".maps");

static void set_clamp(struct tcp_sock *tp, u32 bytes)
{
	int clamp = bytes;

	bpf_setsockopt(tp, SOL_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof(clamp));
}

static void clamp_to(struct takt_download *flow, struct tcp_sock *tp, u64 bytes)
{
	u32 clamp = tp->window_clamp, wanted = takt_download_clamp(flow, clamp, bytes);

	if (wanted != clamp)
		set_clamp(tp, wanted);
	takt_download_clamped(flow, wanted, tp->window_clamp);
}

static void bound(struct takt_download *flow, struct tcp_sock *tp,
		  struct takt_crowd_downloads *terms)
{
	u32 handshake_us = tp->rtt_min.s[0].v;
	struct takt_download_sample now = {
		.now_ns = bpf_ktime_get_ns(),
		.period_ns = terms->period_ns,
		.received_bytes = tp->bytes_received,
		.rtt_us = tp->rcv_rtt_last_tsecr ? tp->rcv_rtt_est.rtt_us >> 3 : 0,
		.handshake_us = handshake_us == ~0U ? 0 : handshake_us,
		.mss_bytes = tp->advmss,
		.own_flows = terms->own_flows,
	};
	struct takt_window_sample sample = {};

	clamp_to(flow, tp,
		 takt_download_update(flow, &terms->params, &terms->group, &now, &sample));
	if (flow->clamp)
		terms->bounded++;
	count_download(terms, &sample);
}

static void free_one(struct tcp_sock *tp)
{
	struct takt_download *flow = bpf_sk_storage_get(&takt_crowd_receivers, tp, 0, 0);

	if (!flow)
		return;
	if (flow->clamp && tp->window_clamp == flow->clamp)
		set_clamp(tp, flow->before);
	bpf_sk_storage_delete(&takt_crowd_receivers, tp);
}

SEC("iter/tcp")
int takt_crowd_bound(struct bpf_iter__tcp *context)
{
	struct sock_common *common = context->sk_common;
	struct tcp_sock *tp = common ? bpf_skc_to_tcp_sock(common) : 0;
	struct takt_crowd_downloads *terms;
	const struct dst_entry *route;
	struct takt_download *flow;
	u64 cookie;

	/* Requests and sockets in TIME_WAIT receive nothing. */
	if (!tp || common->skc_state != TCP_ESTABLISHED)
		return 0;
	cookie = common->skc_net.net->net_cookie;
	terms = bpf_map_lookup_elem(&takt_crowd_downloads, &cookie);
	if (!terms)
		return 0;
	route = ((struct sock *)tp)->sk_dst_cache;
	if (route && (u32)route->dev->ifindex != terms->ifindex) {
		free_one(tp);
		return 0;
	}
	flow = bpf_sk_storage_get(&takt_crowd_receivers, tp, 0,
				  route ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (flow)
		bound(flow, tp, terms);
	return 0;
}

SEC("iter/tcp")
int takt_crowd_free(struct bpf_iter__tcp *context)
{
	struct sock_common *common = context->sk_common;
	struct tcp_sock *tp = common ? bpf_skc_to_tcp_sock(common) : 0;

	if (tp)
		free_one(tp);
	return 0;
}
