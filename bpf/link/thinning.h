/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads pure acknowledgements, on a link that thins them; see algo/thin.h and algo/uploads.h. */
#ifndef TAKT_THINNING_H
#define TAKT_THINNING_H

#include "kernel.h"
#include "link_maps.h"

/*
 * Read the packet into port->arrival.ack, and note what it says of its receiver's upload. Returns
 * whether it may be thinned. Flows in two VLANs may have the same addresses and ports, so the VLAN
 * counts as well.
 */
static __always_inline int read_ack(const struct sk_buff *skb, struct takt_port *port)
{
	volatile u64 *number = &port->scratch;
	struct takt_key *key = &port->newcomer.key;
	struct takt_ack *ack = &port->arrival.ack;
	u64 at, data, end, mac = 0;

	/* Through memory a pointer becomes a number, which a global function takes. */
	*number = (u64)skb->head;
	at = *number + skb->network_header;
	*number = (u64)skb->data;
	data = *number;
	end = data + (skb->len - skb->data_len);
	__builtin_memset(ack, 0, sizeof(*ack));
	__builtin_memset(key, 0, sizeof(*key));
	if (!takt_ack_read(ack, key, __builtin_bswap16(skb->protocol), at, end))
		return 0;
	ack->flow = takt_flow_identity(key, port->link.secret + skb->vlan_all);
	if (at == data + TAKT_ETH_HEADER_BYTES)
		mac = (u64)takt_row(data) << 16 | (takt_row(data + 2) & 0xffff);
	takt_upload_note(&port->link.uploads, key, mac, ack->flow, ack->ack);
	return 1;
}

/* Rates fall as stations contend, so nothing is thinned for a while. */
static __always_inline int thinning_pauses(const struct takt_acks *acks)
{
	return acks->paused_until_ns && bpf_ktime_get_ns() < acks->paused_until_ns;
}

#endif
