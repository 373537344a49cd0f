/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bounds what sockets of this host receive: algo/window.h computes an upper bound from round
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

/* The clock of timestamps ticks so often: a shorter wait is not seen. */
#define TICK_US 1000

/* A receiving socket's state, as long as the socket lives. */
struct download {
	struct takt_window window;
	u64 updated_ns;		/* 0: never */
	u64 received_bytes;	/* the socket's count then */
	u32 least_us;		/* 0: none was measured */
	u32 before;		/* the clamp of the kernel or of the application */
	u32 clamp;		/* set here; 0: none */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct download);
} takt_crowd_receivers SEC(".maps");

static void set_clamp(struct tcp_sock *tp, u32 bytes)
{
	int clamp = bytes;

	bpf_setsockopt(tp, SOL_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof(clamp));
}

/*
 * What is smaller already stays as it is. The clamp changes without us, too: the kernel raises
 * it with the buffer, and an application may set it. Then that is what it goes back to.
 */
static void clamp_to(struct download *flow, struct tcp_sock *tp, u64 bytes)
{
	u32 clamp = tp->window_clamp, wanted;

	if (!flow->clamp || clamp != flow->clamp)
		flow->before = clamp;
	wanted = takt_min(bytes, flow->before);
	if (wanted != clamp)
		set_clamp(tp, wanted);
	/* The kernel has a minimum of its own. */
	flow->clamp = wanted < flow->before ? tp->window_clamp : 0;
}

/* The sender's round trip of the handshake is the first: no queue of the download's is in it. */
static void begin(struct download *flow, const struct tcp_sock *tp)
{
	u32 handshake_us = tp->rtt_min.s[0].v;

	flow->least_us = handshake_us == ~0U ? 0 : handshake_us;
}

/*
 * A receiver has one smoothed round trip for a period, and no shortest of each half of one. As it
 * only measures while the window is in use, what exceeds the least by more than a tick is wait.
 */
static void measure(struct download *flow, const struct tcp_sock *tp,
		    const struct takt_crowd_downloads *terms, u64 passed_ns,
		    struct takt_window_sample *sample)
{
	u64 received = tp->bytes_received - flow->received_bytes;
	u32 rtt_us = tp->rcv_rtt_est.rtt_us >> 3;

	sample->mss_bytes = takt_max(tp->advmss, 1);
	sample->own_flows = terms->own_flows;
	if (!tp->rcv_rtt_last_tsecr || !rtt_us ||
	    passed_ns > TAKT_DOWNLOAD_LATE_PERIODS * terms->period_ns ||
	    received < TAKT_DOWNLOAD_SEGMENTS_MIN * sample->mss_bytes)
		return;
	takt_download_least(&flow->least_us, rtt_us);
	sample->rtt_us = rtt_us;
	sample->rtt_min_us = flow->least_us;
	sample->stand_us = takt_max(rtt_us - takt_min(rtt_us, TICK_US), flow->least_us);
	takt_download_sample(&flow->window, received, passed_ns / 1000, sample);
}

static void bound(struct download *flow, struct tcp_sock *tp, struct takt_crowd_downloads *terms)
{
	u64 now_ns = bpf_ktime_get_ns();
	u64 passed_ns = now_ns - flow->updated_ns;
	struct takt_window_sample sample = {};
	struct takt_window_bounds bounds = {};

	if (!flow->updated_ns)
		begin(flow, tp);
	measure(flow, tp, terms, passed_ns, &sample);
	flow->updated_ns = now_ns;
	flow->received_bytes = tp->bytes_received;
	takt_window_update(&flow->window, &terms->params, &terms->group, &sample, &bounds);
	clamp_to(flow, tp, (u64)bounds.upper * sample.mss_bytes);
	if (flow->clamp)
		terms->bounded++;
	count_download(terms, &sample);
}

static void free_one(struct tcp_sock *tp)
{
	struct download *flow = bpf_sk_storage_get(&takt_crowd_receivers, tp, 0, 0);

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
	struct download *flow;
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
