/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The store: the queued packets, one kptr per packet slot. */
#ifndef TAKT_STORE_H
#define TAKT_STORE_H

#include "ports_map.h"

/* The index of a packet in the map is its packet slot in takt_link. */
struct takt_store {
	struct sk_buff __kptr *skb;
};

/* Type of the map that user space makes for each link, as port_map is. */
struct store_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAKT_STORE_SLOTS);
	__type(key, u32);
	__type(value, struct takt_store);
} store_shape SEC(".maps");

/* What a dequeue looks at first: the packet on the fast path of a link, and the timer. */
struct takt_fast {
	struct sk_buff __kptr *skb;
	u32 kept;	/* 0: there is none */
	u32 pad;
	u64 quiet_ns;	/* the timer is set, and no other packet leaves before; 0: not known */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAKT_LINKS);
	__type(key, u32);
	__type(value, struct takt_fast);
} takt_link_express SEC(".maps");

PER_LINK(takt_link_stores, store_map);

static __always_inline struct takt_store *find_store(u32 index, u32 slot)
{
	void *inner = bpf_map_lookup_elem(&takt_link_stores, &index);

	return inner ? bpf_map_lookup_elem(inner, &slot) : NULL;
}

static __always_inline struct takt_fast *find_fast(u32 index)
{
	return bpf_map_lookup_elem(&takt_link_express, &index);
}

/* Another packet may leave before the time that the timer is set for. */
static __always_inline void wake_up(u32 index)
{
	struct takt_fast *fast = find_fast(index);

	if (fast)
		fast->quiet_ns = 0;
}

/* Keep a packet on the fast path, which is empty. */
static __always_inline void keep_fast(struct takt_fast *fast, struct sk_buff *skb)
{
	struct sk_buff *old = bpf_kptr_xchg(&fast->skb, skb);

	fast->kept = 1;
	if (old)
		bpf_kfree_skb(old);
}

/* The packet on the fast path, if there is one. */
static __always_inline struct sk_buff *take_fast(struct takt_fast *fast)
{
	if (!fast->kept)
		return NULL;
	fast->kept = 0;
	return bpf_kptr_xchg(&fast->skb, NULL);
}

/* Keep a packet in a packet slot; what was there is freed. */
static __always_inline void keep(struct takt_store *store, struct sk_buff *skb)
{
	struct sk_buff *old = bpf_kptr_xchg(&store->skb, skb);

	if (old)
		bpf_kfree_skb(old);
}

/* Take the packet out of a packet slot; NULL: there is none. */
static __always_inline struct sk_buff *take(u32 index, u32 slot)
{
	struct takt_store *store = find_store(index, slot);

	return store ? bpf_kptr_xchg(&store->skb, NULL) : NULL;
}

/* Free the packet in a packet slot, if there is one. */
static int discard(u32 index, u32 slot)
{
	struct sk_buff *skb = take(index, slot);

	if (!skb)
		return 0;
	bpf_kfree_skb(skb);
	return 1;
}

#endif
