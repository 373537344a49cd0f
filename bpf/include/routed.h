/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The owner of a packet that was routed here from a container of this host. */
#ifndef TAKT_ROUTED_H
#define TAKT_ROUTED_H

#include "classify.h"
#include "sockets_map.h"

/* Of a packet without a socket; NULL: unknown. Precondition: the key has the packet's addresses. */
static __always_inline const struct takt_socket *owner_elsewhere(const struct takt_key *key)
{
	struct takt_route route = {
		.dst = { key->dst[0], key->dst[1], key->dst[2], key->dst[3] },
		.src_port = key->src_port, .dst_port = key->dst_port, .family = key->family,
	};
	const u64 *cookie;

	if (key->proto != IPPROTO_TCP)
		return NULL;
	cookie = bpf_map_lookup_elem(&takt_link_routes, &route);
	return cookie ? bpf_map_lookup_elem(&takt_link_sockets, cookie) : NULL;
}

#endif
