// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Stamps the departure times of packets, which fq keeps: the backend `departure`. It sees packets
 * before the qdisc, on several CPUs at the same time.
 *
 * The classes' clocks go from one policy's instance to the next.
 */
#include "class_of.h"
#include "edt_maps.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* By class. A rate of 0: its packets are not stamped. */
struct takt_shared_params takt_edt_terms[TAKT_EDT_CLASSES];

/* A map of its own, which the next policy's instance goes on with. */
struct takt_edt_classes takt_edt_state SEC(".bss.classes");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct takt_activity);
} takt_edt_active SEC(".maps");

/* What the line carries of a packet. */
const volatile struct takt_framing takt_edt_framing;
const volatile struct takt_activity_params takt_edt_link;
/* How far ahead a packet's own departure time may lie, and whether one beyond it is dropped. */
const volatile u64 takt_edt_horizon_ns;
const volatile u32 takt_edt_drops_beyond;

static __always_inline struct takt_activity_params link_terms(void)
{
	struct takt_activity_params terms = {
		.rate_kbps = takt_edt_link.rate_kbps,
		.epoch_shift = takt_edt_link.epoch_shift,
		.is_oversubscribed = takt_edt_link.is_oversubscribed,
	};

	return terms;
}

/* The packet's own time, if it is later than its class's. Returns what becomes of the packet. */
static __always_inline int stamp(struct __sk_buff *ctx, u64 now_ns, u64 ahead_ns)
{
	u64 own_ns = ctx->tstamp, due_ns = now_ns + ahead_ns;

	if (own_ns > due_ns) {
		if (own_ns - now_ns <= takt_edt_horizon_ns)
			return TC_ACT_UNSPEC;
		if (takt_edt_drops_beyond)
			return TC_ACT_SHOT;
		due_ns = takt_max(due_ns, now_ns + takt_edt_horizon_ns);
	} else if (!ahead_ns) {
		return TC_ACT_UNSPEC;
	}
	bpf_skb_set_tstamp(ctx, due_ns, BPF_SKB_TSTAMP_DELIVERY_MONO);
	return TC_ACT_UNSPEC;
}

/* A cost as the link's oversubscription scales it. */
static __noinline u64 takt_edt_scaled(u64 cost, u64 now_ns)
{
	struct takt_activity_params link = link_terms();
	struct takt_activity *activity;
	u32 zero = 0;

	activity = bpf_map_lookup_elem(&takt_edt_active, &zero);
	if (!activity)
		return cost;
	return takt_scaled(cost, takt_activity_scale(activity, &link, now_ns));
}

/* A class of this rate is active from start_ns on for so many ns. */
static __noinline int takt_edt_book(u32 rate_kbps, u64 now_ns, u64 start_ns, u64 ns)
{
	struct takt_activity_params link = link_terms();
	struct takt_activity *activity;
	u32 zero = 0;

	activity = bpf_map_lookup_elem(&takt_edt_active, &zero);
	if (activity)
		takt_activity_book(activity, &link, rate_kbps, now_ns, start_ns, ns);
	return 0;
}

/* Take time of the class's clock. Returns what becomes of the packet. */
static __always_inline int pace(struct __sk_buff *ctx, const struct takt_shared_params *terms,
				struct takt_edt_class *class, u64 bytes)
{
	u64 now_ns = bpf_ktime_get_ns(), now = now_ns << TAKT_SHARED_BITS, ahead;
	u64 most = ctx->sk ? terms->backlog_max : terms->forwarded_max;
	u64 cost = takt_shared_cost(terms, bytes);

	if (takt_edt_link.is_oversubscribed)
		cost = takt_edt_scaled(cost, now_ns);
	ahead = takt_shared_take(&class->clock, most, cost, now);
	if (ahead == TAKT_SHARED_REFUSED)
		return TC_ACT_SHOT;
	ahead >>= TAKT_SHARED_BITS;
	if (takt_edt_link.is_oversubscribed)
		takt_edt_book(terms->rate_kbps, now_ns, now_ns + ahead, cost >> TAKT_SHARED_BITS);
	return stamp(ctx, now_ns, ahead);
}

/* The packet's bytes on the line, where frames' lengths count. */
static __noinline u64 takt_edt_framed(struct __sk_buff *ctx)
{
	struct takt_framing framing = {
		.overhead_bytes = takt_edt_framing.overhead_bytes,
		.by_frame = 1,
		.least_bytes = takt_edt_framing.least_bytes,
		.cells = takt_edt_framing.cells,
	};
	u32 bytes = ctx->wire_len, frames = takt_max(ctx->gso_segs, 1);

	return takt_framing_frames(&framing, bytes, frames,
				   takt_framing_full(bytes, ctx->len, frames, ctx->gso_size));
}

/* The packet's bytes on the line. */
static __always_inline u64 line_bytes(struct __sk_buff *ctx)
{
	u64 bytes = ctx->wire_len;

	if (takt_edt_framing.by_frame)
		return takt_edt_framed(ctx);
	if (takt_edt_framing.overhead_bytes)
		bytes += takt_edt_framing.overhead_bytes * takt_max(ctx->gso_segs, 1);
	return bytes;
}

SEC("tc")
int takt_edt(struct __sk_buff *ctx)
{
	u32 id = class_of_marked(ctx) & (TAKT_EDT_CLASSES - 1);
	const struct takt_shared_params *terms = &takt_edt_terms[id];
	struct takt_edt_class *class = &takt_edt_state.classes[id];
	u64 bytes = line_bytes(ctx);
	int verdict;

	verdict = terms->rate_kbps ? pace(ctx, terms, class, bytes) : TC_ACT_UNSPEC;
	if (verdict == TC_ACT_SHOT) {
		__sync_fetch_and_add(&class->dropped, 1);
	} else {
		__sync_fetch_and_add(&class->packets, 1);
		__sync_fetch_and_add(&class->bytes, bytes);
	}
	return verdict;
}
