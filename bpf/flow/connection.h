/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A connection's key, by its socket: that of the packets that it sends. */
#ifndef TAKT_FLOW_CONNECTION_H
#define TAKT_FLOW_CONNECTION_H

#include "tcp_socket.h"

#include "classify.h"

#define IPV4_HEADER_BYTES 20U
#define IPV6_HEADER_BYTES 40U
#define IPV4_MAPPED 0xffff	/* the third word of ::ffff:0:0/96 */
#define DSCP_SHIFT 2		/* of the traffic class */

static __always_inline void read_ipv6(struct takt_key *key, const struct sock_common *common,
				      const struct inet_sock *inet)
{
	const struct ipv6_pinfo *ipv6 = BPF_CORE_READ(inet, pinet6);

	BPF_CORE_READ_INTO(&key->dst, common, skc_v6_daddr);
	if (!key->dst[0] && !key->dst[1] && key->dst[2] == __builtin_bswap32(IPV4_MAPPED)) {
		key->dst[0] = key->dst[3];
		key->dst[2] = key->dst[3] = 0;
		return;
	}
	BPF_CORE_READ_INTO(&key->src, common, skc_v6_rcv_saddr);
	key->family = TAKT_FAMILY_IPV6;
	key->dscp = ipv6 ? BPF_CORE_READ(ipv6, tclass) >> DSCP_SHIFT : 0;
}

/* Everything but its owner. */
static __noinline void takt_flow_key(struct takt_key *key, const struct sock *sk)
{
	const struct inet_sock *inet = (const struct inet_sock *)sk;
	const struct sock_common *common = &sk->__sk_common;

	__builtin_memset(key, 0, sizeof(*key));
	key->mark = BPF_CORE_READ(sk, sk_mark);
	key->src_port = __builtin_bswap16(BPF_CORE_READ(inet, inet_sport));
	key->dst_port = __builtin_bswap16(BPF_CORE_READ(common, skc_dport));
	key->has_ports = 1;
	key->proto = IPPROTO_TCP;
	if (BPF_CORE_READ(common, skc_family) != AF_INET)
		read_ipv6(key, common, inet);
	else
		key->dst[0] = BPF_CORE_READ(common, skc_daddr);
	if (key->family)
		return;
	key->family = TAKT_FAMILY_IPV4;
	key->src[0] = BPF_CORE_READ(common, skc_rcv_saddr);
	key->dscp = BPF_CORE_READ(inet, tos) >> DSCP_SHIFT;
}

/* The number of the device that its packets leave by; 0: it has no route now. */
static __always_inline u32 device_of(const struct sock *sk)
{
	return BPF_CORE_READ(sk, sk_dst_cache, dev, ifindex);
}

/* What each of its packets has on the wire besides payload; `header_bytes`: besides IP and TCP. */
static __always_inline u32 overhead_of(const struct sock *sk, const struct takt_key *key,
				       u32 header_bytes)
{
	u32 ip = key->family == TAKT_FAMILY_IPV6 ? IPV6_HEADER_BYTES : IPV4_HEADER_BYTES;

	return header_bytes + ip + BPF_CORE_READ((const struct tcp_sock *)sk, tcp_header_len);
}

#endif
