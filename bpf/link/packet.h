/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads the key of one of the kernel's packets. */
#ifndef TAKT_PACKET_H
#define TAKT_PACKET_H

#include "kernel.h"
#include "framing.h"
#include "headers.h"
#include "handover.h"
#include "link_maps.h"

/* As one word: clang reads a field of an array of bytes byte by byte. */
static __always_inline u32 accounted_bytes(const struct sk_buff *skb)
{
	return *(const u32 *)(skb->cb + bpf_core_field_offset(struct qdisc_skb_cb, pkt_len));
}

/*
 * The number of frames that this packet becomes on the wire. The kernel accounts more than a
 * packet's length exactly when it will be cut into several.
 */
static __always_inline u32 frames_of(const struct sk_buff *skb, u32 bytes)
{
	const struct skb_shared_info *shared;

	if (bytes == skb->len)
		return 1;
	shared = bpf_core_cast(skb->head + skb->end, struct skb_shared_info);
	return shared->gso_size && shared->gso_segs ? shared->gso_segs : 1;
}

static __always_inline const struct takt_handover *handover_of(const struct sk_buff *skb)
{
	return (const void *)((const struct qdisc_skb_cb *)skb->cb)->data;
}

/* The DSCP by which the packet's class is told: the one before bpf/dscp gave it another. */
static __always_inline u8 came_with(const struct sk_buff *skb, u8 dscp)
{
	u32 came_with = handover_of(skb)->came_with;

	return (came_with & ~63U) == TAKT_CAME_WITH ? came_with & 63 : dscp;
}

/* What the kernel counts of each of these frames but the last, if the framing asks for it. */
static __always_inline u32 full_bytes_of(const struct sk_buff *skb,
					 const struct takt_framing *framing, u32 bytes, u32 frames)
{
	const struct skb_shared_info *shared;

	if (!framing->by_frame || frames == 1)
		return 0;
	shared = bpf_core_cast(skb->head + skb->end, struct skb_shared_info);
	return takt_framing_full(bytes, skb->len, frames, shared->gso_size);
}

static __always_inline void read_key(const struct sk_buff *skb, struct takt_key *key,
				     u32 addresses)
{
	u64 head = (u64)skb->head, data = (u64)skb->data;
	u64 end = data + (skb->len - skb->data_len);
	u16 ethertype = __builtin_bswap16(skb->protocol);
	u64 at = head + skb->network_header;

	/* With an in-band tag the offset of the network header depends on the sender. */
	if (takt_is_vlan(ethertype))
		at = data + TAKT_ETH_HEADER_BYTES;
	key->mark = skb->mark;
	takt_key_read(key, ethertype, at, end, addresses);
}

/* Packets with an in-band VLAN tag count as not marked: the helper that marks skips them too. */
static __always_inline u32 read_ecn(const struct sk_buff *skb)
{
	u64 end = (u64)skb->data + (skb->len - skb->data_len);

	return takt_ecn_read(__builtin_bswap16(skb->protocol),
			     (u64)skb->head + skb->network_header, end);
}

#endif
