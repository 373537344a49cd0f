/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections of sockets in namespaces that have no policy of their own. If the host routes their
 * packets, the qdisc finds the socket by what routing leaves of them.
 */
#ifndef TAKT_ROUTE_H
#define TAKT_ROUTE_H

#include "classify.h"
#include "kernel_task.h"
#include "sockets_map.h"

#define IPV4_MAPPED 0xffff	/* the third word of ::ffff:0:0/96 */

/* Read a connected socket's route. Returns whether it has one. */
static __always_inline int read_route(const struct sock *sk, struct takt_route *route)
{
	const struct sock_common *common = &sk->__sk_common;
	u32 dst[4];

	__builtin_memset(route, 0, sizeof(*route));
	route->src_port =
		__builtin_bswap16(BPF_CORE_READ((const struct inet_sock *)sk, inet_sport));
	route->dst_port = __builtin_bswap16(BPF_CORE_READ(common, skc_dport));
	if (!route->dst_port)
		return 0;
	route->family = TAKT_FAMILY_IPV4;
	route->dst[0] = BPF_CORE_READ(common, skc_daddr);
	if (BPF_CORE_READ(common, skc_family) == AF_INET)
		return 1;
	BPF_CORE_READ_INTO(&dst, common, skc_v6_daddr);
	if (!dst[0] && !dst[1] && dst[2] == __builtin_bswap32(IPV4_MAPPED))
		return 1;
	route->family = TAKT_FAMILY_IPV6;
	__builtin_memcpy(route->dst, dst, sizeof(dst));
	return 1;
}

/* Precondition: a socket that connects or is connected. */
static __always_inline void note_route(const struct sock *sk, u64 cookie)
{
	struct takt_route route;
	const u64 *known;

	if (!sk || !read_route(sk, &route))
		return;
	known = bpf_map_lookup_elem(&takt_link_routes, &route);
	if (known && *known == cookie)
		return;
	/* Another container's connection to the same place, from the same port. */
	if (known && *known && bpf_map_lookup_elem(&takt_link_sockets, known))
		cookie = 0;
	/* If the map is full, the connection has no known owner. */
	bpf_map_update_elem(&takt_link_routes, &route, &cookie, BPF_ANY);
}

static __always_inline void forget_route(const struct sock *sk, u64 cookie)
{
	struct takt_route route;
	const u64 *known;

	if (!read_route(sk, &route))
		return;
	known = bpf_map_lookup_elem(&takt_link_routes, &route);
	if (known && (*known == cookie || !*known))
		bpf_map_delete_elem(&takt_link_routes, &route);
}

#endif
