/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The receiver of a packet: what bpf/owner found out about its socket. */
#ifndef TAKT_LOOKUP_H
#define TAKT_LOOKUP_H

#include "kernel.h"
#include "classify.h"
#include "../link/who.h"

#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define BPF_F_CURRENT_NETNS (-1L)

/* What is known of the socket that receives the packet; the key is that of its answers. */
static __always_inline const struct takt_socket *receiver_of(struct __sk_buff *ctx,
							     const struct takt_key *key)
{
	const struct takt_socket *known;
	struct bpf_sock_tuple tuple;
	struct bpf_sock *sk;
	u32 size, i;

	if (key->family == TAKT_FAMILY_IPV4) {
		size = sizeof(tuple.ipv4);
		tuple.ipv4.saddr = key->dst[0];
		tuple.ipv4.daddr = key->src[0];
		tuple.ipv4.sport = __builtin_bswap16(key->dst_port);
		tuple.ipv4.dport = __builtin_bswap16(key->src_port);
	} else if (key->family == TAKT_FAMILY_IPV6) {
		size = sizeof(tuple.ipv6);
		for (i = 0; i < 4; i++) {
			tuple.ipv6.saddr[i] = key->dst[i];
			tuple.ipv6.daddr[i] = key->src[i];
		}
		tuple.ipv6.sport = __builtin_bswap16(key->dst_port);
		tuple.ipv6.dport = __builtin_bswap16(key->src_port);
	} else {
		return NULL;
	}
	if (!key->has_ports)
		return NULL;
	if (key->proto == IPPROTO_TCP)
		sk = bpf_skc_lookup_tcp(ctx, &tuple, size, BPF_F_CURRENT_NETNS, 0);
	else if (key->proto == IPPROTO_UDP)
		sk = bpf_sk_lookup_udp(ctx, &tuple, size, BPF_F_CURRENT_NETNS, 0);
	else
		return NULL;
	if (!sk)
		return NULL;
	known = owner_of((const void *)sk);
	bpf_sk_release(sk);
	return known;
}

#endif
