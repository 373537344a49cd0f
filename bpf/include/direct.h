/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads the key of a tc program's packet, in place: for algo/headers.h an address is one in the
 * packet's linear part, which the verifier compares with that part's end.
 */
#ifndef TAKT_DIRECT_H
#define TAKT_DIRECT_H

#include "plain.h"

#include "headers.h"

/* What is made linear of a packet whose headers are not. */
#define TAKT_DIRECT_BYTES 128U
/* What classification needs at most where nothing is unusual: two labels, PPPoE, IPv6 and ports. */
#define TAKT_DIRECT_MOST (2 * 4 + TAKT_PPPOE_HEADER + TAKT_IPV6_HEADER + 4)

/* `skipped`: the device's headers before the network's, VLAN tags in the packet not included. */
static __always_inline void read_key_in_place(struct __sk_buff *ctx, struct takt_key *key,
					      u32 skipped, u32 addresses)
{
	u16 ethertype = __builtin_bswap16(ctx->protocol);
	u32 least = ethertype == TAKT_ETH_P_IP	 ? TAKT_IPV4_HEADER + 4 :
		    ethertype == TAKT_ETH_P_IPV6 ? TAKT_IPV6_HEADER + 4 :
						   TAKT_DIRECT_MOST;

	least = takt_min(ctx->len, skipped + least);
	key->mark = ctx->mark;
	if ((u64)ctx->data + least > (u64)ctx->data_end)
		bpf_skb_pull_data(ctx, takt_min(ctx->len, TAKT_DIRECT_BYTES));
	takt_key_read(key, ethertype, (u64)ctx->data + skipped, (u64)ctx->data_end, addresses);
}

#endif
