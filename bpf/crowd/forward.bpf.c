// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Bounds downloads of hosts behind this one: the windows that they advertise are cut on their way
 * out by the crowd's device, see algo/forwarded.h.
 *
 * One instance for each network namespace whose policy bounds downloads. Two programs see the
 * device's packets, and taktd has a third compute the bounds once a period.
 */
#include "tcp.h"
#include "downloads_map.h"
#include "forwarded.h"
#include "flow_table.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define GO_ON (-1)	/* TCX_NEXT: continue with the next program on this device */

/* Connections at a time. Of more, those without a packet for longest are left alone. */
#define FLOWS 4096

/* The longest headers: Ethernet with two VLAN tags, IPv6, TCP with options. */
#define HEADERS_BYTES 122U

#define WINDOW_AT 14		/* in TCP's header */
#define CHECKSUM_AT 16

/* Of the network namespace. */
const volatile u64 takt_forward_netns;
/* Keeps senders from finding connections that share a place. */
const volatile u64 takt_forward_secret;

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FLOWS);
	__type(key, u64);
	__type(value, struct takt_forwarded);
} takt_crowd_forwarded SEC(".maps");

/* The context of an iterator over a map. */
struct bpf_iter__bpf_map_elem {
	void *meta;
	void *map;
	void *key;
	void *value;
};

/* A packet that was read. */
struct seen {
	struct takt_segment segment;
	u64 flow;
	u32 tcp_at;		/* where its TCP header begins, from the packet's first byte on */
	u32 pad;
};

void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

/* Drivers may leave headers in fragments. */
static void make_linear(struct __sk_buff *ctx)
{
	const struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);

	if (skb->data_len && skb->len - skb->data_len < HEADERS_BYTES)
		bpf_skb_pull_data(ctx, takt_min(skb->len, HEADERS_BYTES));
}

/* Whether it is one that is read. Both directions of a connection have one number. */
static __noinline int takt_crowd_read(struct __sk_buff *ctx, struct seen *seen, u32 is_reverse)
{
	const struct sk_buff *skb;
	struct takt_key key = {};
	u64 head, data, at;

	make_linear(ctx);
	skb = bpf_cast_to_kern_ctx(ctx);
	/* Read so, they are numbers, which a global function takes. */
	head = (u64)BPF_CORE_READ(skb, head);
	data = (u64)BPF_CORE_READ(skb, data);
	at = takt_segment_read(&seen->segment, &key, __builtin_bswap16(skb->protocol),
			       head + skb->network_header, data + (skb->len - skb->data_len));
	if (!at)
		return 0;
	if (is_reverse)
		takt_key_reverse(&key);
	seen->tcp_at = at - data;
	seen->flow = takt_flow_identity(&key, takt_forward_secret + skb->vlan_all);
	return 1;
}

static void set_window(struct __sk_buff *ctx, const struct seen *seen, u32 window)
{
	__be16 before = __builtin_bswap16(seen->segment.window);
	__be16 after = __builtin_bswap16(window);

	if (bpf_l4_csum_replace(ctx, seen->tcp_at + CHECKSUM_AT, before, after, sizeof(after)))
		return;
	bpf_skb_store_bytes(ctx, seen->tcp_at + WINDOW_AT, &after, sizeof(after), 0);
}

static void begin(const struct seen *seen)
{
	struct takt_forwarded flow = {};

	if (takt_forwarded_begin(&flow, &seen->segment, bpf_ktime_get_ns()))
		bpf_map_update_elem(&takt_crowd_forwarded, &seen->flow, &flow, BPF_ANY);
}

SEC("tcx/egress")
int takt_crowd_out(struct __sk_buff *ctx)
{
	const struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
	struct takt_forwarded *flow;
	struct seen seen = {};
	u32 window;

	if (!skb->skb_iif || !takt_crowd_read(ctx, &seen, 0))
		return GO_ON;
	if (seen.segment.flags & TAKT_TCP_SYN) {
		begin(&seen);
		return GO_ON;
	}
	flow = bpf_map_lookup_elem(&takt_crowd_forwarded, &seen.flow);
	if (!flow)
		return GO_ON;
	window = takt_forwarded_out(flow, &seen.segment, bpf_ktime_get_ns());
	if (takt_forwarded_ends(flow, &seen.segment, 0))
		bpf_map_delete_elem(&takt_crowd_forwarded, &seen.flow);
	if (window < seen.segment.window)
		set_window(ctx, &seen, window);
	return GO_ON;
}

SEC("tcx/ingress")
int takt_crowd_in(struct __sk_buff *ctx)
{
	struct takt_forwarded *flow;
	struct seen seen = {};

	if (!takt_crowd_read(ctx, &seen, 1))
		return GO_ON;
	flow = bpf_map_lookup_elem(&takt_crowd_forwarded, &seen.flow);
	if (!flow)
		return GO_ON;
	takt_forwarded_in(flow, &seen.segment, bpf_ktime_get_ns());
	if (takt_forwarded_ends(flow, &seen.segment, 1))
		bpf_map_delete_elem(&takt_crowd_forwarded, &seen.flow);
	return GO_ON;
}

SEC("iter/bpf_map_elem")
int takt_crowd_pass(struct bpf_iter__bpf_map_elem *context)
{
	struct takt_forwarded *flow = context->value;
	struct takt_window_sample sample = {};
	struct takt_crowd_downloads *terms;
	u64 netns = takt_forward_netns;

	if (!flow)
		return 0;
	terms = bpf_map_lookup_elem(&takt_crowd_downloads, &netns);
	if (!terms) {
		flow->until_ns = 0;
		return 0;
	}
	sample.own_flows = terms->own_flows;
	if (takt_forwarded_update(flow, &terms->params, &terms->group, terms->period_ns,
				  bpf_ktime_get_ns(), &sample))
		terms->forwarded++;
	count_download(terms, &sample);
	return 0;
}
