/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writes the DSCP of a tc program's packet: the header, and IPv4's checksum. */
#ifndef TAKT_SET_DSCP_H
#define TAKT_SET_DSCP_H

#include "dscp.h"

#define BPF_F_RECOMPUTE_CSUM 1
#define TAKT_IPV4_CHECKSUM 10	/* where it is in the header */

/*
 * `found`: the ethertype of what is `offset` bytes into the packet, as of takt_ip_at(). Packets of
 * sockets share their headers with copies; the helpers make the packet's own first.
 */
static __noinline int takt_set_dscp(struct __sk_buff *ctx, u32 found, u32 offset, u32 dscp)
{
	u16 ethertype = found, before, after;

	if (!takt_is_ip(ethertype) || bpf_skb_load_bytes(ctx, offset, &before, sizeof(before)))
		return 0;
	after = __builtin_bswap16(takt_dscp_set(__builtin_bswap16(before), ethertype, dscp));
	if (after == before)
		return 0;
	/* The header's own checksum balances the sum over an IPv4 packet that a device has made. */
	if (ethertype == TAKT_ETH_P_IPV6)
		return bpf_skb_store_bytes(ctx, offset, &after, sizeof(after),
					   BPF_F_RECOMPUTE_CSUM);
	if (bpf_l3_csum_replace(ctx, offset + TAKT_IPV4_CHECKSUM, before, after, sizeof(after)))
		return 0;
	return bpf_skb_store_bytes(ctx, offset, &after, sizeof(after), 0);
}

#endif
