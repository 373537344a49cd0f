/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads the key of one of the kernel's packets. */
#ifndef TAKT_PACKET_H
#define TAKT_PACKET_H

#include "kernel.h"
#include "headers.h"
#include "link_maps.h"

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
